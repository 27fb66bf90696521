import { createServer, type Server, type Socket } from "node:net";
import { Connection } from "./http-connection.ts";

export interface Request {
  readonly method: string;
  /** The path and query exactly as sent: digest authentication compares it. */
  readonly target: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

type Header = readonly [name: string, value: string];

export interface Answer {
  readonly status: number;
  readonly headers?: readonly Header[];
  readonly body?: string | Uint8Array;
}

/** Read the body, at most `limit` bytes of it, then answer. */
export interface Reading {
  readonly limit: number;
  receive(chunk: Uint8Array): void;
  /** Reset cuts the connection, never leaves it open without a word. */
  answer(): Answer | "reset" | "never";
  /** Close the connection after the answer, unannounced. */
  readonly hangUp?: boolean;
}

/** What to do with a request once its head is there; to refuse is to answer and close with the body unread. */
export type Plan = Reading | { readonly refuse: Answer };

export interface RecordedRequest {
  readonly method: string;
  /** With the query, as sent. */
  readonly path: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** 0 when the connection was reset instead of an answer. */
  readonly status: number;
  /** Bytes of the body that were read. */
  readonly bytes: number;
}

export interface HttpOptions {
  plan(request: Request): Plan;
  /** Said with every answer, before its own headers. */
  readonly headers: readonly Header[];
  record(request: RecordedRequest): void;
}

const IDLE_MS = 60_000;

/** HTTP/1.1 by hand: the order and case of headers, empty answers and hang-ups are part of what is simulated. */
export function createHttpServer(options: HttpOptions, track: (socket: Socket) => void): Server {
  return createServer((socket) => {
    track(socket);
    socket.setTimeout(IDLE_MS, () => socket.destroy());
    const connection = new Connection(socket, options);
    socket.on("data", (chunk: Uint8Array) => connection.feed(chunk));
  });
}
