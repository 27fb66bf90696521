import { afterEach } from "bun:test";
import { randomUUID } from "node:crypto";
import { connect, type Socket } from "node:net";
import { createKodiSimulator, type KodiSimulator, type KodiSimulatorOptions } from "../../src/simulators/kodi.ts";

const running: KodiSimulator[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((simulator) => simulator.stop()));
});

/** A running player, stopped after the test. It is not announced unless the test is about that. */
export async function plugIn(options: Partial<KodiSimulatorOptions> = {}): Promise<KodiSimulator> {
  const simulator = createKodiSimulator({ name: "Test Room", uuid: randomUUID(), mdns: false, startMs: 0, ...options });
  running.push(simulator);
  await simulator.start();
  return simulator;
}

export interface Place {
  readonly host: string;
  readonly port: number;
}

/** Any body over HTTP. */
export function post(place: Place, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`http://${place.host}:${place.port}/jsonrpc`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
    signal: AbortSignal.timeout(5_000),
  });
}

export const request = (method: string, params?: unknown, id: unknown = 1) => ({
  jsonrpc: "2.0",
  id,
  method,
  ...(params === undefined ? {} : { params }),
});

/** One call over HTTP: the whole answer. */
export async function ask(place: Place, method: string, params?: unknown): Promise<Record<string, unknown>> {
  return (await (await post(place, request(method, params))).json()) as Record<string, unknown>;
}

/** One call over HTTP: its result, or the code of its error. */
export async function call(place: Place, method: string, params?: unknown): Promise<unknown> {
  const { result, error } = await ask(place, method, params);
  return error === undefined ? result : (error as { code: number }).code;
}

/** Waits for what must come true, at most five seconds. */
export async function until(what: string, holds: () => boolean | Promise<boolean>, within = 5_000): Promise<void> {
  const deadline = Date.now() + within;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`waited ${within} ms in vain until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** What comes over the bare TCP port: objects back to back. */
export interface Listening {
  readonly socket: Socket;
  readonly text: () => string;
  readonly messages: () => Record<string, unknown>[];
  readonly closed: () => boolean;
}

export async function listen(host: string, port: number): Promise<Listening> {
  const pieces: Uint8Array[] = [];
  let closed = false;
  const socket = connect(port, host);
  socket.on("data", (piece: Uint8Array) => pieces.push(piece));
  socket.on("error", () => {});
  socket.on("close", () => {
    closed = true;
  });
  await new Promise<void>((resolve) => socket.once("connect", () => resolve()));
  const text = () => Buffer.concat(pieces).toString("utf8");
  return {
    socket,
    text,
    closed: () => closed,
    messages: () =>
      text()
        .replaceAll("}{", "}\n{")
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as Record<string, unknown>),
  };
}
