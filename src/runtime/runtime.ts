/** What differs between the runtimes: serving. Everything else goes through `node:` modules, which agree. */

import { runtime as bun } from "./bun.ts";
import { runtime as deno } from "./deno.ts";

/** What a request came with. */
export interface Call {
  /** Which listener took it: the loopback port, or the control socket, which only its owner can open. */
  readonly listener: "tcp" | "socket";
  /** It was made by the program that holds zapd, or handed on by one that vouches for it: it may lack a `Host`. */
  readonly ownProgram?: boolean;
  /** The path as the caller wrote it, where zapd is mounted below another one. */
  readonly callerPath?: string;
  /**
   * Lifts the server's limit on silence, where the handler has a deadline of its own: until it has answered, or, where the
   * answer is a stream, until that has ended.
   */
  withoutIdleLimit(until: "answered" | "ended"): void;
}

export type Handler = (request: Request, call: Call) => Response | Promise<Response>;

export interface Listener {
  /** The bound port; `null` for a socket. */
  readonly port: number | null;
  /** Takes no new connection. */
  close(): void;
  /** Ends the connections that are left, once their last words have had a moment to be sent. */
  end(): Promise<void>;
}

export type ListenAddress = { readonly hostname: string; readonly port: number } | { readonly path: string };

/** A request to a control socket. */
export interface SocketCall {
  readonly method: string;
  /** Path and query, encoded. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | ReadableStream<Uint8Array>;
  readonly signal?: AbortSignal;
}

export interface Runtime {
  /** Whether anyone listens on a socket. */
  isListening(socket: string): Promise<boolean>;
  /** Calls the HTTP server behind a socket; rejects when nobody answers there. */
  call(socket: string, call: SocketCall): Promise<Response>;
  /** Begins to serve; throws the system's error (`EADDRINUSE` …) when the place is taken. */
  listen(place: ListenAddress, handler: Handler): Promise<Listener>;
  /** Many requests come: what runs from now on runs often. */
  optimizeForLoad(): void;
  /** What to set as the receive buffer of a datagram socket that must not lose any of a storm, in bytes. */
  readonly burstBufferBytes: number;
}

/** The runtime that we are on. */
export function currentRuntime(): Runtime {
  return process.versions["bun"] ? bun : deno;
}
