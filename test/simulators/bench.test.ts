/** What all sets share: ports with faults, discovery, sleep. */
import { expect, spyOn, test } from "bun:test";
import { spawn } from "node:child_process";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import http from "node:http";
import { createServer } from "node:net";
import { join } from "node:path";
import { startSet } from "../../src/simulators/demo-sets.ts";
import { denoFlags } from "../support/daemon.ts";
import { until } from "../support/http-device.ts";
import { listen, plugInRoku } from "../support/sets.ts";
import { root } from "../support/sources.ts";
import { magicPacket, search, sendDatagram } from "./datagrams.ts";

const asked = Buffer.from("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");

test("a port refuses, hangs or is slow until the fault ends, and stays the same port", async () => {
  const set = await plugInRoku();
  const { host, port } = set;
  const answered = async () => {
    const line = listen(host, port);
    line.socket.write(asked);
    await until("it is over", line.closed);
    return line.text();
  };
  await set.fault("refuse");
  expect(await answered()).toBe("");
  await set.fault("hang");
  const hanging = listen(host, port);
  hanging.socket.write(asked);
  await Bun.sleep(50);
  expect([hanging.text(), hanging.closed()]).toEqual(["", false]);
  await set.fault("slow");
  await until("what hung is cut", hanging.closed);
  const begun = performance.now();
  expect(await answered()).toStartWith("HTTP/1.1 200 OK");
  expect(performance.now() - begun).toBeGreaterThan(1_900);
  await set.fault(null);
  expect(await answered()).toStartWith("HTTP/1.1 200 OK");
  expect(set.port).toBe(port);
});

test("a set is found at its own address, not found while it is unplugged, and comes back at its old ports", async () => {
  const sets = await Promise.all(["127.0.0.2", "127.0.0.3"].map((host) => plugInRoku({ ssdp: true, host })));
  const of = (serial: string, found: Awaited<ReturnType<typeof search>>) =>
    found.filter(({ text }) => text.includes(serial)).map(({ from }) => from);
  const found = await search("roku:ecp", (found) => sets.every(({ serial }) => of(serial, found).length > 0));
  for (const { host, serial } of sets) expect(of(serial, found)).toEqual([host]);
  const [one] = sets;
  const before = [one?.port, one?.ports];
  await one?.stop();
  expect(of(one?.serial ?? "", await search("roku:ecp", () => false, 200))).toEqual([]);
  await one?.start();
  expect([one?.port, one?.ports]).toEqual(before);
});

test("asleep a set is silent until the right magic packet", async () => {
  const set = await plugInRoku({ ssdp: true });
  await set.sleep("deep");
  const knock = listen(set.host, set.port);
  await until("the door stays shut", knock.closed);
  await sendDatagram(magicPacket("02:00:00:00:00:01"), set.ports.wake, set.host);
  await Bun.sleep(50);
  expect(set.state).toMatchObject({ power: "deep", discoverable: false });
  await sendDatagram(magicPacket(set.mac), set.ports.wake, set.host);
  await until("it is found again", () => set.state.discoverable);
  expect(set.state.power).toBe("on");
});

test("a set waits for a port that another program took while it slept", async () => {
  const set = await plugInRoku();
  const { host, port } = set;
  await set.sleep("deep");
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(port, host, resolve));
  await sendDatagram(magicPacket(set.mac), set.ports.wake, host);
  await Bun.sleep(100);
  await new Promise((resolve) => other.close(resolve));
  await until("it is back", async () => {
    const line = listen(host, port);
    line.socket.write(asked);
    await until("it is over", line.closed);
    return line.text().startsWith("HTTP/1.1 200 OK");
  });
  expect(set.port).toBe(port);
});

test.skipIf(process.platform !== "linux")("under Deno, no socket stays of a client that is turned away", async () => {
  const words = ["run", ...denoFlags("start"), join(root, "test/simulators/turned-away.ts")];
  const sets = spawn(join(root, "node_modules/.bin/deno"), words, { stdio: ["ignore", "pipe", "inherit"] });
  const open = () => {
    // Deno opens sockets of the Unix domain for itself, up to half a second after its start.
    const unix = readFileSync(`/proc/${sets.pid}/net/unix`, "utf8");
    return readdirSync(`/proc/${sets.pid}/fd`).filter((fd) => {
      try {
        const [, inode] = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${sets.pid}/fd/${fd}`)) ?? [];
        return inode !== undefined && !new RegExp(`\\b${inode}\\b`).test(unix);
      } catch {
        return false;
      }
    }).length;
  };
  try {
    const ports = await new Promise<{ console: number; remote: number }>((resolve) =>
      sets.stdout?.once("data", (text) => resolve(JSON.parse(String(text)))),
    );
    const idle = open();
    listen("127.0.0.1", ports.console);
    await until("the console is taken", () => open() > idle);
    const before = open();
    for (const secure of [undefined, {}]) {
      const { socket, closed } = listen("127.0.0.1", secure ? ports.remote : ports.console, secure);
      socket.write("what it has to say anyway");
      await until("it is turned away", closed);
    }
    await until("nothing of them is left", () => open() === before);
  } finally {
    sets.kill("SIGKILL");
  }
});

test("a set of the demo requests media from an address of this machine, and looks up no name that begins like one", async () => {
  using get = spyOn(http, "get");
  const urls = ["http://127.0.0.1.zapd.invalid:9/film.mp4", "http://127.0.0.1:9/film.mp4", "http://192.0.2.1/film.mp4"];
  const simulator = { start: async () => {}, stop: async () => {} };
  await startSet(
    {
      name: "Terrace",
      model: "DLNA speaker",
      access: "full access",
      async make({ onEvent }) {
        for (const url of urls) onEvent({ text: "plays", url });
        return { simulator, parts: [] };
      },
    },
    "127.0.0.2",
    () => {},
  );
  expect(get.mock.calls.map(([url]) => url)).toEqual(["http://127.0.0.1:9/film.mp4"]);
});
