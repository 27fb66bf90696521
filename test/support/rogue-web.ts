/** A web server at the former address of a player: it keeps all that it receives. */
import net from "node:net";
import { listening } from "./listening.ts";

export interface RogueWeb {
  readonly host: string;
  readonly port: number;
  /** All that it has received. */
  readonly heard: () => string;
  /** How many requests it has received. */
  readonly requests: () => number;
  stop(): Promise<void>;
}

/** `answer` is the whole answer to each request, head and body; `null`: none. */
export async function startRogueWeb(
  answer: string | null | ((request: string) => string),
  at: { readonly host?: string; readonly port?: number } = {},
): Promise<RogueWeb> {
  const { host = "127.0.0.1" } = at;
  const pieces: Buffer[] = [];
  const heard = () => Buffer.concat(pieces).toString("latin1");
  const server = net.createServer((socket) => {
    let begun = "";
    socket.on("data", (bytes: Buffer) => {
      pieces.push(bytes);
      begun += bytes.toString("latin1");
      const length = Number(/^content-length: *(\d+)/im.exec(begun)?.[1] ?? 0);
      const end = begun.indexOf("\r\n\r\n");
      if (answer === null || end === -1 || begun.length < end + 4 + length) return;
      const request = begun;
      begun = "";
      socket.write(typeof answer === "string" ? answer : answer(request));
    });
  });
  const { port, stop } = await listening(server, host, at.port);
  return {
    host,
    port,
    heard,
    requests: () => heard().match(/(GET|POST|HEAD) \S+ HTTP\/1\.1\r\n/g)?.length ?? 0,
    stop,
  };
}

/** An answer with a `Content-Length`. */
export function web(status: string, headers: readonly string[] = [], body = ""): string {
  return [`HTTP/1.1 ${status}`, ...headers, `Content-Length: ${Buffer.byteLength(body)}`, "", body].join("\r\n");
}
