import type { Answer, HttpOptions, Request } from "./http.ts";

/** Null when it is not the head of an HTTP/1 request. */
export function parseHead(head: string): Request | null {
  const [first = "", ...lines] = head.replace(/^(\r\n)+/, "").split("\r\n");
  const [, method, target, version] = /^([A-Za-z-]+) (\S+) HTTP\/1\.([01])$/.exec(first) ?? [];
  if (method === undefined || target === undefined) return null;
  const headers: Record<string, string> = Object.create(null);
  for (const line of lines) {
    const colon = line.indexOf(":");
    if (colon <= 0) return null;
    headers[line.slice(0, colon).trim().toLowerCase()] = line.slice(colon + 1).trim();
  }
  if (version === "0") headers.connection ??= "close";
  return { method: method.toUpperCase(), target, headers };
}

export function keepsAlive(request: Request): boolean {
  return request.headers.connection?.toLowerCase() !== "close";
}

const REASONS: Readonly<Record<number, string>> = {
  200: "OK",
  202: "Accepted",
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  413: "Payload Too Large",
  415: "Unsupported Media Type",
};

/** An empty answer has no Content-Type (1.2), so only what the answer brings is said. */
export function renderAnswer(request: Request, answer: Answer, always: HttpOptions["headers"]): Uint8Array {
  const body = Buffer.from(answer.body ?? "");
  const lines = [
    `HTTP/1.1 ${answer.status} ${REASONS[answer.status] ?? "Error"}`,
    ...[...always, ...(answer.headers ?? [])].map(([name, value]) => `${name}: ${value}`),
    `Content-Length: ${body.length}`,
  ];
  const head = Buffer.from(`${lines.join("\r\n")}\r\n\r\n`);
  return request.method === "HEAD" ? head : Buffer.concat([head, body]);
}
