/** What a Kodi is asked, simulated or real, over HTTP and bare TCP; and a daemon beside a real one. */
import { connect } from "node:net";
import { startTestDaemon } from "../../support/daemon.ts";
import { until as untilHolds } from "../../support/http-device.ts";
import type { RealKodi } from "../../support/real-kodi.ts";

export interface Address {
  readonly host: string;
  readonly port: number;
  /** The header with the login, where it asks for one. */
  readonly authorization?: string;
}

/** Any body over HTTP. */
export function post(place: Address, body: unknown): Promise<Response> {
  return fetch(`http://${place.host}:${place.port}/jsonrpc`, {
    method: "POST",
    headers: { "content-type": "application/json", ...(place.authorization && { authorization: place.authorization }) },
    body: typeof body === "string" ? body : JSON.stringify(body),
    signal: AbortSignal.timeout(5_000),
  });
}

/** One call over HTTP: the whole answer. */
export async function ask(place: Address, method: string, params?: unknown): Promise<Record<string, unknown>> {
  const request = { jsonrpc: "2.0", id: 1, method, ...(params === undefined ? {} : { params }) };
  return (await (await post(place, request)).json()) as Record<string, unknown>;
}

/** One call over HTTP: its result, or the code of its error. */
export async function call(place: Address, method: string, params?: unknown): Promise<unknown> {
  const { result, error } = await ask(place, method, params);
  return error === undefined ? result : (error as { code: number }).code;
}

/** As `until` elsewhere, but less often: each look at what a real one shows keeps it from drawing. */
export function until(what: string, holds: () => boolean | Promise<boolean>, timeoutMs = 20_000, everyMs = 50) {
  return untilHolds(what, holds, timeoutMs, everyMs);
}

/** The id of the window in front of a real one. */
export async function windowOf(real: RealKodi): Promise<number> {
  const said = await real.call("GUI.GetProperties", { properties: ["currentwindow"] });
  return (said as { currentwindow: { id: number } }).currentwindow.id;
}

/** A daemon that searches where a real one is. */
export function startDaemonBeside({ interfaceName }: RealKodi) {
  const discovery = { interfaces: [interfaceName], timeout_ms: 2_500 };
  return startTestDaemon({ config: { discovery, devices: { request_timeout_ms: 4_000 } } });
}

export type Listening = Awaited<ReturnType<typeof listen>>;

/** What comes over the bare TCP port: objects back to back. */
export async function listen(host: string, port: number) {
  const pieces: Uint8Array[] = [];
  const socket = connect(port, host);
  socket.on("data", (piece: Uint8Array) => pieces.push(piece));
  socket.on("error", () => {});
  await new Promise<void>((resolve) => socket.once("connect", () => resolve()));
  return {
    socket,
    messages: () =>
      Buffer.concat(pieces)
        .toString("utf8")
        .replaceAll("}{", "}\n{")
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as Record<string, unknown>),
  };
}
