/** `zapd fleet` and a broker that says less than it should. With a real broker: `test/slow/fleet-houses.slow.ts`. */
import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ZapdError } from "../../src/api/errors.ts";
import { stateLine, withLease } from "../../src/cli/fleet.ts";
import { requestOf } from "../../src/cli/fleet-words.ts";
import { parseWords } from "../../src/cli/words.ts";
import { listening } from "../support/listening.ts";
import { runZapd } from "./program.ts";

/** Packets of MQTT 5: what a client sends begins with these bytes. */
const sent = { connect: 0x10, subscribe: 0x82 } as const;

/** A broker that accepts clients and subscriptions as far as it is told to, and has nothing to tell. */
function mutedBroker({ accepts }: { readonly accepts: boolean }): net.Server {
  return net.createServer((socket) => {
    socket.on("data", (bytes: Buffer) => {
      if (!accepts) return;
      if (bytes[0] === sent.connect) socket.write(Uint8Array.of(0x20, 3, 0, 0, 0));
      // The identifier is behind the length, which takes one byte; both filters are granted.
      if (bytes[0] === sent.subscribe) socket.write(Uint8Array.of(0x90, 5, bytes[2] ?? 0, bytes[3] ?? 0, 0, 0, 0));
    });
  });
}

test("a set of unknown power is not said to answer", () => {
  const site = { site: "lab", online: true, version: "1", devices: 1, labels: [], commands: "control" };
  const line = (state: Record<string, unknown> | null) =>
    stateLine({ site, id: "1", name: "Left", labels: [], document: {}, state });
  expect(line(null)).toBe("lab/Left · power unknown");
  expect(line({ power: "unknown", volume: { level: 20, muted: false } })).toBe("lab/Left · power unknown · volume 20");
  expect(line({ power: "on" })).toBe("lab/Left is on · home");
});

test("a broker that cannot be reached is told of as other failures are", async () => {
  const env = { PATH: process.env["PATH"], NO_COLOR: "1" };
  const { stderr, status } = await runZapd(["fleet", "ls", "--broker", "mqtt://127.0.0.1:1"], { env });
  expect([status, stderr]).toEqual([4, expect.stringMatching(/^zapd: the broker at mqtt:.*127\.0\.0\.1:1 cannot be/)]);
});

test("what is wrong with an option is told of the option, not of the setting that it overrides", async () => {
  const env = { PATH: process.env["PATH"], NO_COLOR: "1" };
  const ls = async (broker: string, ...more: readonly string[]) =>
    (await runZapd(["fleet", "ls", "--broker", broker, ...more], { env })).stderr;
  expect(await ls("mqtt://127.0.0.1:1")).toContain("set its address: --broker mqtt://HOST:1883");
  const told = await ls("mqtts://127.0.0.1:1", "--ca", import.meta.path);
  expect(told).toStartWith("zapd: the file of --ca contains no certificate");
  // What was not given is named as the setting that it is.
  expect(await ls("mqtts://127.0.0.1:1", "--cert", import.meta.path)).toContain(
    "only one of --cert and mqtt.key is set",
  );
});

test("the login of the config is not sent to the broker of another host", async () => {
  const folder = mkdtempSync(join(tmpdir(), "zapd-fleet-login-"));
  /** What each client sent first; it is hung up on, and tries once more by another version of MQTT. */
  const broker = async (host: string) => {
    const connects: string[] = [];
    const server = net.createServer((socket) =>
      socket.once("data", (bytes: Buffer) => {
        connects.push(bytes.toString("latin1"));
        socket.destroy();
      }),
    );
    return { ...(await listening(server, host)), connects };
  };
  const [own, other] = [await broker("127.0.0.1"), await broker("127.0.0.2")];
  const [password, config] = [join(folder, "password"), join(folder, "config.toml")];
  writeFileSync(password, "open-sesame", { mode: 0o600 });
  const mqtt = `url = "mqtt://127.0.0.1:${own.port}"\nusername = "ivy"\npassword_file = "${password}"`;
  writeFileSync(config, `[mqtt]\n${mqtt}\n`, { mode: 0o600 });
  const env = { PATH: process.env["PATH"] };
  const options = [[], ["--broker", `mqtt://127.0.0.2:${other.port}`]];
  for (const one of options) await runZapd(["fleet", "ls", "--config", config, "--timeout", "10s", ...one], { env });
  for (const [{ connects }, isOwn] of [
    [own, true],
    [other, false],
  ] as const)
    for (const secret of ["ivy", "open-sesame"])
      expect([...new Set(connects.map((one) => one.includes(secret)))]).toEqual([isOwn]);
  for (const one of [own, other]) await one.stop();
  rmSync(folder, { recursive: true });
});

test("a negative number among the words stays in its place", () => {
  const options = { device: { type: "string", short: "d" } } as const;
  const { positionals, values } = parseWords("run notify -15 -d all is -5 today -- -3".split(" "), options, true);
  expect([positionals.join(" "), values["device"]]).toEqual(["run notify -15 is -5 today -3", "all"]);
});

test("the words for one device are a request for many, or it is said what is missing or too much", () => {
  const asked = (line: string) => {
    const { op, args } = requestOf(line.split(" "));
    return [op, ...Object.values(args)];
  };
  for (const [line, words] of Object.entries({
    "key home": ["press_key", "home"],
    "keys up up": ["press_keys", ["up", "up"]],
    "text a b": ["press_key", "literal:a b"],
    on: ["press_key", "power-on"],
    "power off": ["press_key", "power-off"],
    "mute off": ["set_volume", false],
    "launch netflix": ["launch_app", "netflix"],
    "launch x id=1": ["launch_app", "x", { id: "1" }],
    stop: ["stop_app"],
    "volume 20": ["set_volume", 20],
    "volume -5": ["set_volume", -5],
    pause: ["control_playback", "pause"],
    "notify it is": ["notify", "it is"],
  }))
    expect(asked(line)).toEqual(words);
  for (const [line, why] of Object.entries({
    key: "which key?",
    "key ": "which key?",
    "input a b": "one input only: put a name with spaces in quotes",
    keys: "which keys?",
    text: "which text?",
    launch: "which app?",
    "stop now": "it takes no further words",
    "power maybe": '"maybe" is neither on nor off',
    "volume loud": "give a level from 0 to 100, or a step such as +5 or -5",
    notify: "which message?",
    toString: '"toString" is not a command for many devices',
    lanch: "Did you mean launch?",
  }))
    expect(() => asked(line)).toThrow(why);
});

for (const [what, accepts] of [
  ["does not answer", false],
  ["has not told all yet", true],
] as const)
  test(`the time of --timeout is over while the broker ${what}: nothing was sent, and it is said so`, async () => {
    const broker = await listening(mutedBroker({ accepts }));
    const words = ["fleet", "key", "home", "-d", "all", "--timeout", "100ms"];
    const address = `mqtt://127.0.0.1:${broker.port}`;
    const env = { PATH: process.env["PATH"], NO_COLOR: "1" };
    try {
      const { stderr, status } = await runZapd([...words, "--broker", address], { env });
      expect(stderr).toStartWith("zapd: no answer within 100 ms, the time given with --timeout.\n");
      expect(stderr).toContain("Nothing was sent to a device");
      expect(status).toBe(4);
    } finally {
      await broker.stop();
    }
  });

test.each(["while it waits for the lease", "then"])(
  "an installation that is stopped %s frees its lease, with time left for that",
  async (when) => {
    const ops: unknown[][] = [];
    const interrupted = new AbortController();
    const stop = () => interrupted.abort(new ZapdError("device_error", "stopped"));
    const send = async ({ op, lease }: Readonly<Record<string, unknown>>, extraMs = 0) => {
      ops.push([op, lease, extraMs > 0]);
      if (when !== "then") stop();
      return { token: "t" };
    };
    const installing = withLease(send, "set", { timeoutMs: 1_000, stopped: interrupted.signal }, () => {
      if (when === "then") stop();
      else ops.push(["dev_install"]);
      return new Promise(() => {});
    });
    expect(await installing.catch((error: ZapdError) => error.message)).toBe("stopped");
    expect(ops).toEqual([
      ["take_lease", undefined, false],
      ["free_lease", "t", true],
    ]);
  },
);

test("an installation asks for a lease for some seconds at a time, and not again once it is stopped", async () => {
  const waits: unknown[] = [];
  const interrupted = new AbortController();
  const send = async ({ args }: Readonly<Record<string, unknown>>) => {
    waits.push((args as { wait_s: number }).wait_s);
    if (waits.length === 2) interrupted.abort(new ZapdError("device_error", "stopped"));
    throw new ZapdError("device_leased", "leased");
  };
  const limits = { timeoutMs: 240_000, stopped: interrupted.signal };
  await expect(withLease(send, "set", limits, async () => {})).rejects.toThrow("stopped");
  expect(waits).toEqual([2, 2]);
});
