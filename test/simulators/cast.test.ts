/** npm castv2-client, a third-party client, works with the simulator. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { EventEmitter } from "node:events";
import { createRequire } from "node:module";
import type { CastSimulator, CastSimulatorOptions } from "../../src/simulators/cast.ts";
import { createGoogleTvSimulator } from "../../src/simulators/google-tv.ts";
import { until } from "../support/http-device.ts";
import { listen, plugInCast } from "../support/sets.ts";

type Done<T> = (error: Error | null, result: T) => void;
type Status = Readonly<Record<string, unknown>>;

interface App extends EventEmitter {
  load(media: object, options: object, done: Done<Status>): void;
  getStatus(done: Done<Status>): void;
  play(done: Done<Status>): void;
  pause(done: Done<Status>): void;
  stop(done: Done<Status>): void;
  seek(seconds: number, done: Done<Status>): void;
  readonly media: { sessionRequest(content: object, done: Done<Status>): void };
}

interface Sender extends EventEmitter {
  readonly client: unknown;
  connect(options: object, done: () => void): void;
  getStatus(done: Done<Status>): void;
  getSessions(done: Done<readonly Status[]>): void;
  getAppAvailability(id: string, done: Done<Status>): void;
  launch(app: unknown, done: Done<App>): void;
  stop(app: App, done: Done<unknown>): void;
  setVolume(volume: object, done: Done<Status>): void;
  close(): void;
}

const { Client, DefaultMediaReceiver } = createRequire(import.meta.url)("castv2-client") as {
  readonly Client: new () => Sender;
  readonly DefaultMediaReceiver: unknown;
};

interface Messages {
  readonly CastMessage: { parse(bytes: Uint8Array): unknown };
}

/** It loads its protobuf definitions asynchronously, and fails at requests made before. */
const isReady = (messages: Messages) => {
  try {
    messages.CastMessage.parse(new Uint8Array());
    return true;
  } catch (error) {
    return !(error instanceof Error && /not loaded/.test(error.message));
  }
};
beforeAll(() => until("castv2 has its messages", () => isReady(createRequire(import.meta.url)("castv2/lib/proto.js"))));

const result = <T>(ask: (done: Done<T>) => void) =>
  new Promise<T>((resolve, reject) => ask((error, result) => (error ? reject(error) : resolve(result))));

const senders: Sender[] = [];
afterAll(() => {
  // A connection that the set closed is closed already.
  for (const sender of senders) if (sender.client !== null) sender.close();
});

async function sender(
  options: Partial<CastSimulatorOptions> = {},
): Promise<{ set: CastSimulator; sender: Sender; errors: string[] }> {
  const set = await plugInCast(options);
  const made = new Client();
  const errors: string[] = [];
  made.on("error", (error: Error) => errors.push(error.message));
  await new Promise<void>((resolve) => made.connect({ host: set.host, port: set.port }, resolve));
  senders.push(made);
  return { set, sender: made, errors };
}

const film = { contentId: "http://192.0.2.1/a.mp4", contentType: "video/mp4", streamType: "BUFFERED" };

describe("npm castv2-client", () => {
  test("reads the status of the device and its apps", async () => {
    const { sender: one } = await sender({ volume: { level: 0.25 } });
    expect(await result<Status>((done) => one.getStatus(done))).toMatchObject({
      volume: { level: 0.25, muted: false, controlType: "attenuation" },
      isStandBy: false,
    });
    expect(await result((done) => one.getSessions(done))).toMatchObject([{ appId: "E8C28D3C", isIdleScreen: true }]);
    expect(await result<Status>((done) => one.getAppAvailability("CC1AD845", done))).toEqual({ CC1AD845: true });
    const seen: Status[] = [];
    one.on("status", (status: Status) => seen.push(status));
    await result<Status>((done) => one.setVolume({ level: 0.5 }, done));
    expect(seen.at(-1)).toMatchObject({ volume: { level: 0.5 } });
  });

  test("casts a film, pauses it, seeks in it and stops it; it gets status changes of other senders", async () => {
    const { set, sender: one, errors } = await sender();
    const app = await result<App>((done) => one.launch(DefaultMediaReceiver, done));
    const states: unknown[] = [];
    app.on("status", (status: Status) => states.push(status["playerState"]));
    await result<Status>((done) => app.load(film, { autoplay: true }, done));
    await until("it plays", () => states.at(-1) === "PLAYING");
    await result<Status>((done) => app.pause(done));
    expect(await result<Status>((done) => app.seek(60, done))).toMatchObject({ playerState: "PAUSED" });
    expect(set.state.playback).toMatchObject({ url: film.contentId, positionMs: 60_000 });
    await result<Status>((done) => app.play(done));
    await until("it gets the status", () => states.at(-1) === "PLAYING");
    set.pause();
    await until("it gets the pause of another sender", () => states.at(-1) === "PAUSED");
    await result<Status>((done) => app.stop(done));
    expect(set.state.playback).toBeNull();
    await result<unknown>((done) => one.stop(app, done));
    expect(set.state.app).toBeNull();
    expect(errors).toEqual([]);
  });

  test("loads a film paused and in its middle, seeks before its beginning, seeks and plays, and sees its end", async () => {
    const short = { ...film, contentId: "http://192.0.2.1/short.mp4" };
    const { set, sender: one } = await sender({ media: [{ url: short.contentId, durationMs: 60 }] });
    const app = await result<App>((done) => one.launch(DefaultMediaReceiver, done));
    const states: unknown[] = [];
    app.on("status", (status: Status) => states.push(status["idleReason"] ?? status["playerState"]));
    await result<Status>((done) => app.load(film, { autoplay: false, currentTime: 30 }, done));
    await until("it is paused", () => states.at(-1) === "PAUSED");
    expect(set.state.playback).toMatchObject({ state: "PAUSED", positionMs: 30_000 });
    expect(await result<Status>((done) => app.seek(-5, done))).toMatchObject({ currentTime: 0 });
    const seek = { type: "SEEK", currentTime: 60, resumeState: "PLAYBACK_START" };
    const sought = await result<Status>((done) => app.media.sessionRequest(seek, done));
    expect(JSON.stringify(sought)).toContain('"playerState":"PLAYING"');
    await result<Status>((done) => app.load(short, { autoplay: true }, done));
    await until("it has ended", () => states.at(-1) === "FINISHED");
    expect(set.state.playback).toBeNull();
  });

  test("gets the error of media that cannot be loaded, and stays connected by its heartbeat", async () => {
    const { set, sender: one, errors } = await sender({ heartbeatMs: 400 });
    const app = await result<App>((done) => one.launch(DefaultMediaReceiver, done));
    const flash = { ...film, contentType: "video/x-flv" };
    const failed = await result<Status>((done) => app.load(flash, {}, done)).catch((error: Error) => error.message);
    expect(failed).toBe("Load failed");
    await Bun.sleep(700);
    expect([set.state.clients, errors]).toEqual([1, []]);
  });
});

test("a cast turns a Google TV on, whose two services agree on it", async () => {
  const quiet = { remotePort: 0, pairingPort: 0, mdns: false };
  const box = createGoogleTvSimulator({ name: "Attic", remote: quiet, cast: { port: 0, mdns: false } });
  await box.start();
  await box.remote.powerOff("standby");
  box.cast.launch("CC1AD845");
  await until("it is on", () => box.remote.state.power === "on");
  // What happens next at the remote does not end the cast.
  box.remote.dismiss();
  await Bun.sleep(5);
  expect([box.remote.state.front === null, box.cast.state.app]).toEqual([false, "CC1AD845"]);
  await box.stop();
});

test("as on hardware a message before CONNECT, a frame that is too long, and silence are refused", async () => {
  const set = await plugInCast({ heartbeatMs: 150 });
  const talk = async (bytes: Uint8Array) => {
    const { socket, closed, text } = listen(set.host, set.port, {});
    socket.write(bytes);
    await until("it is hung up on", closed);
    return text();
  };
  const field = (key: number, words: string) => Buffer.from([key, words.length, ...Buffer.from(words)]);
  const asked = Buffer.concat([
    Buffer.from([8, 0]),
    field(0x12, "sender-0"),
    field(0x1a, "receiver-0"),
    field(0x22, "urn:x-cast:com.google.cast.receiver"),
    Buffer.from([0x28, 0]),
    field(0x32, '{"type":"GET_STATUS","requestId":1}'),
  ]);
  const received = await talk(Buffer.concat([Buffer.from([0, 0, 0, asked.length]), asked]));
  expect(received).toContain("PING");
  expect(received).not.toContain("RECEIVER_STATUS");
  expect(await talk(Buffer.from([0x7f, 0xff, 0xff, 0xff, 1]))).toBe("");
});
