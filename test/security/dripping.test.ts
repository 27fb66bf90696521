/** T19: an upload that drips does not hold its place, and one over a slow but honest line is taken. */
import { afterAll, beforeAll, expect } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import net from "node:net";
import { join } from "node:path";
import { zipSync } from "fflate";
import { accepted, refused } from "../blackbox/checked.ts";
import { install } from "../blackbox/packages.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { validPackage } from "../support/daemon-with-roku.ts";
import { until } from "../support/http-device.ts";
import { requestOf } from "../support/raw-http.ts";
import { slowTest } from "../support/whole.ts";
import { WiredRoku } from "../support/wired-roku.ts";

const names = ["one", "two", "three"] as const;
let sets: WiredRoku[];
let daemon: TestDaemon;

beforeAll(async () => {
  sets = await Promise.all(names.map(() => WiredRoku.start()));
  daemon = await startTestDaemon({ config: { dev: { vendor_password: "secret-of-the-set" } } });
  for (const [at, set] of sets.entries()) await daemon.api("POST", "/devices", { ...set.address, name: names[at] });
});
afterAll(async () => {
  await daemon.dispose();
  await Promise.all(sets.map((set) => set.stop()));
});

const open = '--B\r\nContent-Disposition: form-data; name="archive"; filename="a.zip"\r\n\r\n';

interface Upload {
  readonly socket: net.Socket;
  /** What is answered, and after how many milliseconds; an empty text when the connection ends without a word. */
  readonly answered: Promise<{ text: string; ms: number }>;
}

/** Begins an upload: its head, what comes at once, and then `every` so many milliseconds. */
function upload(name: string, length: number, first: Uint8Array, every: number, next: () => Uint8Array | null): Upload {
  const start = performance.now();
  const socket = net.connect(daemon.port, "127.0.0.1");
  const head = requestOf("POST", `/v1/devices/${name}/dev/install`, [
    `Host: 127.0.0.1:${daemon.port}`,
    "Content-Type: multipart/form-data; boundary=B",
    `Content-Length: ${length}`,
    "Connection: close",
  ]);
  const answered = new Promise<{ text: string; ms: number }>((resolve) => {
    let text = "";
    const end = () => {
      clearInterval(timer);
      resolve({ text, ms: performance.now() - start });
    };
    const timer = setInterval(() => {
      const bytes = next();
      if (bytes === null) clearInterval(timer);
      else if (!socket.destroyed) socket.write(bytes);
    }, every);
    socket.on("connect", () => {
      socket.write(head);
      socket.write(first);
    });
    socket.on("data", (bytes: Buffer) => {
      text += bytes.toString();
      if (/"error":|"ok":true/.test(text)) end();
    });
    socket.on("error", end);
    socket.on("close", end);
  });
  return { socket, answered };
}

const installs = (name: string) => install(daemon, name, Buffer.from(validPackage));

slowTest(
  "T19 two uploads that drip give their places back in seconds, however much came with the first of it",
  async () => {
    const drop = Buffer.from("x");
    const dripping = [
      upload("one", 50_000_000, Buffer.from(open), 200, () => drop),
      upload("two", 50_000_000, Buffer.concat([Buffer.from(open), Buffer.alloc(8_000_000, "x")]), 300, () => drop),
    ];
    try {
      const uploads = join(daemon.stateFolder, "uploads");
      await until("both are being received", () => existsSync(uploads) && readdirSync(uploads).length === 2);
      refused(await installs("three"), "device_busy");
      for (const { answered } of dripping) {
        const { text, ms } = await answered;
        expect(ms).toBeGreaterThan(9_000);
        expect(ms).toBeLessThan(25_000);
        expect(text).toContain("invalid_payload");
        expect(text).toContain("too slowly");
        expect(text).toContain("16 KiB a second");
      }
      accepted("installPackage", await installs("three"));
    } finally {
      for (const { socket } of dripping) socket.destroy();
    }
  },
);

slowTest("T19 an upload at 32 KiB a second, and one that rests for 8 s, are taken", async () => {
  const close = Buffer.from("\r\n--B--\r\n");
  const whole = Buffer.concat([Buffer.from(open), Buffer.from(validPackage), close]);
  // 24 s at 32 KiB a second.
  const filler = new Uint8Array(24 * 32 * 1024);
  for (let at = 0; at < filler.length; at += 65_536) crypto.getRandomValues(filler.subarray(at, at + 65_536));
  const slowPackage = zipSync(
    { manifest: Buffer.from("title=Slow\nmajor_version=1\nminor_version=0\nbuild_version=1\n"), "a.bin": filler },
    { level: 0 },
  );
  const large = Buffer.concat([Buffer.from(open), slowPackage, close]);
  let at = 0;
  const piece = 32 * 1024;
  const slow = upload("one", large.length, Buffer.alloc(0), 1_000, () => {
    if (at >= large.length) return null;
    at += piece;
    return large.subarray(at - piece, at);
  });
  let given = false;
  const resting = upload("two", whole.length, whole.subarray(0, 300), 8_000, () => {
    if (given) return null;
    given = true;
    return whole.subarray(300);
  });
  for (const { answered } of [slow, resting]) expect((await answered).text).toContain('"ok":true');
});
