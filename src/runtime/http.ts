/**
 * A listener over `node:http`, for a runtime whose own server sets no limit to a connection (SECURITY.md 0.6): here a head
 * has its time, silence its end, and the callers their number. What a body may take is for the handler to say.
 */
import http from "node:http";
import type { ListenOptions, Socket } from "node:net";
import { Callers, idleMs } from "./callers.ts";
import type { Call, Handler, Listening, Place } from "./runtime.ts";

const lookEvery = 1_000;
/** A caller who is answered in the midst of its body has this long to hear it. */
const lingerMs = 500;

/** Serves a handler; fails with the system's error when the place is taken. */
export async function listenHttp(place: Place, handler: Handler): Promise<Listening> {
  const listener = "path" in place ? "socket" : "tcp";
  // Its own clocks are stopped: they pass over who never says a word, and cut off an upload that takes minutes.
  const server = http.createServer({ headersTimeout: 0, requestTimeout: 0, keepAliveTimeout: idleMs });
  const callers = new Callers();
  const call: Call = { listener, withoutIdleLimit() {} };
  const serve = async (message: http.IncomingMessage, response: http.ServerResponse) => {
    const done = callers.busy(message.socket);
    response.on("close", done);
    try {
      await answer(await handler(requestOf(message, response), call), message, response);
    } catch {
      // What cannot be a request, or an answer: the handler answers its own failures.
      if (!response.headersSent) response.writeHead(400, { connection: "close" });
      response.end();
    }
  };
  server.on("request", serve);
  // Who waits for a word before it sends a body gets it when the body is wanted.
  server.on("checkContinue", serve);
  // No proxy: a CONNECT, which comes as a bare socket, is refused as any other method that a path does not take.
  server.on("connect", (message: http.IncomingMessage, socket: Socket) => {
    const response = new http.ServerResponse(message);
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    response.on("finish", () => socket.end());
    void serve(message, response);
  });
  server.on("connection", (socket) => callers.add(socket));
  const where = "path" in place ? { path: place.path } : { host: place.hostname, port: place.port };
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(where, () => {
      server.off("error", reject);
      resolve();
    });
  });
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : null;
  const ended = new AbortController();
  if (port !== null) look(server, { ...where, port }, callers, ended.signal);
  return {
    port,
    close() {
      ended.abort();
      server.close();
    },
    async end() {
      ended.abort();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

/**
 * Ends idle callers, and listens anew when a crowd has gone: where no descriptor was left for a caller, the runtime asks
 * for none any more.
 */
function look(server: http.Server, where: ListenOptions, callers: Callers, ended: AbortSignal): void {
  let closed = false;
  server.on("error", () => {
    closed = true;
  });
  const timer = setInterval(() => {
    callers.endIdle();
    if (callers.crowdHasGone(lookEvery)) server.close();
    else if (!closed) return;
    closed = false;
    server.listen(where);
  }, lookEvery);
  timer.unref();
  ended.addEventListener("abort", () => clearInterval(timer));
}

function requestOf(message: http.IncomingMessage, response: http.ServerResponse): Request {
  const method = message.method ?? "";
  const headers = new Headers();
  const raw = message.rawHeaders;
  for (let at = 0; at < raw.length; at += 2) headers.append(raw[at] ?? "", raw[at + 1] ?? "");
  const gone = new AbortController();
  response.on("close", () => {
    if (!response.writableFinished) gone.abort();
  });
  // A coding that nobody here undoes would hide where the body ends.
  if ((headers.get("transfer-encoding") ?? "chunked").toLowerCase() !== "chunked") throw new Error("an unknown coding");
  const nameless = method === "TRACE" || method === "CONNECT";
  const bodyless = method === "GET" || method === "HEAD" || nameless;
  const body = bodyless ? {} : { body: bodyOf(message, response), duplex: "half" };
  // The host is for the guard to judge, as its header has it: none of it may become a part of the path.
  const request = new Request(`http://localhost${pathOf(message.url ?? "")}`, {
    method: nameless ? "GET" : method,
    headers,
    signal: gone.signal,
    ...(body as RequestInit),
  });
  // No request can be made with these methods, and they must be refused by their name.
  if (nameless) Object.defineProperty(request, "method", { value: method });
  return request;
}

/** Path and query of a target in origin form or absolute form; fails with a TypeError for any other. */
function pathOf(target: string): string {
  if (target.startsWith("/")) return target;
  const { protocol, pathname, search } = new URL(target);
  if (protocol !== "http:" && protocol !== "https:") throw new TypeError("no address of the web");
  return pathname + search;
}

function bodyOf(message: http.IncomingMessage, response: http.ServerResponse): ReadableStream<Uint8Array> {
  let over = false;
  let awaited = message.headers.expect !== undefined;
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        message.pause();
        const fail = () => {
          if (!over) controller.error(new Error("The caller hung up"));
          over = true;
        };
        message.on("data", (bytes: Uint8Array) => {
          if (over) return;
          controller.enqueue(new Uint8Array(bytes));
          if ((controller.desiredSize ?? 0) <= 0) message.pause();
        });
        message.on("end", () => {
          if (!over) controller.close();
          over = true;
        });
        message.on("error", fail);
        message.on("close", fail);
      },
      pull() {
        if (awaited) response.writeContinue();
        awaited = false;
        message.resume();
      },
      cancel() {
        over = true;
        message.pause();
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: 0 }),
  );
}

async function answer(given: Response, message: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
  const bytes = new Uint8Array(await given.arrayBuffer());
  if (!message.complete) part(message, response);
  for (const [name, value] of given.headers) response.setHeader(name, value);
  response.statusCode = given.status;
  response.end(bytes);
}

/**
 * Ends the connection with the answer: what is left of a body is not waited for. A caller who is still sending would lose the
 * answer if it were simply closed (RFC 9112 9.6), and so is heard out for a moment.
 */
function part(message: http.IncomingMessage, response: http.ServerResponse): void {
  const { socket } = message;
  response.setHeader("connection", "close");
  socket.destroySoon = () => {
    socket.end();
    message.resume();
    const timer = setTimeout(() => socket.destroy(), lingerMs);
    socket.once("close", () => clearTimeout(timer));
  };
}
