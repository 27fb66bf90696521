/** What a Kodi is asked, simulated or real, over HTTP and bare TCP. */
import { connect, type Socket } from "node:net";

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Any body over HTTP. */
export function post(place: Address, body: unknown): Promise<Response> {
  return fetch(`http://${place.host}:${place.port}/jsonrpc`, {
    method: "POST",
    headers: { "content-type": "application/json" },
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

/** What comes over the bare TCP port: objects back to back. */
export interface Listening {
  readonly socket: Socket;
  readonly messages: () => Record<string, unknown>[];
}

export async function listen(host: string, port: number): Promise<Listening> {
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
