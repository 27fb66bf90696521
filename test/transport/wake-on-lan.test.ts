import { expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import dgram from "node:dgram";
import { magicPacket, readMac, sendMagicPackets } from "../../src/transport/wake-on-lan.ts";
import { until } from "../support/http-device.ts";
import { root } from "../support/sources.ts";

test("a magic packet is six bytes of 0xff and the address sixteen times", () => {
  expect(Buffer.from(magicPacket("02:0a:FF:00:10:25")).toString("hex")).toBe(
    "ff".repeat(6) + "020aff001025".repeat(16),
  );
});

test("an address is read however it is written; one that many devices share is none", () => {
  for (const written of ["02:0a:FF:00:10:25", "02-0A-ff-00-10-25"]) expect(readMac(written)).toBe("02:0a:ff:00:10:25");
  for (const none of ["00:00:00:00:00:00", "02:0a:ff:00:10", "Busy", null]) expect(readMac(none)).toBeNull();
});

test("one packet goes to each destination for each address, and a destination that cannot be does not stop the others", async () => {
  const heard: string[] = [];
  const socket = dgram.createSocket("udp4");
  socket.on("message", (bytes) => heard.push(bytes.subarray(6, 12).toString("hex")));
  await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", () => resolve()));
  try {
    const destinations = ["::1", "127.0.0.1", "ff02::1"];
    await sendMagicPackets(["02:00:00:00:00:01", "02:00:00:00:00:02"], destinations, socket.address().port);
    await until("both have come", () => heard.length === 2);
    expect(heard.sort()).toEqual(["020000000001", "020000000002"]);
  } finally {
    socket.close();
  }
});

test("without addresses nothing is sent, and nothing is left open", async () => {
  await sendMagicPackets([], ["127.0.0.1"], 9);
  await sendMagicPackets(["02:00:00:00:00:01"], [], 9);
});

test("where no file descriptor is left, it ends all the same", () => {
  const script = `
    import { openSync } from "node:fs";
    import { sendMagicPackets } from "./src/transport/wake-on-lan.ts";
    try { for (;;) openSync("/dev/null"); } catch {}
    const late = new Promise((resolve) => setTimeout(resolve, 5_000, "never"));
    console.log(await Promise.race([sendMagicPackets(["02:00:00:00:00:01"], ["127.0.0.1"], 9).then(() => "ended"), late]));
    process.exit();`;
  const words = ["-c", 'ulimit -n 256 && exec "$@"', "sh", process.execPath, "-e", script];
  expect(execFileSync("sh", words, { cwd: root, encoding: "utf8" })).toBe("ended\n");
});
