/** The same requests to the simulator and to a real Kodi must get the same answers. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { basename } from "node:path";
import { Bonjour } from "bonjour-service";
import WebSocket from "ws";
import { createKodiSimulator, type KodiSimulator } from "../../src/simulators/kodi.ts";
import { until } from "../support/http-device.ts";
import { type RealKodi, startRealKodi, whyNoKodi, whyNoTuner } from "../support/real-kodi.ts";
import { ask, call, type Listening, listen, post, windowOf } from "./kodi/client.ts";
import { exchanges } from "./kodi/exchanges.ts";
import type { Place, Step } from "./kodi/steps.ts";

const missing = whyNoKodi();
if (missing !== null) process.stderr.write(`skipped: the simulator against a real Kodi: ${missing}\n`);
const noTuner = whyNoTuner();
const tuner = noTuner === null;
if (missing === null && noTuner !== null) process.stderr.write(`skipped: channels of a real Kodi: ${noTuner}\n`);

interface Side {
  readonly host: string;
  readonly port: number;
  readonly listening: Listening;
  readonly place: Place;
  /** How many notifications have been compared. */
  told: number;
  open(kind: string): Promise<void>;
}

let real: RealKodi;
let simulator: KodiSimulator;
let sides: readonly [Side, Side];

beforeAll(async () => {
  if (missing !== null) return;
  real = await startRealKodi({ name: "Twin", pvr: tuner });
  const { plugin, script, clips, host } = real;
  const names = [
    { number: 1, name: "Zapd One" },
    { number: 2, name: "Zapd Two" },
  ];
  const answered = tuner ? await call(real, "PVR.GetChannels", { channelgroupid: "alltv" }) : { channels: [] };
  const ids = (answered as { channels: { channelid: number }[] }).channels.map(({ channelid }) => channelid);
  simulator = createKodiSimulator({
    name: "Twin",
    mdns: false,
    power: { shutdown: false, suspend: false, hibernate: false, reboot: false },
    addons: [
      { id: plugin, name: "Zapd Test Videos", version: "1.2.3", content: "video" },
      { id: script, name: "Zapd Test Script", version: "1.2.3", content: "executable" },
    ],
    favourites: [
      { title: "The Clip", type: "media", path: clips.video },
      { title: "Test Videos", type: "window", window: "videos", windowparameter: `plugin://${plugin}/` },
      { title: "Test Script", type: "script", path: script },
    ],
    media: [
      { file: clips.video, title: basename(clips.video) },
      { file: clips.audio, title: "Zapd audio clip", kind: "audio" },
    ],
    channels: ids.map((id, at) => ({ id, ...(names[at] ?? { number: at + 1, name: "?" }) })),
  });
  await simulator.start();
  const place = { video: clips.video, audio: clips.audio, plugin, script, channel: ids[0] ?? null };
  sides = [
    {
      host: simulator.host,
      port: simulator.port,
      place,
      told: 0,
      listening: await listen(simulator.host, simulator.ports.tcp ?? 0),
      open: async (kind) => simulator.openDialog(kind as "ok", { title: "Zapd" }),
    },
    {
      host,
      port: real.port,
      place,
      told: 0,
      listening: await listen(host, real.tcpPort),
      async open(kind) {
        const before = await windowOf(real);
        await call(real, "Addons.ExecuteAddon", { addonid: script, params: [kind] });
        // Another one is in front for as long as Kodi is busy.
        await until(`a dialog ${kind} is open`, async () => ![before, 10_138].includes(await windowOf(real)));
      },
    },
  ];
}, 240_000);

afterAll(async () => {
  for (const side of sides ?? []) side.listening.socket.destroy();
  await simulator?.stop();
  await real?.stop();
}, 30_000);

describe.skipIf(missing !== null)(
  `the simulator and a real Kodi${missing === null ? "" : ` (skipped: ${missing})`}`,
  () => {
    for (const [name, steps] of Object.entries(exchanges)) {
      // A Kodi without a tuner has no channels to be compared.
      const why = name === "channels" ? noTuner : null;
      test.skipIf(why !== null)(
        why === null ? name : `${name} (skipped: ${why})`,
        async () => {
          for (const side of sides) side.told = side.listening.messages().length;
          const differences: unknown[] = [];
          const plans = sides.map((side) => steps(side.place));
          for (const at of (plans[0] ?? []).keys()) {
            const [ours, theirs] = await Promise.all(
              sides.map((side, which) => take(side, plans[which]?.[at] ?? { told: [] })),
            );
            if (!Bun.deepEquals(ours, theirs)) differences.push({ step: plans[0]?.[at], ours, theirs });
          }
          expect(differences).toEqual([]);
        },
        120_000,
      );
    }
  },
);

describe.skipIf(missing !== null)(
  `what both say of themselves${missing === null ? "" : ` (skipped: ${missing})`}`,
  () => {
    test("on the network", async () => {
      const announced = createKodiSimulator({ name: "Twin in the air" });
      await announced.start();
      const seen = await Promise.all([browse("127.0.0.1", "Twin in the air"), browse(real.ourAddress, "Twin")]);
      await announced.stop();
      const [ours, theirs] = seen.map((services) =>
        services.map(({ txt, ...rest }) => ({ ...rest, txt: Object.keys(txt) })),
      );
      expect(ours).toEqual([
        { type: "xbmc-jsonrpc", name: "Twin in the air", port: announced.ports.tcp ?? 0, txt: ["txtvers", "uuid"] },
        { type: "xbmc-jsonrpc-h", name: "Twin in the air", port: announced.port, txt: ["txtvers", "uuid"] },
      ]);
      expect(theirs).toMatchObject([
        { type: "xbmc-jsonrpc", name: "Twin", port: real.tcpPort },
        { type: "xbmc-jsonrpc-h", name: "Twin", port: real.port },
      ]);
      expect(theirs?.map(({ txt }) => txt.sort())).toEqual([
        ["txtvers", "uuid"],
        ["txtvers", "uuid"],
      ]);
    }, 120_000);

    test("at their end", async () => {
      const over = real.ended();
      const ends = await Promise.all(
        sides.map(async ({ host }, at) => {
          const port = at === 0 ? simulator.ports.tcp : real.tcpPort;
          const socket = new WebSocket(`ws://${host}:${port}/jsonrpc`);
          const heard: string[] = [];
          socket.on("message", (text) => heard.push(String(text)));
          socket.on("error", (error) => heard.push(String((error as { code?: string }).code)));
          socket.on("close", (code) => heard.push(String(code)));
          await new Promise((resolve) => socket.once("open", resolve));
          socket.send(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "Application.Quit" }));
          await until("it is closed", () => heard.at(-1) === "1006");
          return heard.sort();
        }),
      );
      const [ours = [], theirs = []] = ends;
      // Seldom the real one is gone before its broken frame is sent.
      const brokenFrame = "WS_ERR_INVALID_UTF8";
      expect(ours).toEqual([...new Set([...theirs, brokenFrame])].sort());
      await Promise.all([simulator.wake(), over.then(real.start)]);
      for (const side of sides) expect(await call(side, "JSONRPC.Ping")).toBe("pong");
    }, 120_000);
  },
);

interface Seen {
  readonly type: string;
  readonly name: string;
  readonly port: number;
  readonly txt: Record<string, string>;
}

/** Both services of one Kodi, as bonjour-service finds them; what is announced on other wires is heard too. */
async function browse(address: string, wanted: string): Promise<Seen[]> {
  // What bonjour-service hands on to multicast-dns, without declaring it.
  const options = { interface: address, bind: "0.0.0.0" } as ConstructorParameters<typeof Bonjour>[0];
  const bonjour = new Bonjour(options);
  const browsers = ["xbmc-jsonrpc", "xbmc-jsonrpc-h"].map((type) => bonjour.find({ type }));
  const found = () =>
    browsers.flatMap(({ services }) =>
      services
        .filter(({ name }) => name === wanted)
        .map(({ type, name, port, txt }) => ({ type, name, port, txt: { ...txt } })),
    );
  try {
    await until(
      "both are found",
      () => {
        for (const browser of browsers) browser.update();
        return found().length === 2;
      },
      60_000,
    );
    return found();
  } finally {
    bonjour.destroy();
  }
}

async function take(side: Side, step: Step): Promise<unknown> {
  if ("told" in step) return toldSince(side, step.told);
  if ("dialog" in step) return await side.open(step.dialog);
  if ("body" in step) {
    return await post(side, step.body).then(
      async (response) => `${response.status} ${await response.text()}`,
      () => "no answer",
    );
  }
  if ("until" in step) {
    const says = async () => {
      if (step.press !== undefined) await call(side, ...step.press);
      return step.says.test(JSON.stringify(await call(side, step.until, step.params)));
    };
    return await until(`${step.until} says ${step.says}`, says);
  }
  const answer = await ask(side, step.ask, step.params);
  return step.exact ? answer : shape(answer);
}

/** Waits for each kind, and then gives what came: kinds with the shape of their content, and the order does not count. */
async function toldSince(side: Side, kinds: readonly string[]): Promise<string[]> {
  const since = () => side.listening.messages().slice(side.told);
  const has = (kind: string) => since().some(({ method }) => method === kind);
  await until(`all of ${kinds} were told, not ${JSON.stringify(since())}`, () => kinds.every(has));
  // What comes late, such as the last OnAVChange of a start.
  await Bun.sleep(300);
  const found = since();
  side.told += found.length;
  // The library keeps what has been seen; nothing of it is simulated.
  const ours = found.filter(({ method }) => !String(method).startsWith("VideoLibrary."));
  const said = ours.map(({ method, params }) => `${method} ${JSON.stringify(shape(params))}`);
  return [...new Set(said)].sort();
}

/** Keys and types. */
function shape(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map(shape);
  if (typeof value !== "object" || value === null) return value === null ? "null" : typeof value;
  const entries = Object.entries(value).map(([key, item]) => [key, shape(item)] as const);
  return Object.fromEntries(entries.sort(([one], [other]) => (one < other ? -1 : 1)));
}
