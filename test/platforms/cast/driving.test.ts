/** What a Cast device is told, what it pushes, and what it refuses (players.md 3, and the checks of 13.9). */
import { afterAll, describe, expect, test } from "bun:test";
import { cast } from "../../../src/platforms/cast/adapter.ts";
import { failure, has } from "../../contract/bench.ts";
import { until } from "../../support/http-device.ts";
import { platformHostOf } from "../../support/platform-host.ts";
import { cleanups, never, tidy } from "../harness.ts";
import { doneTo, newId, room, serviceOf, startCast } from "./harness.ts";

tidy(afterAll);

const film = { url: "http://192.0.2.1/film.mp4", mime: "video/mp4", title: "Film", image: null };
const read = (connection: Awaited<ReturnType<typeof room>>["connection"]) => has(connection.state).read(never);
const refusal = async (work: Promise<unknown>) => {
  const { code, message } = await failure(work);
  return `${code}: ${message}`;
};

describe.concurrent("what a Cast device plays", () => {
  test("a file goes to the default receiver, launched if need be; its state is pushed", async () => {
    const { set, connection } = await room();
    await has(connection.media).play({ ...film, image: "http://192.0.2.1/film.jpg" }, never);
    await has(connection.media).play({ ...film, url: "http://192.0.2.1/a.jpg", mime: "image/jpeg" }, never);
    expect(set.commands.at(-1)?.content).toMatchObject({ media: { streamType: "NONE" } });
    await has(connection.media).play({ ...film, title: null }, never);
    expect(doneTo(set)).toEqual(["LAUNCH", "LOAD", "LOAD", "LOAD"]);
    expect(set.commands[1]?.content).toMatchObject({
      autoplay: true,
      media: {
        contentId: film.url,
        contentType: "video/mp4",
        metadata: { title: "Film", images: [{ url: "http://192.0.2.1/film.jpg" }] },
      },
    });
    // A position of 0 is the beginning of a live stream, hours ago (pychromecast#439, vishen/go-chromecast#189).
    expect(set.commands[1]?.content).not.toHaveProperty("currentTime");
    await until("it plays", () => set.state.playback?.state === "PLAYING");
    expect(await read(connection)).toMatchObject({
      app: { platformId: "CC1AD845" },
      playback: { status: "playing", duration_ms: 120_000, title: null },
    });
  });

  test("a file that loads does not play yet; what is said of it then holds when it is loaded", async () => {
    const { set, connection, told } = await room({ reportsLoading: true, bufferMs: 60_000 });
    const played = has(connection.media).play(film, never);
    await until("it loads", () => set.state.playback?.state === "LOADING");
    expect((await read(connection)).playback).toBeNull();
    set.pause();
    await played;
    await until("it is told", () => told.states.at(-1)?.playback?.status === "paused");
    expect(told.states.at(-1)?.playback).toMatchObject({ title: "Film", duration_ms: 120_000 });
  });

  test("a file that cannot be loaded fails, as does one without a type", async () => {
    const media = [{ url: film.url, fails: "LOAD_CANCELLED" as const }];
    // Another sender changes the volume meanwhile; its requests have these ids.
    const onEvent = ({ type }: { type: string }) => {
      if (type === "load") for (let id = 1; id <= 20; id++) set.setVolume(0.5, false, id);
    };
    const { set, connection } = await room({ media, onEvent });
    const { play } = has(connection.media);
    expect(await refusal(play({ ...film, url: "http://192.0.2.1/x", mime: "video/x-flv" }, never))).toBe(
      "unsupported_media: could not load the file as video/x-flv (error 104)",
    );
    expect(await refusal(play(film, never))).toStartWith(
      "device_refused: refused to load the file: it answered LOAD_CANCELLED",
    );
    expect((await failure(play({ ...film, mime: null }, never))).code).toBe("unsupported_media");
    expect(set.state.playback).toBeNull();
  });

  test("a file that loads and then fails is refused, whichever messages of the app name a request", async () => {
    for (const naming of [{}, { numbers: "answers" }, { numbers: "none" }] as const)
      for (const [reportsLoading, fails] of [
        [true, "LOAD_FAILED"],
        [false, "LOAD_FAILED"],
        [true, "IDLE"],
      ] as const) {
        const apps = [{ appId: "CC1AD845", name: "Player", ...naming }];
        const media = [{ url: film.url, fails }];
        const { set, connection } = await room({ apps, media, reportsLoading });
        expect((await failure(has(connection.media).play(film, never))).code).toBe("unsupported_media");
        // A status of the file before comes while the next one is loaded.
        for (const name of ["other", "third"]) {
          await has(connection.media).play({ ...film, url: `http://192.0.2.1/${name}.mp4` }, never);
          expect(set.state.playback?.url).toBe(`http://192.0.2.1/${name}.mp4`);
          set.endPlayback();
        }
      }
  });

  test("ends with its app: a file is not waited for then, and a stop is done", async () => {
    const { set, connection } = await room({ apps: [{ appId: "CC1AD845", name: "Player", quits: true }] });
    expect(await refusal(has(connection.media).play(film, never))).toBe(
      "device_error: closed the app before it answered",
    );
    set.launch("CC1AD845");
    set.play();
    await has(connection.playback).do("stop", never);
    expect([set.state.app, doneTo(set)]).toEqual([null, ["LAUNCH", "LOAD", "STOP"]]);
  });

  test("plays, pauses, stops, skips and seeks, as far as what plays allows", async () => {
    const { set, connection } = await room();
    const { do: tell, seek } = has(connection.playback);
    const to = has(seek);
    set.launch("233637DE");
    set.play({ durationMs: 60_000 });
    await tell("pause", never);
    await tell("pause", never);
    expect(set.state.playback?.state).toBe("PAUSED");
    await to(30_000, never);
    expect(set.state.playback?.positionMs).toBe(30_000);
    await to(90_000, never);
    expect(set.state.playback?.positionMs).toBe(60_000);
    for (const what of ["next", "previous", "play", "stop"] as const) await tell(what, never);
    expect(doneTo(set)).toEqual(["PAUSE", "PAUSE", "SEEK", "SEEK", "QUEUE_UPDATE", "QUEUE_UPDATE", "PLAY", "STOP"]);
    expect(set.commands[4]?.content["jump"]).toBe(1);
    expect(set.commands[5]?.content["jump"]).toBe(-1);
    // An advertisement.
    set.play({ supportedCommands: 0 });
    const sent = set.commands.length;
    for (const what of ["next", "pause"] as const)
      expect((await failure(tell(what, never))).code).toBe("device_refused");
    expect((await failure(to(1, never))).message).toContain("cannot seek now");
    expect(set.commands.length).toBe(sent);
    await tell("stop", never);
    // What does not say what it allows.
    set.play({ supportedCommands: null });
    await tell("pause", never);
    await tell("stop", never);
    expect(await refusal(tell("play", never))).toBe("device_refused: is not playing anything");
  });

  test("obeys at once, too, where its app does not say which request it answers", async () => {
    const apps = [{ appId: "233637DE", name: "YouTube", numbers: "none" as const }];
    const { set, connection } = await room({ apps, timeout: 1_000 });
    set.launch("233637DE");
    set.play();
    for (const what of ["pause", "play", "next"] as const) {
      const [before] = await Promise.all([
        read(connection),
        has(connection.playback).do(what, never),
        read(connection),
      ]);
      expect(before.playback).not.toBeNull();
    }
    await has(connection.playback).do("stop", never);
    expect([(await read(connection)).playback, doneTo(set)]).toEqual([null, ["PAUSE", "PLAY", "QUEUE_UPDATE", "STOP"]]);
  });

  test("refuses, too, though it tells of something else first, or does not say what it refuses", async () => {
    for (const numbers of ["answers", "status", "none"] as const) {
      const onEvent = ({ type }: { type: string }) => {
        if (type === "media" && numbers !== "none") set.pause();
      };
      const apps = [{ appId: "233637DE", name: "YouTube", numbers, refuses: true }];
      const { set, connection } = await room({ apps, onEvent });
      set.launch("233637DE");
      set.play();
      // What it tells of this comes before the connection, so that it cannot be taken for an answer.
      await until("it plays", () => set.state.playback?.state === "PLAYING");
      await read(connection);
      expect((await failure(has(connection.playback).do("next", never))).code).toBe("device_refused");
    }
  });

  test("a live stream is skipped in from where it is, though that is not shown", async () => {
    const { set, connection } = await room();
    set.launch("233637DE");
    set.play({ durationMs: null, live: true });
    await has(connection.playback?.seek)(60_000, never);
    await has(connection.keys).press("skip", never);
    expect(set.state.playback?.positionMs).toBeGreaterThanOrEqual(70_000);
    await has(connection.keys).press("rewind", never);
    expect(set.state.playback?.positionMs).toBeWithin(40_000, 60_000);
    expect((await read(connection)).playback).toMatchObject({ live: true, position_ms: null });
  });

  test("is pushed whoever plays it: the app of another sender is joined", async () => {
    const { set, connection, told } = await room();
    await read(connection);
    set.launch("CC32E753");
    set.play({ title: "A Song", durationMs: null, live: true });
    const shown = () => told.states.at(-1);
    await until("it is told", () => shown()?.playback?.title === "A Song" && shown()?.playback?.status === "playing");
    expect(shown()).toMatchObject({ app: { id: "spotify" }, playback: { live: true, duration_ms: null } });
    // With each launch its transport is another, and what played there is over (13.9).
    const { transportId } = set.state;
    set.launch("233637DE");
    await until("the other is shown", () => shown()?.app?.id === "youtube");
    expect(set.state.transportId).not.toBe(transportId);
    await until("nothing plays", () => shown()?.playback === null);
    set.play({ title: "A Clip" });
    await until("it is told again", () => shown()?.playback?.title === "A Clip");
    await has(connection.playback).do("pause", never);
    expect(set.state.playback?.state).toBe("PAUSED");
    set.endPlayback();
    await until("it has ended", () => shown()?.playback === null);
    // One that cannot be asked about media is not.
    set.launch("0F5096E8");
    await until("it mirrors", () => shown()?.app?.platformId === "0F5096E8");
    expect(await read(connection)).toMatchObject({ playback: null });
  });

  test("a picture is read from the device only", async () => {
    const elsewhere = await room();
    const { artwork } = elsewhere.connection;
    expect(await has(artwork)(never)).toBeNull();
    elsewhere.set.launch("233637DE");
    for (const image of ["http://192.0.2.7/a.jpg", "ftp://127.0.0.1/a.jpg", "http://127.0.0.1.example/a.jpg"]) {
      elsewhere.set.play({ image });
      expect((await failure(has(artwork)(never))).code).toBe("picture_not_found");
    }
    const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("\x89PNG") });
    elsewhere.set.play({ image: `http://127.0.0.1:${server.port}/a.png` });
    expect((await has(artwork)(never))?.length).toBe(5);
    await server.stop(true);
  });
});

describe.concurrent("apps of a Cast device", () => {
  test("are launched by any id of their service, in upper or lower case, without a link", async () => {
    const apps = [{ appId: "CA5E8412", name: "Netflix" }];
    const { set, connection } = await room({ apps });
    const launch = has(connection.apps?.launch);
    expect(await launch("ef67ca5a", {}, never)).toBe(true);
    expect(set.commands.map(({ content }) => content["appId"])).toEqual(["EF67CA5A", "CA5E8412"]);
    const sent = set.commands.length;
    expect((await failure(launch("CA5E8412", { content_id: "1" }, never))).code).toBe("unsupported_operation");
    expect(set.commands.length).toBe(sent);
  });

  test("that fail to start say why", async () => {
    const { connection } = await room({ launchErrors: { "233637DE": "CANCELLED" } });
    expect(await refusal(has(connection.apps?.launch)("233637DE", {}, never))).toBe(
      "device_refused: refused to launch the app: it answered LAUNCH_ERROR, CANCELLED",
    );
  });

  test("that were launched as the connection ended are not to be launched again", async () => {
    const onEvent = ({ type }: { type: string }) => {
      if (type !== "launch") return;
      set.leave();
      setTimeout(() => void set.stop(), 100);
    };
    const { set, connection } = await room({ onEvent });
    const launched = failure(has(connection.apps?.launch)("233637DE", {}, never));
    expect(await launched).toMatchObject({ code: "device_error", phase: "sent", reason: "closed" });
  });

  test("stop does nothing while nothing is cast", async () => {
    for (const idle of ["backdrop", "nothing"] as const) {
      const { set, connection } = await room({ idle });
      expect((await read(connection)).app).toBeNull();
      expect(await has(connection.apps?.stop)(never)).toBeNull();
      expect(doneTo(set)).toEqual([]);
    }
  });
});

describe.concurrent("the volume of a Cast device", () => {
  test("is set, stepped by the device's step, and muted; changes of others are pushed", async () => {
    const { set, connection, told } = await room({
      volume: { level: 0.96, controlType: "master", stepInterval: 0.02 },
    });
    const { set: to, step, mute } = has(connection.volume);
    for (let round = 0; round < 3; round++) await has(step)(1, never);
    expect(set.state.level).toBe(1);
    await has(to)(40, never);
    await has(step)(-1, never);
    expect(set.state.level).toBeCloseTo(0.38);
    await has(mute)(true, never);
    expect((await read(connection)).volume).toEqual({ level: 38, muted: true });
    set.setVolume(0.1, false);
    await until("it is told", () => told.states.at(-1)?.volume?.level === 10);
  });

  test("that is not reported is not stepped, and muted and unmuted in turn", async () => {
    const { set, connection } = await room();
    // In JSON, `null`.
    set.setVolume(Number.NaN, null as never);
    expect((await failure(has(connection.volume?.step)(1, never))).code).toBe("device_error");
    expect(doneTo(set)).toEqual([]);
    for (const muted of [true, false, true]) {
      await has(connection.keys).press("mute", never);
      expect(set.state.muted).toBe(muted);
      set.setVolume(Number.NaN, null as never);
    }
  });

  test("that is fixed cannot be set, as is known when the device is found", async () => {
    for (const refuses of [true, false]) {
      const { set, sighting, target, connection } = await room({ volume: { controlType: "fixed", refuses } });
      const { has: can, keys } = cast.describe(sighting.facts, target.memory as never, false);
      expect([can.has("volume"), can.has("mute"), keys.has("mute"), keys.has("pause")]).toEqual([
        false,
        false,
        false,
        true,
      ]);
      expect((await failure(has(connection.volume?.set)(10, never))).code).toBe("unsupported_operation");
      expect(doneTo(set)).toEqual([]);
      // Its level, which never changes, must not hide that of an Android TV on the same box.
      expect((await connection.state?.read(never))?.volume).toBeNull();
    }
  });
});

describe.concurrent("the identity of a Cast device", () => {
  test("is a TV if it has video, is no dongle, and its model says so", async () => {
    const { host, port, id } = (await room()).set;
    const kindOf = async (md: string, ca: string) =>
      (await cast.identify({ host, port, announced: { id, md, ca } }, platformHostOf(), never)).facts.kind;
    expect(await kindOf("BRAVIA 4K VH2", "4101")).toBe("tv");
    expect(await kindOf("Smart TV Pro", "4101")).toBe("tv");
    expect(await kindOf("MiTV-MOOQ1", "4101")).toBe("unknown");
    expect(await kindOf("Some Android TV", "4101")).toBe("unknown");
    expect(await kindOf("SHIELD Android TV", "4101")).toBe("player");
    expect(await kindOf("Nest Mini", "199172")).toBe("player");
    // One that is given by its address in another network is not heard: it says the same over the connection.
    const unheard = async (capabilities: number) =>
      (await room({ model: "BRAVIA 4K VH2", capabilities })).sighting.facts.kind;
    expect([await unheard(4_101), await unheard(4)]).toEqual(["tv", "player"]);
  });

  test("is what it tells over the connection, or else what is announced for its port", async () => {
    const facts = { manufacturer: "Google", model: "Chromecast", kind: "player", softwareVersion: "1.56.281627" };
    const { set, sighting } = await room();
    expect(sighting).toMatchObject({ identity: set.id, facts: { name: "One", macs: [], ...facts }, power: "on" });
    expect(sighting.ids?.[0]).toMatch(/^mac:02:/);
    const quiet = await room({ reportsId: null });
    const announced = () => serviceOf(quiet.set, { id: quiet.set.id, fn: "Told" });
    const heard = await cast.identify(
      { host: quiet.set.host, port: quiet.set.port },
      platformHostOf({ announced }),
      never,
    );
    expect(heard).toMatchObject({ identity: quiet.set.id, facts: { name: "Told" } });
    const unknown = await room({ reportsId: null });
    expect(unknown.sighting).toMatchObject({
      identity: `${unknown.set.host}:${unknown.set.port}`,
      provisional: true,
    });
    expect((await read(unknown.connection)).power).toBe("on");
  }, 60_000);

  test("that has told its id must tell it again; what it tells counts more than what is announced", async () => {
    const id = newId();
    const { set, sighting, again } = await room({ timeout: 1_000, reportsId: id, said: { id: newId(), fn: "Liar" } });
    expect(sighting).toMatchObject({ identity: id, memory: { tellsId: true } });
    expect((await read(again())).power).toBe("on");
    const { port } = set;
    await set.stop();
    const mute = await startCast({ port, id, reportsId: null });
    cleanups.push(() => mute.stop());
    expect(await refusal(has(again().volume?.step)(1, never))).toBe(
      "device_unreachable: accepted the connection, but did not say which device it is",
    );
    expect(doneTo(mute)).toEqual([]);
  }, 60_000);

  test("another device is told from a silent one, even by one of two answers", async () => {
    const { set, again } = await room({ timeout: 2_000 });
    const { port, id } = set;
    await set.stop();
    const answers = [
      [{ id: newId(), setup: false }, "is not at 127.0.0.1 any more: another device answers there"],
      [{ id, reportsId: null }, "accepted the connection, but did not say which device it is"],
    ] as const;
    for (const [options, said] of answers) {
      const other = await startCast({ port, ...options });
      try {
        expect(await refusal(has(again().volume?.step)(1, never))).toBe(`device_unreachable: ${said}`);
        expect(doneTo(other)).toEqual([]);
      } finally {
        await other.stop();
      }
    }
  }, 60_000);

  test("a group is a device of its own, though its leading speaker answers at its port", async () => {
    const [id, leader] = [newId(), newId()];
    const said = { id, fn: "Everywhere", md: "Google Cast Group", ca: "36" };
    let announced: string | null = id;
    const group = await room({
      id,
      reportsId: leader,
      said,
      announced: () => (announced === null ? null : { ...serviceOf(group.set, { ...said, id: announced }) }),
    });
    expect(group.sighting).toMatchObject({
      identity: id,
      alone: true,
      facts: { name: "Everywhere", model: "Google Cast Group" },
    });
    expect(group.sighting.ids).toBeUndefined();
    await has(group.connection.volume?.step)(1, never);
    // Another group has its port now.
    announced = newId();
    const late = group.again();
    expect((await failure(has(late.volume?.step)(1, never))).code).toBe("device_unreachable");
    expect(doneTo(group.set)).toEqual(["SET_VOLUME"]);
    announced = null;
    const later = group.again();
    await has(later.volume?.step)(1, never);
  }, 60_000);
});

describe.concurrent("a connection to a Cast device", () => {
  test("that falls silent is closed by zapd, and kept alive by zapd's own pings", async () => {
    const { set, connection, told } = await room({ heartbeatMs: 500 });
    await read(connection);
    // It is pinged as often as it wants, by its own pings that are answered.
    await Bun.sleep(2_400);
    expect(set.state.clients).toBe(1);
    set.fallSilent();
    await until("we have hung up", () => told.ended.length > 0, 20_000);
    expect(told.ended).toEqual(["hung_up"]);
    set.fallSilent(false);
    expect((await read(connection)).power).toBe("on");
  }, 60_000);

  test("that has died silently gets no command; the next one goes over a new connection", async () => {
    const { set, connection, told } = await room({ timeout: 1_000 });
    await read(connection);
    set.fallSilent();
    expect((await failure(has(connection.keys).press("volume-up", never))).code).toBe("device_unreachable");
    expect((await failure(has(connection.apps?.launch)("233637DE", {}, never))).code).toMatch(
      /device_(unreachable|timeout)/,
    );
    set.fallSilent(false);
    await has(connection.keys).press("volume-down", never);
    expect(told.ended).toEqual(["hung_up"]);
    expect(doneTo(set)).toEqual(["SET_VOLUME"]);
    expect(set.state.level).toBeCloseTo(0.45);
  }, 60_000);

  test("that the device has forgotten is soon noticed, and the command goes over a new one", async () => {
    const { set, connection, told } = await room();
    await read(connection);
    set.forgetConnections();
    await has(connection.keys).press("volume-down", never);
    expect([told.ended, doneTo(set)]).toEqual([["hung_up"], ["SET_VOLUME"]]);
  }, 60_000);

  test("that ends before it has answered gets no command; that goes over a new one", async () => {
    const { set, connection, told } = await room();
    await read(connection);
    set.fallSilent();
    const pressed = has(connection.keys).press("volume-down", never);
    await Bun.sleep(50);
    set.fallSilent(false);
    set.hangUp();
    await pressed;
    expect([told.ended, doneTo(set)]).toEqual([["hung_up"], ["SET_VOLUME"]]);
  }, 60_000);

  test("of a device in standby is not opened again unasked", async () => {
    const { set, connection, told } = await room();
    await read(connection);
    set.setStandBy(true);
    await until("it is told", () => told.states.at(-1)?.power === "standby");
    await set.stop();
    await set.start();
    await until("it has ended", () => told.ended.length > 0);
    await Bun.sleep(1_500);
    expect(set.state.clients).toBe(0);
    expect((await read(connection)).power).toBe("standby");
  }, 60_000);

  test("of a device that is awake is, and that is told", async () => {
    const { set, connection, told } = await room();
    await read(connection);
    await set.stop();
    await until("it has ended", () => told.ended.length > 0);
    const { length: before } = told.states;
    await set.start();
    await until("it is told", () => told.states.length > before, 10_000);
    expect(told.states.at(-1)?.power).toBe("on");
  }, 60_000);
});
