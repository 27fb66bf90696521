/** Uploads that are too large, broken, or no form: refused in the envelope, not sent to the set, nothing left on disk. */
import { afterEach, beforeAll, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import net from "node:net";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { withArchive } from "../../src/server/upload.ts";
import { roomForFile } from "../blackbox/daemon-for-file.ts";
import { password, validPackage } from "../support/daemon-with-roku.ts";
import { until } from "../support/http-device.ts";
import { type RawAnswer, refusal, requestOf, type Sending, send } from "../support/raw-http.ts";

const room = await roomForFile();
let filesOpen = 0;
beforeAll(async () => {
  await upload(form(archive));
  filesOpen = openFiles();
});
afterEach(async () => {
  await until("nothing is left", () => left().length === 0 && openFiles() <= filesOpen, 2_000);
});

const linux = process.platform === "linux";
const MiB = 1024 * 1024;
const multipart = "Content-Type: multipart/form-data; boundary=B";
const left = () => readdirSync(join(room.daemon.stateFolder, "uploads"));
/** The open files and connections of the daemon, where the system lists them. */
const openFiles = () => (linux ? readdirSync(`/proc/${room.daemon.process.pid}/fd`).length : 0);

interface Part {
  readonly name: string;
  readonly file?: string;
  readonly body: string | Uint8Array;
  readonly headers?: readonly string[];
}

const archive: Part = { name: "archive", file: "a.zip", body: validPackage };
const note: Part = { name: "note", body: "x" };

function part({ name, file, body, headers = [] }: Part): Buffer {
  const disposition = `Content-Disposition: form-data; name="${name}"${file === undefined ? "" : `; filename="${file}"`}`;
  return Buffer.concat([
    Buffer.from(["--B", disposition, ...headers, "", ""].join("\r\n")),
    Buffer.from(body),
    Buffer.from("\r\n"),
  ]);
}

const form = (...parts: Part[]): Buffer => Buffer.concat([...parts.map(part), Buffer.from("--B--\r\n")]);

function head(headers: readonly string[]): Buffer {
  const own = [`Host: 127.0.0.1:${room.daemon.port}`, "Connection: close", ...headers];
  return requestOf("POST", "/v1/devices/set/dev/install", own);
}

function upload(body: Uint8Array, headers = [multipart], sending: Partial<Sending> = {}): Promise<RawAnswer> {
  const length = headers.some((line) => line.startsWith("Transfer-Encoding")) ? [] : [`Content-Length: ${body.length}`];
  return send([head([...headers, ...length]), body], { to: room.daemon.port, ...sending });
}

const untouched = async (run: () => Promise<unknown>) => expect(await room.requestsDuring(run)).toBe(0);

const whole = form(archive);
const many = (count: number, more: Partial<Part>) =>
  Array.from({ length: count }, (_, at) => ({ ...note, name: `n${at}`, ...more }));
const broken: Readonly<Record<string, { readonly body: Uint8Array; readonly headers?: string[] }>> = {
  "no archive": { body: form({ ...archive, name: "package" }) },
  "no part at all": { body: form() },
  "no body": { body: Buffer.alloc(0) },
  "the archive as a text": { body: form({ name: "archive", body: "PK" }) },
  "two archives": { body: form(archive, archive) },
  "two files": { body: form(archive, { ...archive, name: "other" }) },
  "two files, the archive last": { body: form({ ...archive, name: "other" }, archive) },
  "a text and a file called archive": { body: form({ name: "archive", body: "PK" }, archive) },
  "a large archive, then another": { body: form({ ...archive, body: Buffer.alloc(4 * MiB) }, archive) },
  "nine texts behind the archive": { body: form(archive, ...many(9, {})) },
  "nine parts, one of them the archive": { body: form(archive, ...many(8, {})) },
  "a head of 9 KiB": { body: Buffer.concat([Buffer.from(`--B\r\nX: ${"x".repeat(9 * 1024)}\r\n`), whole.subarray(5)]) },
  "a thousand texts": { body: form(...many(1_000, {}), archive) },
  "a thousand files": { body: form(...many(1_000, { file: "f" })) },
  "a hundred thousand texts": { body: form(...many(100_000, {})) },
  "the end boundary missing": { body: part(archive) },
  "cut off in the archive": { body: whole.subarray(0, 300) },
  "cut off in a head": { body: whole.subarray(0, 30) },
  "another boundary": { body: whole, headers: [multipart.replace("=B", "=C")] },
  "no boundary": { body: whole, headers: ["Content-Type: multipart/form-data"] },
  "no boundary after all": { body: whole, headers: ["Content-Type: multipart/form-data; charset=utf-8"] },
  "a boundary that is too long": { body: whole, headers: [multipart.replace("=B", `=${"B".repeat(253)}`)] },
  "an empty boundary": { body: whole, headers: ["Content-Type: multipart/form-data; boundary="] },
  "the archive itself": { body: validPackage, headers: ["Content-Type: application/zip"] },
  "another type": { body: whole, headers: ["Content-Type: application/x-www-form-urlencoded"] },
  "no type": { body: whole, headers: [] },
  JSON: { body: Buffer.from('{"archive":"PK"}'), headers: ["Content-Type: application/json"] },
  "half a MiB of anything": { body: Buffer.alloc(MiB / 2, 0xfe) },
  "a compressed form": { body: gzipSync(whole), headers: [multipart, "Content-Encoding: gzip"] },
};

test.each(Object.entries(broken))("T22 %s: invalid_payload", async (_what, { body, headers }) => {
  await untouched(async () => {
    const answer = await upload(body, headers);
    expect(refusal(answer)).toBe("400 invalid_payload");
    // In zapd's own words, not in those of the library.
    expect(answer.body).not.toMatch(/needle|multipart:|unexpected|terminated/i);
  });
});

test.each([
  ["params", "\u0001"],
  ["params", "[]"],
  ["password", ""],
  ["password", "a\u0001"],
  ["password", "x".repeat(257)],
])("T22 a field %s that cannot be read (%j) is answered with an example of how to send it", async (name, body) => {
  const answer = await upload(form({ name, body }, archive));
  expect(refusal(answer)).toBe("400 invalid_payload");
  expect(answer.body.toString()).toContain(`-F ${name === "params" ? "'params=" : "password="}`);
});

test("a deep link that is too long is told as in every other request", async () => {
  const body = JSON.stringify({ contentId: "x".repeat(1_025) });
  const answer = await upload(form({ name: "params", body }, archive));
  expect(refusal(answer)).toBe("400 invalid_payload");
  expect(answer.body.toString()).toContain("params.contentId must have at most 1024 characters");
});

test("T22 a form whose content type was set without its boundary is told from no form", async () => {
  const { body } = await upload(whole, ["Content-Type: multipart/form-data"]);
  expect(body.toString()).toContain("its content type has no boundary; let the client set that header");
});

test.each([
  ["an empty archive", form({ ...archive, body: "" })],
  ["no ZIP", form({ ...archive, body: "no package" })],
])("%s: invalid_archive", async (_what, body) => {
  await untouched(async () => expect(refusal(await upload(body))).toBe("400 invalid_archive"));
});

test("T21 what a client calls the file, and fields beside it, do not matter", async () => {
  for (const file of ["../../../etc/passwd", "/dev/null", "a\\b.zip", "\u00e4\u{1f4fa}.zip", "", "x".repeat(300)]) {
    const answer = await upload(form(note, { ...archive, file }, { ...note, name: "after" }));
    expect([file, answer.status]).toEqual([file, 200]);
  }
});

test("more than 100 MiB, announced: refused before it is sent", async () => {
  await untouched(async () => {
    const answer = await send(head([multipart, `Content-Length: ${101 * MiB}`]), {
      to: room.daemon.port,
      // Deno's server says that it ends the connection, and then waits for its caller to do so.
      toTheEnd: process.env["ZAPD_TEST_RUNTIME"] !== "deno",
    });
    expect(refusal(answer)).toBe("413 payload_too_large");
    expect(answer.headers.get("connection")).toStartWith("close");
  });
});

const block = Buffer.alloc(MiB);
const opening = part({ ...archive, body: "" }).subarray(0, -2);

test("T20 more than 100 MiB, streamed without a length: refused on the way", async () => {
  function* pieces(): Generator<Uint8Array> {
    yield head([multipart, "Transfer-Encoding: chunked"]);
    for (const piece of [opening, ...Array<Buffer>(120).fill(block)]) {
      yield Buffer.from(`${piece.length.toString(16)}\r\n`);
      yield piece;
      yield Buffer.from("\r\n");
    }
  }
  await untouched(async () => {
    const sending = { to: room.daemon.port, patienceMs: 15_000, readsLast: true };
    expect(refusal(await send(pieces(), sending))).toBe("413 payload_too_large");
  });
});

test.each([
  ["one byte over 100 MiB", "x", "413 payload_too_large"],
  ["100 MiB, but no ZIP", "", "400 invalid_archive"],
])("an archive of %s, in a form whose length is allowed", async (_what, more, answer) => {
  const end = Buffer.from(`${more}\r\n--B--\r\n`);
  const length = opening.length + 100 * MiB + end.length;
  const pieces = [head([multipart, `Content-Length: ${length}`]), opening, ...Array<Buffer>(100).fill(block), end];
  await untouched(async () => {
    expect(refusal(await send(pieces, { to: room.daemon.port, patienceMs: 15_000 }))).toBe(answer);
  });
});

test("T21 a client that disconnects half-way leaves no file", async () => {
  let next = "";
  const isOver = async () => {
    next = refusal(await upload(form({ ...archive, body: "no package" })));
    return next !== "500 device_busy";
  };
  await untouched(async () => {
    for (let times = 0; times < 5; times++) {
      const socket = net.connect(room.daemon.port, "127.0.0.1");
      socket.on("error", () => {});
      socket.write(head([multipart, `Content-Length: ${20 * MiB}`]));
      socket.write(opening);
      for (let sent = 0; sent < 4; sent++) socket.write(block);
      await until("the file is begun", () => left().length > 0);
      socket.destroy();
      await until("the file is gone", () => left().length === 0, 2_000);
      // Its turn ends a moment later.
      await until("its turn is over", isOver, 2_000);
      expect(next).toBe("400 invalid_archive");
    }
  });
});

test.skipIf(!linux)("a disk that takes nothing ends the upload at once", async () => {
  const body = new Uint8Array(form({ ...archive, body: Buffer.alloc(8 * MiB) }));
  const request = new Request("http://localhost/", {
    method: "POST",
    body,
    headers: { "content-type": "multipart/form-data; boundary=B" },
  });
  const use = () => Promise.reject(new Error("used"));
  await expect(withArchive(request, "/proc", use)).rejects.toMatchObject({ code: "storage_error" });
});

test("for an unknown device nothing is read; without a password, nothing is sent to the device", async () => {
  const nobody = requestOf("POST", "/v1/devices/nobody/dev/install", [
    `Host: 127.0.0.1:${room.daemon.port}`,
    multipart,
    "Content-Length: 50000000",
  ]);
  expect(refusal(await send(nobody, { to: room.daemon.port }))).toBe("404 device_not_found");
  await room.daemon.api("PATCH", "/config", { "dev.vendor_password": null });
  await untouched(async () => expect(refusal(await upload(form(archive)))).toBe("400 dev_password_missing"));
});

test("where no password is set, the one in the form is used, and stored once it is accepted", async () => {
  await room.daemon.api("PATCH", "/config", { "dev.vendor_password": null });
  // The order of the parts does not matter.
  const wrong = await upload(form(archive, { name: "password", body: "sesame, close" }));
  expect(refusal(wrong)).toContain("dev_auth_failed");
  expect(refusal(await upload(form(archive)))).toBe("400 dev_password_missing");
  const right = await upload(form({ name: "password", body: password }, archive));
  expect(right.status).toBe(200);
  expect((await upload(form({ name: "params", body: '{"contentId":"42"}' }, archive))).status).toBe(200);
});
