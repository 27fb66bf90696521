/** A relay in front of a device which can answer with what it was sent, in each part of an answer. */
import net from "node:net";
import { startHttpDevice } from "../support/http-device.ts";
import { joined } from "../support/joined.ts";
import { listening } from "../support/listening.ts";

/** `through`: the device answers. Otherwise the part of the answer that repeats the headers of the request. */
export type Echo = "through" | "rpc error" | "rpc result" | "body" | "headers" | "status";

export interface EchoDevice {
  readonly host: string;
  readonly port: number;
  /** Requests whose headers were repeated. */
  readonly echoed: number;
  /** Sets how it answers on new connections. */
  set(echo: Echo): void;
  stop(): Promise<void>;
}

export async function startEcho(behind: { readonly host: string; readonly port: number }): Promise<EchoDevice> {
  let echo: Echo = "through";
  const echoes = await startHttpDevice(({ head, body }) => said(echo, head, body.toString()));
  // Relayed as bytes, so that nothing changes them.
  const relay = net.createServer((socket) => {
    const to = echo === "through" ? behind : echoes.address;
    joined(socket, net.connect(to.port, to.host));
  });
  const { port, hangUp, stop } = await listening(relay);
  return {
    host: "127.0.0.1",
    port,
    get echoed() {
      return echoes.heard.length;
    },
    set(next) {
      echo = next;
      hangUp();
    },
    async stop() {
      await stop();
      await echoes.stop();
    },
  };
}

function said(echo: Echo, head: string, body: string): string {
  const words = head.split("\r\n").slice(1).join(" | ");
  const id = /"id":(\d+)/.exec(body)?.[1] ?? "0";
  const json = (member: object) => JSON.stringify({ jsonrpc: "2.0", id: Number(id), ...member });
  const answer = (status: string, text: string, more = "") =>
    `HTTP/1.1 ${status}\r\nContent-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n${more}\r\n${text}`;
  if (echo === "rpc error") return answer("200 OK", json({ error: { code: -32_000, message: words } }));
  if (echo === "rpc result") return answer("200 OK", json({ result: { name: words, version: words } }));
  if (echo === "headers") return answer("302 Found", "", `Location: http://x/${words}\r\nServer: ${words}\r\n`);
  if (echo === "status") return answer(`500 ${words}`, "");
  return answer("400 Bad Request", `<error>${words}</error>`);
}
