/** What a broken set gives in place of a picture. */
import { picture } from "../../src/simulators/bench/documents.ts";

export type Say = () => Response;
export const page = "<!DOCTYPE html><title>Router</title><script>alert(1)</script>";
export const svg = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>';
export const whole = picture("a picture", 64, 64);
const asPng = { headers: { "content-type": "image/png" } };

/** 100 MB that begin like a picture, as fast as they are read. */
export function endless(): Response {
  let left = 100;
  const chunk = new Uint8Array(1024 * 1024);
  const bytes = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (left === 100) controller.enqueue(Uint8Array.from(whole.subarray(0, 8)));
      if (left-- > 0) controller.enqueue(chunk);
      else controller.close();
    },
  });
  return new Response(bytes, asPng);
}

export interface Spoiled {
  readonly say: Say;
  readonly code: string;
  readonly says: RegExp;
}

const incomplete = { code: "picture_not_found", says: /did not send a complete PNG, JPEG or WebP/ };

export const spoiled: Readonly<Record<string, Spoiled>> = {
  "a page": { say: () => new Response(page, asPng), ...incomplete },
  "a drawing": { say: () => new Response(svg, asPng), ...incomplete },
  "a page behind a signature": {
    say: () => new Response(Buffer.concat([whole.subarray(0, 8), Buffer.from(page)]), asPng),
    ...incomplete,
  },
  "half of it": { say: () => new Response(Uint8Array.from(whole.subarray(0, whole.length / 2)), asPng), ...incomplete },
  // The digits of its end mark stand across two bytes, so it is not the mark.
  "half a JPEG": { say: () => new Response(Buffer.from("ffd8ffe000100ffd9000", "hex"), asPng), ...incomplete },
  nothing: { say: () => new Response("", asPng), code: "picture_not_found", says: /has no / },
  "100 MB": { say: endless, code: "device_error", says: /more than \d+ KiB/ },
  "a redirect to a picture": {
    say: () => new Response(null, { status: 302, headers: { location: "/elsewhere.png" } }),
    code: "device_error",
    says: /redirect/,
  },
};

/** A proxy before a port of a set, which answers some requests itself: those for pictures. */
export function inFrontOf(host: string, port: number, isPicture: (path: string) => boolean, say: Say) {
  const asked: string[] = [];
  const proxy = Bun.serve({
    hostname: host,
    port: 0,
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      if (isPicture(pathname)) {
        asked.push(pathname);
        return say();
      }
      const { method } = request;
      const headers = new Headers(request.headers);
      headers.set("host", `${host}:${port}`);
      const body = method === "POST" ? await request.arrayBuffer() : null;
      return fetch(`http://${host}:${port}${pathname}${search}`, { method, headers, body, redirect: "manual" });
    },
  });
  return { port: proxy.port ?? 0, asked, stop: () => proxy.stop(true) };
}
