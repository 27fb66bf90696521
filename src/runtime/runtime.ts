/** What differs between the runtimes: serving HTTP. Everything else uses `node:` modules, which agree. */

import { runtime as bun } from "./bun.ts";
import { runtime as deno } from "./deno.ts";

/** How a request arrived. */
export interface Call {
  /** The listener: the loopback port, or the control socket, which only its owner can open. */
  readonly listener: "tcp" | "socket";
  /** The program that embeds zapd made or forwarded the request, and answers for it: `Host` may be missing. */
  readonly ownProgram?: boolean;
  /** `false`: zapd asks by itself, and what it reads is no use of a device. */
  readonly isUse?: boolean;
  /** The path as the caller sent it, where zapd is mounted below another path. */
  readonly callerPath?: string;
  /** Lifts the server's idle limit for a handler with its own deadline: until it has answered, or until its stream has ended. */
  withoutIdleLimit(until: "answered" | "ended"): void;
}

export type Handler = (request: Request, call: Call) => Response | Promise<Response>;

export interface Listener {
  /** The bound port; `null` for a socket. */
  readonly port: number | null;
  /** Accepts no new connection. */
  close(): void;
  /** Ends the open connections, after a moment for their last bytes. */
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
  /** Whether a program listens on a socket. */
  isListening(socket: string): Promise<boolean>;
  /** Calls the HTTP server on a socket; rejects where none listens. */
  call(socket: string, call: SocketCall): Promise<Response>;
  /** Starts to serve; rejects with the system's error (`EADDRINUSE` …). */
  listen(place: ListenAddress, handler: Handler): Promise<Listener>;
  /** Called once when many requests arrive, so that the JIT may compile. */
  optimizeForLoad(): void;
  /** Frees unused memory now, where the runtime would let it grow: stops everything else for some milliseconds. */
  collectGarbage(): void;
  /** Whether its server reads on by itself what is left of a body, without an end and after the answer. */
  readonly readsRest: boolean;
  /** The receive buffer of a datagram socket that must not lose a burst, in bytes. */
  readonly burstBufferBytes: number;
}

/** The runtime that runs this program. */
export function currentRuntime(): Runtime {
  return process.versions["bun"] ? bun : deno;
}
