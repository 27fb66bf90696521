/** Downloads of packages: only from listed origins, and only with the given size and hash. */
import { describe, expect, spyOn, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { type Artifact, type ArtifactOptions, withArtifact } from "../../src/mqtt/artifact.ts";
import { neverAborted } from "../../src/system/never-aborted.ts";
import { failureOf } from "../support/failure.ts";
import { testFolder } from "../support/folder.ts";
import { type Answer, packageServer } from "./package-server.ts";

const content = Buffer.from("PK: forty-two bytes that stand for a ZIP.");
const { server, artifact } = await packageServer(content);
const { origin, whole } = server;
const { sha256 } = artifact;
const folder = testFolder();

async function fetched(more: Partial<Artifact> = {}, options: Partial<ArtifactOptions> = {}): Promise<string> {
  const usual = {
    origins: [origin],
    folder: join(folder, "uploads"),
    ca: server.ca,
    signal: new AbortController().signal,
  };
  let seen = "";
  await withArtifact({ ...artifact, ...more }, { ...usual, ...options }, async (path) => {
    seen = readFileSync(path, "utf8");
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });
  return seen;
}

describe("a package that is named", () => {
  test("is downloaded from a listed origin, and removed after use", async () => {
    server.answer = whole;
    expect(await fetched()).toBe(content.toString());
    expect(readdirSync(join(folder, "uploads"))).toEqual([]);
  });

  test("is refused without a request, where its arguments are wrong or its origin is not listed", async () => {
    const before = server.asked;
    const cases: readonly (readonly [Partial<Artifact>, string])[] = [
      [{ url: origin.replace("https", "http") }, "invalid_payload"],
      [{ url: "file:///etc/passwd" }, "invalid_payload"],
      [{ url: "no address" }, "invalid_payload"],
      [{ url: `${origin.replace("https://", "https://user@")}/a` }, "invalid_payload"],
      [{ url: `${origin.replace("https://", "https://:word@")}/a` }, "invalid_payload"],
      [{ url: `${origin}/a#b` }, "invalid_payload"],
      [{ sha256: sha256.toUpperCase() }, "invalid_payload"],
      [{ sha256: "ab" }, "invalid_payload"],
      [{ bytes: 0 }, "invalid_payload"],
      [{ bytes: 1.5 }, "invalid_payload"],
      [{ bytes: 101 * 1024 * 1024 }, "payload_too_large"],
      [{ url: "https://localhost/a" }, "forbidden_origin"],
      [{ url: `${origin.replace("localhost", "localhost.evil.test")}/a` }, "forbidden_origin"],
      [{ url: `${origin.slice(0, -1)}/a` }, "forbidden_origin"],
    ];
    for (const [more, code] of cases)
      expect([more, await failureOf(fetched(more))]).toEqual([more, expect.stringContaining(`${code}:`)]);
    expect(server.asked).toBe(before);
  });

  test("is not requested from loopback, link-local and multicast addresses", async () => {
    const before = server.asked;
    const addresses = ["127.0.0.1", "127.8.9.1", "0.0.0.0", "169.254.169.254", "224.0.0.251", "255.255.255.255"];
    for (const address of [...addresses, "::1", "::", "fe80::1", "ff02::fb", "::ffff:127.0.0.1", "::ffff:7f00:1"]) {
      const lookup = async () => [{ address, family: address.includes(":") ? 6 : 4 }];
      const named = origin.replace("localhost", "artifacts.test");
      expect([address, await failureOf(fetched({ url: `${named}/a` }, { lookup, origins: [named] }))]).toEqual([
        address,
        expect.stringContaining("has only addresses of this machine or its link"),
      ]);
    }
    const lookup = () => Promise.reject(Object.assign(new Error("unknown"), { code: "ENOTFOUND" }));
    expect(await failureOf(fetched({}, { lookup }))).toContain("there is no such host");
    expect(server.asked).toBe(before);
  });

  test("is refused where size or hash do not match", async () => {
    const cases: readonly (readonly [string, Answer])[] = [
      ["302", (_, response) => response.writeHead(302, { location: `${origin}/other` }).end()],
      ["404", (_, response) => response.writeHead(404).end(content)],
      ["has 3 bytes", (_, response) => response.end("abc")],
      ["has 82 bytes", (_, response) => response.end(Buffer.concat([content, content]))],
      ["more than", (_, response) => void response.write(Buffer.concat([content, content]))],
      ["40 bytes", (_, response) => response.flushHeaders() ?? response.end(content.subarray(1))],
      ["SHA-256", (_, response) => response.end(Buffer.from(content).fill("x", 0, 1))],
      ["content-encoding", (_, response) => response.writeHead(200, { "content-encoding": "gzip" }).end(content)],
      ["was not downloaded", (request) => void request.socket.destroy()],
      [
        "only 9 of 41 bytes came",
        (request, response) =>
          void response.write(content.subarray(0, 9), () => setTimeout(() => request.socket.destroy(), 20)),
      ],
    ];
    for (const [words, one] of cases) {
      server.answer = one;
      const told = await failureOf(fetched({}));
      expect([words, told]).toEqual([words, expect.stringMatching(/^invalid_archive: The package at \S+ was not /)]);
      expect(told).toContain(words);
      expect(told.includes("redirects")).toBe(words === "302");
    }
    server.answer = whole;
    // A name that its certificate has not, and a certificate that nobody trusts.
    const other = origin.replace("localhost", "127.0.0.1");
    expect(await failureOf(fetched({ url: `${other}/a` }, { origins: [other] }))).toContain("certificate");
    expect(await failureOf(fetched({}, { ca: undefined }))).toContain("certificate");
    expect(readdirSync(join(folder, "uploads"))).toEqual([]);
  });

  test("is refused where it takes too long, and the connection is closed where it is not read", async () => {
    const timeout = spyOn(AbortSignal, "timeout").mockReturnValueOnce(AbortSignal.timeout(300));
    server.answer = (_, response) => void response.write(content.subarray(0, 9));
    expect(await failureOf(fetched())).toContain("it took more than 180 s");
    timeout.mockRestore();
    const closed = Promise.withResolvers<void>();
    server.answer = (request, response) => {
      request.socket.once("close", closed.resolve);
      response.writeHead(404).write("no end");
    };
    const since = performance.now();
    expect(await failureOf(fetched())).toContain("404");
    await closed.promise;
    expect(performance.now() - since).toBeLessThan(8_000);
  });

  test("what came of it is told where its file cannot be removed", async () => {
    server.answer = whole;
    const use = async (path: string) => {
      rmSync(path);
      mkdirSync(path);
      return "installed";
    };
    const options = { origins: [origin], folder: join(folder, "odd"), ca: server.ca, signal: neverAborted };
    expect(await withArtifact(artifact, options, use)).toBe("installed");
  });

  test("is aborted with its caller, and leaves no file behind", async () => {
    for (let times = 0; times < 20; times++) {
      const caller = new AbortController();
      // At once, or while the content is read.
      const gone = () => setTimeout(() => caller.abort(new Error("gone")), times % 2 && 20);
      server.answer = (_, response) => void response.write(content.subarray(0, 9), gone);
      expect(await failureOf(fetched({}, { signal: caller.signal }))).toBe("undefined: gone");
      expect(existsSync(join(folder, "uploads")) && readdirSync(join(folder, "uploads"))).toEqual([]);
    }
  });
});
