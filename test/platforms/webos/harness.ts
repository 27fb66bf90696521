/** Sets of this platform, and connections to them. */
import { webos } from "../../../src/platforms/webos/adapter.ts";
import type { WebosMemory, WebosSecret } from "../../../src/platforms/webos/memory.ts";
import { manifest } from "../../../src/platforms/webos/protocol.ts";
import {
  createWebosSimulator,
  type WebosSimulator,
  type WebosSimulatorOptions,
} from "../../../src/simulators/webos.ts";
import { type Line as LineTo, lineTo } from "../harness.ts";

/** A key that every set of these tests gave us before, and all that it was granted. */
export const key = "0123456789abcdef0123456789abcdef";
export const clientKeys = { [key]: [...manifest.permissions] };

export async function startWebos(options: Partial<WebosSimulatorOptions> = {}): Promise<WebosSimulator> {
  const simulator = createWebosSimulator({
    name: "One",
    securePort: 0,
    plainPort: 0,
    ssdp: false,
    clientKeys,
    promptMs: 30,
    tuner: false,
    bootMs: 200,
    socketsCloseMs: 300,
    portsCloseMs: 100,
    ...options,
  });
  await simulator.start();
  return simulator;
}

/** What makes a set do something, of all that it was asked: buttons, and requests that are no questions. */
export function pressedOn({ received }: WebosSimulator): string[] {
  // `switchInput` is counted, the list of inputs that is read before it is not.
  const asked = /\/(get\w+|register\w+|list\w+|createToast)$/;
  const requests = received.requests.filter(({ uri }) => uri !== "" && !asked.test(uri)).map(({ uri }) => uri);
  return [...received.buttons, ...requests];
}

/** What a set is asked, by its last word (`register` and `hello` too). */
interface Asked {
  readonly id: string;
  readonly type: string;
  readonly word: string;
}
/** Says something to what was asked: to this, or to another of that id. */
type Say = (payload: object, to?: string) => void;

/** A set with the plain port alone that does what `hear` does; what that says goes out in one packet. */
export function wordedSet(hear: (asked: Asked, say: Say) => void) {
  const connections = { open: 0 };
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request, upgrading) => (upgrading.upgrade(request) ? undefined : new Response()),
    websocket: {
      open: () => void connections.open++,
      close: () => void connections.open--,
      message(socket, said) {
        const { id, type, uri = type } = JSON.parse(String(said));
        const kind = type === "hello" ? "hello" : type === "register" ? "registered" : "response";
        const say: Say = (payload, to = id) =>
          socket.send(JSON.stringify({ id: to, type: kind, payload: { returnValue: true, ...payload } }));
        socket.cork(() => hear({ id, type, word: uri.split("/").at(-1) }, say));
      },
    },
  });
  return { host: "127.0.0.1", port: server.port ?? 0, connections, stop: () => server.stop(true) };
}

/** A line to a set that has these answers, and says nothing where that is `null`; `onAsked` is told what it is asked. */
export function wordedLine(
  answers: Readonly<Record<string, object | null | Promise<object>>>,
  timeout?: number,
  onAsked: (word: string) => void = () => {},
) {
  const set = wordedSet(async ({ word }, say) => {
    onAsked(word);
    const payload = await answers[word];
    if (payload !== null) say({ ...payload });
  });
  const { host, port } = set;
  const ports = { plain: port };
  return lineTo(webos, set, { lead: { host, port }, ports, given: { key }, ...(timeout && { timeout }) });
}

export type Line = LineTo<WebosSimulator, WebosMemory, WebosSecret>;

export async function line(
  options: Partial<WebosSimulatorOptions> = {},
  given: WebosSecret | null = { key },
): Promise<Line> {
  const set = await startWebos(options);
  const { secure, plain, wake } = set.ports;
  const lead = { host: set.host, port: secure ?? plain ?? 0 };
  const ports = { wake, ...(plain !== null && secure !== null && { plain }) };
  return lineTo(webos, set, { lead, ports, given });
}
