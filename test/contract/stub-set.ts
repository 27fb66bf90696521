/** A device of the stub platform on real sockets: it says who it is, shows a code, and takes keys from those that it gave one. */

import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { listening } from "../support/listening.ts";
import { announce } from "../support/mdns-service.ts";

export interface StubSet {
  readonly host: string;
  readonly port: number;
  /** As what it announces itself. */
  readonly service: string;
  /** The code on its screen, while it shows one. */
  readonly code: string | null;
  /** The keys that it took, in its own words. */
  readonly pressed: string[];
  stop(): Promise<void>;
}

export async function startStub(facts: { name: string; mac: string }): Promise<StubSet> {
  const pressed: string[] = [];
  let code: string | null = null;
  const key = "0123456789abcdef";
  const answers = (path: string, query: URLSearchParams): string | null => {
    if (path === "/who") return JSON.stringify({ id: "stub-1", ...facts });
    if (path === "/pair" && !query.has("code")) {
      code = "4711";
      return "";
    }
    if (path === "/pair") return query.get("code") === code ? key : null;
    if (query.get("key") !== key) return null;
    if (path === "/state") return JSON.stringify({ volume: 20 + pressed.length, muted: false });
    pressed.push(path.slice(1));
    return "";
  };
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://stub");
    const body = answers(pathname, searchParams);
    response.writeHead(body === null ? 401 : 200).end(body ?? "");
  });
  const listener = await listening(server);
  const { port } = listener;
  const service = `stub-${randomUUID().slice(0, 8)}`;
  const announced = announce(service, {}, port);
  let stopped: Promise<void> | undefined;
  return {
    host: "127.0.0.1",
    port,
    service,
    pressed,
    get code() {
      return code;
    },
    stop() {
      stopped ??= announced.stop().then(listener.stop);
      return stopped;
    },
  };
}
