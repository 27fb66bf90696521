/** A connection to each of the stacks that renderers are built with (players.md 8, 13.8). */
import { afterAll, describe, expect, test } from "bun:test";
import { randomUUID } from "node:crypto";
import type { ZapdError } from "../../../src/api/errors.ts";
import { dlna } from "../../../src/platforms/dlna/adapter.ts";
import { controlPlayer } from "../../../src/platforms/dlna/controls.ts";
import { Events } from "../../../src/platforms/dlna/events.ts";
import { stacks } from "../../../src/platforms/dlna/stacks.ts";
import { createDlnaSimulator, type DlnaSimulatorOptions } from "../../../src/simulators/dlna.ts";
import type { Exchange } from "../../../src/transport/http-connection.ts";
import { SoapFault } from "../../../src/transport/soap.ts";
import { has } from "../../contract/bench.ts";
import { codeOf } from "../../support/failure.ts";
import { answer, startHttpDevice, until } from "../../support/http-device.ts";
import { platformHostOf } from "../../support/platform-host.ts";
import { notify } from "../../transport/notify.ts";
import { lineTo, never, state, tidy } from "../harness.ts";

tidy(afterAll);

async function plugIn(options: Partial<DlnaSimulatorOptions> = {}) {
  const set = createDlnaSimulator({ name: "Speaker", uuid: randomUUID(), ssdp: false, ...options });
  await set.start();
  const line = await lineTo(dlna, set, { lead: { host: set.host, port: set.port, path: set.path } });
  const { target, connection } = line;
  const { has: can, keys } = dlna.describe(target.facts, target.memory, true);
  const parts = () => has(connection.state?.readParts?.bind(connection.state))(["playback", "volume"], never);
  return { ...line, can, keys, state: () => state(line), parts };
}

const film = { url: "http://192.0.2.7/a%20film.mp4?a=1&b=2", mime: "video/mp4", title: null, image: null };

describe.concurrent.each(["kodi", "gmediarender", "rygel", "tv"] as const)("a renderer built with %s", (stack) => {
  test("plays a file with its metadata; pauses, twice, resumes, seeks and stops", async () => {
    const { set, connection, state } = await plugIn({ stack });
    const playback = has(connection.playback);
    expect((await state()).playback).toBeNull();
    await has(connection.media).play({ ...film, title: 'A <film> & "more"' }, never);
    expect(set.state).toMatchObject({ transport: "PLAYING", uri: film.url });
    expect((await state()).playback).toMatchObject({
      status: "playing",
      title: 'A <film> & "more"',
      live: null,
      duration_ms: stack === "rygel" ? 120_032 : 120_000,
    });
    for (let round = 0; round < 2; round++) {
      await playback.do("pause", never);
      expect((await state()).playback?.status).toBe("paused");
    }
    await has(playback.seek?.bind(playback))(61_000, never);
    expect(Math.floor(((await state()).playback?.position_ms ?? 0) / 1_000)).toBe(61);
    await has(playback.seek?.bind(playback))(3_000, never);
    await has(connection.keys).press("rewind", never);
    expect(set.state.positionMs).toBe(0);
    for (let round = 0; round < 2; round++) {
      await playback.do("play", never);
      expect((await state()).playback?.status).toBe("playing");
    }
    for (let round = 0; round < 2; round++) {
      await playback.do("stop", never);
      expect((await state()).playback).toBeNull();
    }
  });

  test("plays another file while one plays", async () => {
    const { set, connection, state } = await plugIn({ stack });
    const { play } = has(connection.media);
    await play(film, never);
    const other = { ...film, url: "http://192.0.2.7/other.mp4" };
    await play(other, never);
    expect(set.state).toMatchObject({ transport: "PLAYING", uri: other.url });
    expect((await state()).playback).toMatchObject({ status: "playing", title: "other.mp4" });
  });

  test("plays another file while it waits for one that does not come", async () => {
    const { set, connection } = await plugIn({ stack });
    const { play } = has(connection.media);
    await play({ ...film, url: "http://192.0.2.7/stalled.mp4" }, never);
    expect(set.state.transport).toBe("TRANSITIONING");
    await play(film, never);
    expect(set.state).toMatchObject({ transport: "PLAYING", uri: film.url });
  }, 20_000);

  test("fails where nothing is loaded; a command it accepts is confirmed by reading", async () => {
    const { connection, state, set } = await plugIn({ stack });
    const playback = has(connection.playback);
    const wanted = stack === "kodi" ? "none" : "device_refused";
    expect(await codeOf(playback.do("play", never))).toBe(wanted);
    expect(await codeOf(playback.do("pause", never))).toBe(wanted);
    expect(await codeOf(playback.do("stop", never))).toBe("none");
    expect(await codeOf(has(connection.keys).press("skip", never))).toBe("device_refused");
    if (stack === "gmediarender") expect(playback.does.has("next")).toBe(false);
    else expect(await codeOf(playback.do("next", never))).toBe(wanted);
    expect((await state()).playback).toBeNull();
    expect(set.state.transport).not.toBe("PLAYING");
  });

  test("its volume is set, read and muted, also where it rounds, or hides it while muted", async () => {
    const { connection, state } = await plugIn({ stack });
    const volume = has(connection.volume);
    for (const level of [23, 0, 100]) {
      await has(volume.set)(level, never);
      expect((await state()).volume).toEqual({ level, muted: false });
    }
    await has(volume.set)(23, never);
    await state();
    await has(volume.mute)(true, never);
    expect((await state()).volume).toEqual({ level: 23, muted: true });
    await has(volume.set)(40, never);
    for (let round = 0; round < 2; round++) await has(connection.keys).press("volume-up", never);
    expect((await state()).volume).toEqual({ level: 44, muted: true });
    await has(volume.mute)(false, never);
    expect((await state()).volume).toEqual({ level: 44, muted: false });
    await has(connection.keys).press("volume-up", never);
    expect((await state()).volume?.level).toBe(46);
    await has(connection.keys).press("mute", never);
    expect((await state()).volume?.muted).toBe(true);
  });

  test("sends events while it is followed, and is not polled then; closing unsubscribes", async () => {
    const { set, connection, told, parts } = await plugIn({ stack });
    await has(connection.state).read(never);
    expect(set.subscribers).toEqual([]);
    await parts();
    await until("it is heard", () => has(connection.state?.pushes).size > 0);
    const asked = set.requests.length;
    await parts();
    expect(set.requests.length).toBe(asked);
    set.play("http://192.0.2.1/other.mp4");
    await until("it is told", () => told.states.at(-1)?.playback?.status === "playing");
    set.setVolume(40);
    await until("its volume is told", () => told.states.at(-1)?.volume?.level === 40);
    expect((await parts()).volume?.level).toBe(40);
    set.endMedia();
    await until("the end is told", () => told.states.at(-1)?.playback === null);
    expect(set.subscribers.length).toBe(2);
    connection.close();
    await until("it is let go of", () => set.subscribers.length === 0);
  });
});

test.concurrent("another file is given to a renderer once it has stopped, and not as soon as it says that it will", async () => {
  const { set, connection } = await plugIn({ stack: "tv", stopMs: 700 });
  const { play } = has(connection.media);
  await play(film, never);
  const other = { ...film, url: "http://192.0.2.7/other.mp4" };
  await play(other, never);
  expect(set.state).toMatchObject({ transport: "PLAYING", uri: other.url });
  const loads = set.commands.filter((one) => /^(Set|Stop)/.test(one));
  expect(loads).toEqual([`SetAVTransportURI ${film.url}`, "Stop", `SetAVTransportURI ${other.url}`]);
});

test.concurrent("a file that a renderer accepts and drops, since it plays another, is given to it again once it has stopped", async () => {
  const { set, connection } = await plugIn({ stack: "kodi", dropsWhilePlaying: true, stopMs: 300 });
  const { play } = has(connection.media);
  const other = { ...film, url: "http://192.0.2.7/other.mp4" };
  for (const file of [film, other]) {
    await play(file, never);
    expect(set.state).toMatchObject({ transport: "PLAYING", uri: file.url });
  }
  const [load, again] = [`SetAVTransportURI ${film.url}`, `SetAVTransportURI ${other.url}`];
  expect(set.commands).toEqual([load, "Play", again, "Stop", again, "Play"]);
});

test.concurrent("a renderer that takes a file while it plays another is given it once, without a stop", async () => {
  const { set, connection } = await plugIn({ stack: "kodi" });
  set.play();
  await has(connection.media).play(film, never);
  await has(connection.media).play(film, never);
  const load = `SetAVTransportURI ${film.url}`;
  expect(set.commands).toEqual([load, "Play", load, "Play"]);
});

test.concurrent("a renderer that lost its subscriptions while off is polled until it sends events again", async () => {
  const { set, connection, told, parts } = await plugIn();
  await parts();
  await until("it is heard", () => has(connection.state?.pushes).size > 0);
  await set.sleep();
  // Whoever meets it off first need not be who looks often.
  expect(await codeOf(has(connection.state).read(never))).toBe("device_unreachable");
  await set.wake();
  set.setVolume(40);
  expect((await parts()).volume?.level).toBe(40);
  await until("it is heard again", () => set.subscribers.length === 2);
  set.setVolume(41);
  await until("it is told", () => told.states.at(-1)?.volume?.level === 41);
});

test.concurrent("any range is 0 to 100 here, and every step has an effect", async () => {
  const { set, connection, state } = await plugIn({ stack: "tv", volumeMax: 30 });
  const { set: to } = has(connection.volume);
  for (let level = 50; level <= 60; level++) {
    await has(to)(level, never);
    expect((await state()).volume?.level).toBe(level);
  }
  expect(set.state.volume).toBe(18);
  set.setVolume(30);
  expect((await state()).volume?.level).toBe(100);
});

test.concurrent("a query that fails with a bare status leaves only its part unknown, also where second requests are reset; a file has more time than a query", async () => {
  const services = ["AVTransport", "RenderingControl"].map(
    (name) =>
      `<service><serviceType>urn:schemas-upnp-org:service:${name}:1</serviceType><controlURL>/c</controlURL></service>`,
  );
  const description = `<root><device><deviceType>urn:schemas-upnp-org:device:MediaRenderer:1</deviceType><UDN>uuid:odd</UDN><serviceList>${services.join("")}</serviceList></device></root>`;
  const values: Record<string, string> = {
    GetTransportInfo: "<CurrentTransportState>PLAYING</CurrentTransportState>",
    GetMute: "<CurrentMute>1</CurrentMute>",
    SetMute: "",
    SetAVTransportURI: "",
    Play: "",
  };
  const used = new Set<number>();
  let isSlow = false;
  const muted: (string | undefined)[] = [];
  const set = await startHttpDevice(({ method, head, body, connection }) => {
    if (used.has(connection)) return "reset";
    used.add(connection);
    if (method === "GET") return answer(200, description);
    const action = /#(\w+)"/.exec(head)?.[1] ?? "";
    if (action === "SetMute") muted.push(/<DesiredMute>(\d)/.exec(String(body))?.[1]);
    const said = values[action];
    if (said === undefined) return answer(500);
    const whole = answer(200, `<Envelope><Body><${action}Response>${said}</${action}Response></Body></Envelope>`);
    return isSlow ? { answer: "", later: whole, afterMs: 600 } : whole;
  });
  const line = await lineTo(dlna, set, { lead: { ...set.address, path: "/d.xml" } });
  await has(line.connection.volume?.mute)(true, never);
  expect(await state(line)).toMatchObject({
    playback: { status: "playing", position_ms: null },
    volume: { level: null, muted: true },
  });
  values["GetVolume"] = "<CurrentVolume/>";
  values["GetTransportInfo"] = "<CurrentTransportState>Paused_Playback</CurrentTransportState>";
  expect(await state(line)).toMatchObject({ playback: { status: "paused" }, volume: { level: null } });
  values["GetVolume"] = "<CurrentVolume>-1</CurrentVolume>";
  expect(await state(line)).toMatchObject({ volume: { level: null, muted: true } });
  delete values["GetMute"];
  for (let press = 0; press < 2; press++) await has(line.connection.keys).press("mute", never);
  expect(muted).toEqual(["1", "0", "1"]);
  isSlow = true;
  const hurried = dlna.connect(line.target, platformHostOf({ timeout: 400 }), () => {});
  await has(hurried.media).play(film, never);
  expect(await codeOf(has(hurried.volume?.mute)(true, never))).toBe("device_timeout");
  hurried.close();
});

test.concurrent("a renderer without a volume can still be muted", async () => {
  const { connection, can, keys, state } = await plugIn({ volumeMax: null });
  expect([can.has("volume"), can.has("mute"), keys.has("volume-up"), keys.has("mute")]).toEqual([
    false,
    true,
    false,
    true,
  ]);
  expect(connection.volume?.set).toBeUndefined();
  await has(connection.volume?.mute)(true, never);
  expect((await state()).volume).toEqual({ level: null, muted: true });
});

test.concurrent("a renderer with volume only has just that", async () => {
  const { connection, can, state, keys } = await plugIn({ soundOnly: true });
  expect([...can].toSorted()).toEqual(["keys", "mute", "state", "volume"]);
  expect([...keys].toSorted()).toEqual(["mute", "volume-down", "volume-up"]);
  expect([connection.media, connection.playback]).toEqual([undefined, undefined]);
  await has(connection.volume?.set)(30, never);
  expect(await state()).toMatchObject({ playback: null, volume: { level: 30, muted: false } });
});

test.concurrent("a TV refuses an unknown type and a missing file, each with its reason", async () => {
  const { connection } = await plugIn({ stack: "tv" });
  const { play } = has(connection.media);
  expect(await codeOf(play({ ...film, mime: "video/x-flv" }, never))).toBe("unsupported_media");
  const gone = play({ ...film, url: "http://192.0.2.7/missing.mp4" }, never);
  await expect(gone).rejects.toMatchObject({
    code: "device_error",
    hint: expect.stringContaining("loads the file itself"),
  });
});

test.concurrent("a file gets the equivalent type that the renderer lists", async () => {
  const { set, connection } = await plugIn({ stack: "tv" });
  await has(connection.media).play({ ...film, mime: "video/x-matroska" }, never);
  expect(set.state.uri).toBe(film.url);
});

test.concurrent("a renderer within another device, and one without a known path, are found", async () => {
  const inner = await plugIn({ embedded: true, stack: "kodi" });
  expect(inner.sighting.facts.name).toBe("Speaker");
  for (const stack of ["kodi", "gmediarender", "tv"] as const) {
    const { set } = await plugIn({ stack });
    const { identity, memory } = await dlna.identify({ host: set.host, port: set.port }, platformHostOf(), never);
    expect([identity, memory.path]).toEqual([set.uuid, set.path]);
  }
  const { set, sighting } = await plugIn({ stack: "rygel" });
  const known = { host: set.host, port: set.port, memory: sighting.memory };
  expect((await dlna.identify(known, platformHostOf(), never)).identity).toBe(set.uuid);
});

test.concurrent("a renderer that takes no subscription is polled, and not asked to subscribe each time", async () => {
  const { set, connection, parts } = await plugIn({ silent: true });
  for (let round = 0; round < 3; round++) {
    await parts();
    await Bun.sleep(50);
  }
  expect(has(connection.state?.pushes).size).toBe(0);
  set.play();
  expect((await parts()).playback?.status).toBe("playing");
  expect(set.requests.filter(({ method }) => method === "SUBSCRIBE").length).toBe(1);
});

test.concurrent("a renderer whose events do not arrive, as behind a firewall, is polled; any that comes has it read", async () => {
  const { set, target } = await plugIn();
  const asked: string[] = [];
  let callback = "";
  let reads = 0;
  let held: Promise<unknown> | undefined;
  const alone = async ({ method, headers }: Pick<Exchange, "method" | "headers">) => {
    asked.push(method);
    callback = headers?.["CALLBACK"]?.slice(1, -1) ?? callback;
    return { status: 200, headers: new Map([["sid", `uuid:${asked.length}`]]), body: new Uint8Array() };
  };
  const events = new Events({
    http: { exchangeOnce: alone },
    target,
    debug() {},
    changed: async () => {
      reads++;
      await held;
      return null;
    },
    ended() {},
  });
  expect(events.subscribe()).toBe(false);
  await until("it has taken both", () => asked.length === 2);
  await Bun.sleep(50);
  expect([events.subscribe(), events.isReceiving, asked.length, reads]).toEqual([false, false, 2, 0]);
  await notify(new URL(callback), { SID: "uuid:1" });
  await until("it is read", () => reads === 1);
  expect(events.isReceiving).toBe(false);
  // One that comes while it is being read may not be in what is read.
  const reading = Promise.withResolvers<void>();
  held = reading.promise;
  await notify(new URL(callback), { SID: "uuid:1" });
  await until("it is being read", () => reads === 2);
  await notify(new URL(callback), { SID: "uuid:1" });
  reading.resolve();
  await until("it is read again", () => reads === 3);
  events.close();
  await until("both are given back", () => asked.length === 4);
  expect(set.subscribers).toEqual([]);
});

test.concurrent("a renderer that does not tell what it plays is not said to play nothing", async () => {
  const { set, connection, state } = await plugIn({ hidesPlayback: true, stack: "tv" });
  await has(connection.media).play(film, never);
  expect([(await state()).playback, connection.state?.showsPlayback]).toEqual([null, false]);
  for (const shown of ["PAUSED_PLAYBACK", "PLAYING"] as const) {
    await has(connection.keys).press("play-pause", never);
    expect(set.state.transport).toBe(shown);
  }
  await expect(has(connection.keys).press("skip", never)).rejects.toThrow("does not report the position");
});

test.concurrent("a renderer that plays and refuses to pause is not taken to play nothing", async () => {
  let errorCode = 701;
  const refusing = (status: "playing" | "paused" | null, showsPlayback = true) => ({
    memory: {},
    showsPlayback,
    stack: stacks.other,
    query: async () => new Map(),
    command: async () => Promise.reject(new SoapFault("Pause", 500, errorCode, "")),
    playback: async () => status && { status, position_ms: null, duration_ms: null, live: null, title: null },
  });
  const told = (...shown: Parameters<typeof refusing>) =>
    controlPlayer(refusing(...shown), "pause", never).then(
      () => "done",
      ({ message }: ZapdError) => message,
    );
  expect(await told("playing")).toBe("does not accept pause while it is playing");
  expect(await told("paused")).toBe("done");
  expect(await told(null)).toBe("is not playing anything");
  const broken = { ...refusing("playing"), command: () => Promise.reject(new SoapFault("Pause", 500, 402, "")) };
  await expect(controlPlayer(broken, "pause", never)).rejects.toMatchObject({ errorCode: 402 });
  expect(await told(null, false)).toBe("does not accept pause now, and does not report what it is playing");
  // "May be returned if current state of service prevents invoking that action" (Device Architecture 1.0, 3.2.2).
  errorCode = 501;
  expect(await told("playing")).toBe("does not accept pause while it is playing");
  expect(await told(null)).toBe("is not playing anything");
});

test.concurrent("a renderer that cannot seek, or cannot now, says which, whatever its fault", async () => {
  let transport = "PLAYING";
  // Rygel's for a stream, and while it is stopped; Kodi 21's (xbmc/xbmc#25935).
  let fault = 710;
  const set = await startHttpDevice(({ method, head }) => {
    const service = "urn:schemas-upnp-org:service:AVTransport:1";
    if (method === "GET")
      return answer(
        200,
        `<root><device><deviceType>urn:schemas-upnp-org:device:MediaRenderer:1</deviceType><UDN>uuid:stream</UDN><serviceList><service><serviceType>${service}</serviceType><controlURL>/c</controlURL></service></serviceList></device></root>`,
        ["Connection: close"],
      );
    const said = head.includes("#GetTransportInfo")
      ? `<GetTransportInfoResponse><CurrentTransportState>${transport}</CurrentTransportState></GetTransportInfoResponse>`
      : `<Fault><detail><UPnPError><errorCode>${fault}</errorCode></UPnPError></detail></Fault>`;
    return answer(said.startsWith("<Fault>") ? 500 : 200, `<Envelope><Body>${said}</Body></Envelope>`);
  });
  const { connection } = await lineTo(dlna, set, { lead: { ...set.address, path: "/d.xml" } });
  const seek = () => has(connection.playback?.seek)(61_000, never);
  for (fault of [710, 501]) {
    transport = "PLAYING";
    await expect(seek()).rejects.toMatchObject({
      code: "device_refused",
      message: "cannot seek in what it is playing",
    });
    transport = "STOPPED";
    await expect(seek()).rejects.toMatchObject({ code: "device_refused", message: "is not playing anything" });
  }
});

test.concurrent("a renderer at whose path another description is, as of a TV that numbers its paths at each start, is to be searched for", async () => {
  let type = "urn:schemas-upnp-org:device:MediaRenderer:1";
  const set = await startHttpDevice(({ method }) =>
    method === "GET"
      ? answer(
          200,
          type &&
            `<root><device><deviceType>${type}</deviceType><UDN>uuid:tv</UDN><serviceList><service><serviceType>urn:schemas-upnp-org:service:AVTransport:1</serviceType><controlURL>/smp_20_</controlURL></service></serviceList></device></root>`,
          ["Connection: close"],
        )
      : answer(500),
  );
  const { connection } = await lineTo(dlna, set, { lead: { ...set.address, path: "/smp_7_" } });
  type = "urn:samsung.com:device:RemoteControlReceiver:1";
  await expect(has(connection.playback).do("pause", never)).rejects.toMatchObject({
    code: "device_unreachable",
    reason: "wrong_device",
  });
  // None, as of one that is off, is no other device's.
  type = "";
  expect(await codeOf(has(connection.playback).do("pause", never))).toBe("device_error");
  expect(set.heard.filter(({ method }) => method === "POST")).toEqual([]);
});

test.concurrent("a renderer is found by its address and port at the paths of the makers that choose their own", async () => {
  for (const path of [
    "/dmr.xml",
    "/dmr/ddd.xml",
    "/nmrDescription.xml",
    "/MediaRenderer/desc.xml",
    "/upnp/desc/aios_device/aios_device.xml",
  ]) {
    const described = `<root><device><deviceType>urn:schemas-upnp-org:device:MediaRenderer:1</deviceType><UDN>uuid:at-${path}</UDN></device></root>`;
    const set = await startHttpDevice(({ target }) =>
      target === path ? answer(200, described) : answer(404, "", ["Connection: close"]),
    );
    expect((await dlna.identify(set.address, platformHostOf(), never)).memory.path).toBe(path);
    await set.stop();
  }
});
