/** A client and the devices it calls, closed and stopped after each test. */
import { afterAll } from "bun:test";
import { ZapdError } from "../../src/api/errors.ts";
import { bodyText, DeviceHttp, type Read } from "../../src/transport/http.ts";
import { type Heard, type HttpDevice, type Saying, startHttpDevice } from "../support/http-device.ts";

const devices: HttpDevice[] = [];
const clients: DeviceHttp[] = [];
afterAll(async () => {
  for (const client of clients.splice(0)) client.close();
  await Promise.all(devices.splice(0).map((device) => device.stop()));
});

export const never = new AbortController().signal;

export async function device(say: (heard: Heard) => Saying): Promise<HttpDevice> {
  const started = await startHttpDevice(say);
  devices.push(started);
  return started;
}

export function client(
  of: HttpDevice,
  prove?: (read: Read) => Promise<void>,
  timeout = 1_000,
  isOwnListener = false,
): DeviceHttp {
  const surroundings = { requestTimeout: () => timeout, isOwnListener: () => isOwnListener };
  const made = new DeviceHttp({ address: of.address, surroundings, ...(prove && { prove }) });
  clients.push(made);
  return made;
}

/** Proves by reading `/who`, which must say `me`. */
export async function me(read: Read): Promise<void> {
  if (bodyText(await read("/who")) !== "me")
    throw new ZapdError("device_unreachable", "is not at its address any more");
}

export const said = (heard: readonly Heard[]) => heard.map((one) => `${one.connection} ${one.method} ${one.target}`);
export const failure = (work: Promise<unknown>) =>
  work.then(
    () => "none",
    (error: ZapdError) => `${error.code}: ${error.message}`,
  );
