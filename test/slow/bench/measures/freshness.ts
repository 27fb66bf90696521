/** 12: how soon whoever follows is told what a set does, and what that costs the set. */
import { connect, createServer, type Socket } from "node:net";
import { createKodiSimulator } from "../../../../src/simulators/kodi.ts";
import { createRokuSimulator, type RokuSimulator } from "../../../../src/simulators/roku.ts";
import { createWebosSimulator } from "../../../../src/simulators/webos.ts";
import { EventStream, type Frame } from "../../../support/event-stream.ts";
import { lane } from "../../../support/lane.ts";
import { listening } from "../../../support/listening.ts";
import { median, ratios, short, spreadOf } from "../figures.ts";
import type { Row } from "../report.ts";
import type { Daemon, Stage } from "../stage.ts";
import type { Measure } from "./measure.ts";

/** How far away a set that pushes is, one way, in milliseconds: nobody's set is on loopback. */
const distances = [0, 5, 20] as const;
const judgedDistance = 5;
const pushesEach = 40;
const polledSets = 40;
/** How often the table has a Roku asked, in milliseconds: one that plays, and one that does not (devices/watch.ts). */
const table = { playing: 2_000, on: 5_000 } as const;
const readers = 20;
const costMs = 12_000;

async function run(stage: Stage): Promise<Row[]> {
  return [...(await pushed(stage)), ...(await polled(stage))];
}

/** A way to a set that takes so long, in each direction. */
async function afar(stage: Stage, host: string, port: number, ms: number): Promise<number> {
  const server = createServer((near) => {
    const far = connect({ host, port, noDelay: true });
    near.setNoDelay(true);
    const pass = (from: Socket, to: Socket) => {
      from.on("data", (bytes) => setTimeout(() => to.destroyed || to.write(bytes), ms));
      from.on("error", () => {});
      from.on("close", () => to.destroy());
    };
    pass(near, far);
    pass(far, near);
  });
  const { port: at, stop } = await listening(server, host);
  stage.atEnd(stop);
  return at;
}

/** A set that pushes its volume, and what tells a client of its own. */
interface Pusher {
  readonly platform: string;
  /** What the daemon is told of where it is. */
  readonly place: object;
  set(level: number): void;
  /** Waits until it has told its own client, given when it was changed. */
  own(level: number): Promise<number>;
}

let made = 0;
const hostOf = () => `127.${20 + lane}.${100 + (made >> 8)}.${made++ & 255 || 201}`;

/** What a client of the set's own is told, in the order of its words, each with its time. */
function listener(stage: Stage, socket: WebSocket, levelIn: (text: string) => number | null) {
  const told: { level: number; at: number }[] = [];
  socket.addEventListener("message", ({ data }) => {
    const level = levelIn(String(data));
    if (level !== null) told.push({ level, at: performance.now() });
  });
  stage.atEnd(() => socket.close());
  return async (level: number): Promise<number> => {
    const end = performance.now() + 5_000;
    for (;;) {
      const found = told.findLast((one) => one.level === level);
      if (found) return found.at;
      if (performance.now() > end) throw new Error(`the set did not tell its own client of ${level}`);
      await Bun.sleep(1);
    }
  };
}

async function kodi(stage: Stage, distance: number): Promise<Pusher> {
  const set = createKodiSimulator({ name: `Far ${made}`, host: hostOf(), port: 0, tcpPort: 0, mdns: false });
  await set.start();
  stage.atEnd(() => set.stop());
  const websocket = await afar(stage, set.host, set.ports.tcp ?? 0, distance);
  const socket = new WebSocket(`ws://${set.host}:${websocket}/jsonrpc`);
  await new Promise((resolve) => socket.addEventListener("open", resolve));
  const own = listener(stage, socket, (text) => {
    const { method, params } = JSON.parse(text) as { method?: string; params?: { data: { volume: number } } };
    return method === "Application.OnVolumeChanged" ? (params?.data.volume ?? null) : null;
  });
  const place = { host: set.host, port: set.port, platform: "kodi", ports: { websocket } };
  return { platform: "Kodi", place, set: (level) => set.setVolume(level), own };
}

async function webos(stage: Stage, distance: number): Promise<Pusher> {
  const set = createWebosSimulator({
    name: `Far ${made}`,
    host: hostOf(),
    securePort: 0,
    plainPort: 0,
    ssdp: false,
    prompt: "none",
    promptMs: 0,
  });
  await set.start();
  stage.atEnd(() => set.stop());
  const port = await afar(stage, set.host, set.ports.secure ?? 0, distance);
  const socket = new WebSocket(`wss://${set.host}:${port}`, { tls: { rejectUnauthorized: false } } as never);
  await new Promise((resolve) => socket.addEventListener("open", resolve));
  const send = (message: object) => socket.send(JSON.stringify(message));
  const own = listener(stage, socket, (text) => {
    const { id, payload } = JSON.parse(text) as {
      id?: string;
      payload?: { volumeStatus?: { volume: number }; volume?: number };
    };
    return id === "own" ? (payload?.volumeStatus?.volume ?? payload?.volume ?? null) : null;
  });
  const manifest = { manifestVersion: 1, permissions: ["CONTROL_AUDIO"] };
  const registered = new Promise<void>((resolve) =>
    socket.addEventListener("message", ({ data }) => String(data).includes('"registered"') && resolve()),
  );
  send({ type: "register", id: "r", payload: { pairingType: "PROMPT", manifest } });
  await registered;
  send({ type: "subscribe", id: "own", uri: "ssap://audio/getVolume" });
  const place = { host: set.host, port, platform: "webos" };
  return { platform: "LG", place, set: (level) => set.setVolume(level), own };
}

/** The time at which a stream had an event, waited for. */
async function toldAt(stream: EventStream, is: (frame: Frame) => boolean): Promise<number> {
  const frame = await stream.until(is);
  return stream.times[stream.frames.indexOf(frame)] ?? Number.NaN;
}

async function pushed(stage: Stage): Promise<Row[]> {
  const daemon = await stage.daemon();
  const kinds = [kodi, webos] as const;
  const sets = await Promise.all(
    kinds.flatMap((make) =>
      distances.map(async (distance) => {
        const pusher = await make(stage, distance);
        const { id } = (await daemon.api("POST", "/devices", pusher.place)) as { id: string };
        if (pusher.platform === "LG") await daemon.api("POST", `/devices/${id}/pair`);
        return { ...pusher, id, distance };
      }),
    ),
  );
  const stream = new EventStream({ to: daemon.port });
  stage.atEnd(() => stream.close());
  let level = 1;
  for (const one of sets) {
    await stream.until(({ device_id, state }) => device_id === one.id && state?.power === "on");
    // Pushed and not asked for: it is connected.
    for (let isPushed = false; !isPushed; ) {
      level = 1 + (level % 90);
      one.set(level);
      const frame = await stream.until(
        ({ device_id, state }) => device_id === one.id && state?.volume?.level === level,
      );
      isPushed = frame["cause"] === "push";
      await Bun.sleep(300);
    }
  }
  const rounds = await stage.rounds(async () => {
    const took: { ours: number; own: number }[] = [];
    for (const one of sets) {
      const each: { ours: number; own: number }[] = [];
      for (let at = 0; at < pushesEach; at++) {
        level = 1 + (level % 90);
        const wanted = level;
        const from = stream.frames.length;
        const since = performance.now();
        one.set(wanted);
        const ours = await toldAt(
          stream,
          (frame) =>
            stream.frames.indexOf(frame) >= from &&
            frame["device_id"] === one.id &&
            frame["state"]?.volume?.level === wanted,
        );
        each.push({ ours: ours - since, own: (await one.own(wanted)) - since });
        // Slower than ten a second, beyond which changes wait.
        await Bun.sleep(110);
      }
      took.push({ ours: median(each.map(({ ours }) => ours)), own: median(each.map(({ own }) => own)) });
    }
    return took;
  });
  return ["Kodi", "LG"].map((platform) => {
    const of = (distance: number, side: "ours" | "own") => {
      const at = sets.findIndex((one) => one.platform === platform && one.distance === distance);
      return rounds.map((round) => round[at]?.[side] ?? Number.NaN);
    };
    const judged = (side: "ours" | "own") => of(judgedDistance, side);
    return {
      measure: 12,
      what: `what ${platform} pushes, reported to a follower`,
      limit: 1,
      how: `${short(median(judged("ours")))} ms ÷ its own push ${short(median(judged("own")))} ms`,
      figure: ratios(judged("ours"), judged("own")),
      must: { at: "most", value: 1.5 },
      growth: distances.map((distance) => ({
        size: `${distance} ms away`,
        figure: ratios(of(distance, "ours"), of(distance, "own")).median,
      })),
      peers: [],
      note: "from the change on the set until its line is read; its own push goes to a bare WebSocket over the same path, with a delay of 5 ms for the judged figure. On loopback alone the second hop takes as long as the first",
    } satisfies Row;
  });
}

/** How often the sets were asked within a time, all of them. */
async function askedWithin(sets: readonly RokuSimulator[], ms: number): Promise<number> {
  let count = 0;
  let lengths = sets.map(({ requests }) => requests.length);
  // A set keeps its last thousand requests.
  for (const end = performance.now() + ms; performance.now() < end; await Bun.sleep(50)) {
    const now = sets.map(({ requests }) => requests.length);
    count += now.reduce((sum, length, at) => sum + Math.max(0, length - (lengths[at] ?? 0)), 0);
    lengths = now;
  }
  return count;
}

async function rokus(stage: Stage, daemon: Daemon, count: number): Promise<{ set: RokuSimulator; id: string }[]> {
  return Promise.all(
    Array.from({ length: count }, async () => {
      const set = createRokuSimulator({ name: `Polled ${made}`, host: hostOf(), kind: "tv", ssdp: false, launchMs: 0 });
      await set.start();
      stage.atEnd(() => set.stop());
      const { id } = (await daemon.api("POST", "/devices", { host: set.host, port: set.port })) as { id: string };
      return { set, id };
    }),
  );
}

async function polled(stage: Stage): Promise<Row[]> {
  const daemon = await stage.daemon();
  const sets = await rokus(stage, daemon, polledSets);
  for (const [at, { set }] of sets.entries()) if (at % 2 === 0) set.play({ durationMs: 3_600_000 });
  const follow = async () => {
    const stream = new EventStream({ to: daemon.port });
    stage.atEnd(() => stream.close());
    await stream.until(({ type }) => type === "snapshot");
    return stream;
  };
  const stream = await follow();
  const seen = new Set<string>();
  await stream.until(({ device_id, state }) => {
    if (state?.power === "on") seen.add(device_id);
    return seen.size === polledSets;
  });
  let changes = 0;
  /** How long one change takes until it is told, begun so long after the set was last looked at. */
  const one = async ({ set, id }: { set: RokuSimulator; id: string }, plays: boolean, afterMs: number) => {
    for (const before = set.requests.length; set.requests.length === before; ) await Bun.sleep(2);
    await Bun.sleep(afterMs);
    const from = stream.frames.length;
    const since = performance.now();
    if (plays) set.play({ durationMs: 3_600_000 + ++changes * 1_000 });
    else
      await fetch(`http://${set.host}:${set.port}/launch/${set.state.activeApp === "12" ? "837" : "12"}`, {
        method: "POST",
      });
    const at = await toldAt(
      stream,
      (frame) => stream.frames.indexOf(frame) >= from && frame.type === "state.changed" && frame["device_id"] === id,
    );
    return at - since;
  };
  const halves = { playing: sets.filter((_, at) => at % 2 === 0), on: sets.filter((_, at) => at % 2 === 1) } as const;
  const kinds = ["playing", "on"] as const;
  const rounds = await stage.rounds(async () => {
    const [first] = halves.on;
    const since = performance.now();
    await daemon.api("GET", `/devices/${first?.id}/state`);
    const read = performance.now() - since;
    const mean = async (kind: (typeof kinds)[number]) => {
      const all = halves[kind];
      // Evenly over the time from one look to the next.
      const took = await Promise.all(
        all.map((each, at) => one(each, kind === "playing", ((at + 0.5) / all.length) * table[kind])),
      );
      return took.reduce((sum, ms) => sum + ms, 0) / took.length;
    };
    const [playing, on] = await Promise.all(kinds.map(mean));
    return { playing: playing ?? Number.NaN, on: on ?? Number.NaN, read };
  });
  const looked = halves.playing.map(({ set }) => set);
  const costs = await stage.rounds(async () => {
    const alone = await askedWithin(looked, costMs);
    const others = await Promise.all(Array.from({ length: readers - 1 }, follow));
    await Bun.sleep(3_000);
    const many = await askedWithin(looked, costMs);
    for (const other of others) other.close();
    return { alone, many };
  });
  stream.close();
  await Bun.sleep(3_000);
  const nobody = await askedWithin(
    sets.map(({ set }) => set),
    10_000,
  );
  const expected = (kind: (typeof kinds)[number]) => rounds.map(({ read }) => table[kind] / 2 + read);
  const of = (kind: (typeof kinds)[number]) => rounds.map((round) => round[kind]);
  return [
    {
      measure: 12,
      what: "what a Roku does, reported to a follower",
      limit: 1,
      how: `${short(median(of("on")))} ms ÷ (half of 5 s + a read of ${short(median(rounds.map(({ read }) => read)))} ms)`,
      figure: ratios(of("on"), expected("on")),
      must: { at: "most", value: 1.1 },
      growth: kinds.map((kind) => ({ size: kind, figure: ratios(of(kind), expected(kind)).median })),
      peers: [{ name: "Home Assistant", figure: 2, note: "according to its source: it asks every 10 s" }],
      note: "the mean of 20 sets, whose changes are spread evenly over the polling interval; a Roku does not push",
    },
    {
      measure: 12,
      what: `what ${readers} readers cost a set`,
      limit: 1,
      how: `${short(median(costs.map(({ many }) => many)))} requests in 12 s ÷ ${short(median(costs.map(({ alone }) => alone)))} for one reader`,
      figure: ratios(
        costs.map(({ many }) => many),
        costs.map(({ alone }) => alone),
      ),
      must: { at: "most", value: 1.1 },
      growth: [],
      peers: [],
    },
    {
      measure: 12,
      what: "what a set is asked without followers",
      limit: 0,
      how: "requests at 40 sets in 10 s after the last reader has left",
      figure: spreadOf([nobody]),
      must: { at: "most", value: 0 },
      growth: [],
      peers: [],
    },
  ];
}

export const freshness: Measure = { number: 12, title: "freshness", run };
