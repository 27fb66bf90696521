/**
 * Android TVs that send too much, or are another set (SECURITY.md T9, T10, T27): frames without end, impossible lengths, thousands of
 * pings, another certificate later. Each connection ends with a reason or goes on in bounded memory, another set is driven meanwhile,
 * and only the paired set is shown our certificate.
 */
import { expect, test } from "bun:test";
import { createServer, type TLSSocket } from "node:tls";
import { androidtv } from "../../src/platforms/androidtv/adapter.ts";
import { type Certificate, createCertificateFor } from "../../src/simulators/bench/certificate.ts";
import { line, ours, own } from "../platforms/androidtv/harness.ts";
import { failure, lineTo, never, press, tidy } from "../platforms/harness.ts";
import { until } from "../support/http-device.ts";
import { listening } from "../support/listening.ts";
import { pour, repeated } from "../support/pour.ts";

tidy();

const commonName = "atvremote/a/b/Rogue/AA:BB:CC:DD:EE:99";
/** Its offer, its greeting, that it is on, its volume, and the app on its screen. */
const offer = Buffer.from([5, 0x0a, 3, 0x08, 0xff, 0x04]);
const greeting = Buffer.from([2, 0x12, 0]);
const isOn = Buffer.from([5, 0xc2, 0x02, 2, 0x08, 1]);
const volume = Buffer.from([7, 0x92, 0x03, 4, 0x30, 1, 0x38, 1]);
const app = Buffer.from([8, 0xa2, 0x01, 5, 0x0a, 3, 0x62, 1, 0x78]);

/**
 * A connection to a set that greets as a real one, and then does what the test says; with the certificates that it was shown, as
 * DER in base64. `change` gives it another certificate.
 */
async function rogue(says: (socket: TLSSocket, heard: () => number) => void) {
  const certificate = createCertificateFor(commonName, "rsa");
  const seen: string[] = [];
  const server = createServer({ ...certificate, requestCert: true, rejectUnauthorized: false }, (socket) => {
    const { raw } = socket.getPeerCertificate() as { raw?: Uint8Array };
    const shown = raw ? Buffer.from(raw).toString("base64") : "none";
    seen.push(shown);
    let heard = 0;
    socket.on("data", (bytes: Buffer) => {
      heard += bytes.length;
    });
    if (shown !== own.cert) return;
    socket.write(Buffer.concat([offer, greeting, isOn, volume, app]));
    says(socket, () => heard);
  });
  server.on("tlsClientError", () => {});
  const set = await listening(server);
  const lead = { host: "127.0.0.1", port: set.port, said: { name: "Rogue" } };
  const given = (shown: string) => ({ ...own, certificate: shown });
  const driven = await lineTo(androidtv, set, { lead, given, timeout: 10_000 });
  return {
    ...driven,
    seen,
    change(other: Certificate) {
      server.setSecureContext(other);
      set.hangUp();
    },
  };
}

const megabytes = () => {
  Bun.gc(true);
  return process.memoryUsage().rss / 1024 / 1024;
};

test("T10 endless frames and impossible lengths close the connection; another set is driven meanwhile", async () => {
  const before = megabytes();
  const bytes: readonly (readonly number[])[] = [
    // A length of 2 GiB, one without an end, and a field that is longer than its message.
    [0xff, 0xff, 0xff, 0xff, 0x07],
    [0x80, 0x80, 0x80, 0x80, 0x80, 0x80],
    [4, 0x0a, 0xff, 0xff, 0x7f],
    [3, 0x0b, 0x0b, 0x0b],
  ];
  for (const wrong of bytes) {
    let says: TLSSocket | undefined;
    const one = await rogue((socket) => {
      says = socket;
    });
    await one.connection.state?.read(never);
    says?.write(Buffer.from(wrong));
    await until("it is hung up on", () => one.told.ended.length === 1 && one.set.open === 0);
  }
  // The longest allowed frame, again and again: 64 KiB of an unknown field.
  const long = Buffer.concat([Buffer.from([0xf6, 0xff, 0x03, 0xfa, 0x01, 0xf1, 0xff, 0x03]), Buffer.alloc(65_521)]);
  let poured = 0;
  const flood = await rogue((socket) => {
    const write = socket.write.bind(socket) as (bytes: Uint8Array) => boolean;
    socket.write = (bytes: Uint8Array) => {
      poured++;
      return write(bytes);
    };
    pour(long)(socket);
  });
  await flood.connection.state?.read(never);
  const good = await line();
  const [began, pouredBefore] = [performance.now(), poured];
  let pressed = 0;
  await until("twenty keys were pressed, and the flood has gone on meanwhile", async () => {
    await press(good, pressed++ % 2 === 0 ? "up" : "down");
    return pressed >= 20 && poured > pouredBefore;
  });
  await until("all have come", () => good.set.keys.length === pressed);
  // Of the flood two frames are read in a tenth of a second, and the sockets hold some.
  const slices = (performance.now() - began) / 100;
  expect(poured - pouredBefore).toBeLessThan(100 + 4 * slices);
  expect(flood.set.open).toBe(1);
  expect(megabytes() - before).toBeLessThan(120);
  flood.connection.close();
});

test("T10 a set that pings endlessly and reads no answer is disconnected", async () => {
  const ping = Buffer.from([4, 0x42, 2, 0x08, 1]);
  const one = await rogue((socket) => {
    socket.pause();
    pour(repeated(2_000, ping))(socket);
  });
  await one.connection.state?.read(never);
  const good = await line();
  await press(good, "home");
  await until("the other set has its key", () => good.set.keys.length === 1);
  one.connection.close();
  await until("nothing is left open", () => one.set.open === 0);
});

test("T27 a set whose certificate changes is not shown our certificate, and nothing that it says is believed", async () => {
  const one = await rogue(() => {});
  await one.connection.state?.read(never);
  expect(one.seen.at(-1)).toBe(ours.toString("base64"));
  const strangers = one.seen.length;
  for (const [name, code] of [
    [commonName, "device_unproven"],
    [commonName.replace("99", "98"), "device_unreachable"],
  ] as const) {
    one.change(createCertificateFor(name, "rsa"));
    await until("it has hung up", () => one.set.open === 0);
    one.told.states.length = 0;
    for (const ask of [
      () => one.connection.keys?.press("home", never),
      () => one.connection.text?.type("password", never),
      () => one.connection.state?.read(never),
      () => one.connection.power?.on?.(never),
    ])
      expect((await failure(ask() ?? Promise.resolve())).code).toBe(code);
    expect(one.told.states).toEqual([]);
  }
  expect(one.seen.slice(strangers)).not.toContain(ours.toString("base64"));
});
