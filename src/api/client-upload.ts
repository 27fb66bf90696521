/** The multipart form of an upload, streamed. */
import type { Upload } from "./client.ts";

export function formOf({ archive, progress, params, password }: Upload): RequestInit {
  const texts = [
    ...(params ? [["params", JSON.stringify(params)] as const] : []),
    ...(password === undefined ? [] : [["password", password] as const]),
  ];
  if (archive instanceof Blob && !progress) {
    const form = new FormData();
    for (const [name, text] of texts) form.append(name, text);
    form.append("archive", archive, "package.zip");
    return { body: form };
  }
  const boundary = `----zapd${crypto.randomUUID()}`;
  const part = (disposition: string, rest: string) =>
    `--${boundary}\r\ncontent-disposition: form-data; ${disposition}\r\n${rest}`;
  const fields = texts.map(([name, text]) => part(`name="${name}"`, `\r\n${text}\r\n`));
  const file = part('name="archive"; filename="package.zip"', "content-type: application/zip\r\n\r\n");
  const head = new TextEncoder().encode(fields.join("") + file);
  const tail = new TextEncoder().encode(`\r\n--${boundary}--\r\n`);
  const reader = archive.stream().getReader();
  let sent = 0;
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(head),
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) {
        controller.enqueue(tail);
        controller.close();
      } else {
        controller.enqueue(value);
        sent += value.length;
        progress?.(sent);
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
  const headers = {
    "content-type": `multipart/form-data; boundary=${boundary}`,
    "content-length": String(head.length + archive.size + tail.length),
  };
  // Some runtimes refuse a stream as a body without `duplex`; the types of others lack it.
  return { body, headers, duplex: "half" } as RequestInit;
}
