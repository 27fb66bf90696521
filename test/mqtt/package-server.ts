/** An HTTPS server of this machine, from which packages are downloaded. */
import { afterAll } from "bun:test";
import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import https from "node:https";
import { createCertificateFor } from "../../src/simulators/bench/certificate.ts";
import { listening } from "../support/listening.ts";

export type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** Stopped after the tests of the file; `answer` is what it does with the next requests. */
export async function packageServer(content: Buffer) {
  const { key, cert } = createCertificateFor("localhost");
  const whole: Answer = (_, response) => response.end(content);
  const server = { origin: "", ca: cert, asked: 0, answer: whole, whole };
  const { port, stop } = await listening(
    https.createServer({ key, cert }, (request, response) => {
      server.asked++;
      server.answer(request, response);
    }),
  );
  afterAll(stop);
  server.origin = `https://localhost:${port}`;
  const sha256 = createHash("sha256").update(content).digest("hex");
  return { server, artifact: { url: `${server.origin}/app.zip`, sha256, bytes: content.length } };
}
