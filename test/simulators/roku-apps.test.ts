import { describe, expect, test } from "bun:test";
import { get, plugIn, post, press, until } from "./roku-harness.ts";

describe("apps", () => {
  test("a launched app is in front after a moment, and launching it again is 202 unless it has words", async () => {
    const simulator = await plugIn({ launchMs: 30 });
    expect((await post(simulator, "/launch/837")).status).toBe(200);
    expect((await get(simulator, "/query/active-app")).body).toContain("<app>Roku</app>");
    await until("YouTube is in front", () => simulator.state.activeApp === "837");
    expect((await get(simulator, "/query/active-app")).body).toContain(
      '<app id="837" type="appl" version="3.11.40">YouTube</app>',
    );
    expect((await post(simulator, "/launch/837")).status).toBe(202);
    expect((await post(simulator, "/launch/837?contentId=a%20b&mediaType=movie")).status).toBe(200);
    expect(simulator.state.lastLaunch).toEqual({ id: "837", params: { contentId: "a b", mediaType: "movie" } });
  });

  test("home leaves the app in the background; exit-app suspends it first and ends it then", async () => {
    const simulator = await plugIn({ developer: { password: "x" } });
    const state = async () => /<state>(\w+)</.exec((await get(simulator, "/query/app-state/12")).body)?.[1];
    await post(simulator, "/launch/12");
    expect(await state()).toBe("active");
    expect((await post(simulator, "/exit-app/12")).body).toMatch(/<exit-app>\s*<status>OK<\/status>\s*<\/exit-app>/);
    expect(await state()).toBe("background");
    expect(simulator.state.activeApp).toBeNull();
    expect((await post(simulator, "/exit-app/12")).status).toBe(200);
    expect(await state()).toBe("inactive");
    expect((await post(simulator, "/exit-app/12")).status).toBe(404);

    await post(simulator, "/launch/12");
    await press(simulator, "Home");
    expect(simulator.state).toMatchObject({ activeApp: null, background: ["12"] });
    await post(simulator, "/launch/12");
    expect(simulator.state).toMatchObject({ activeApp: "12", background: [] });
    expect((await post(simulator, "/exit-app/12/true")).status).toBe(200);
    expect(simulator.state).toMatchObject({ activeApp: null, background: [] });
  });

  test("the list has inputs, entities and letters of elsewhere", async () => {
    const { body } = await get(await plugIn(), "/query/apps");
    expect(body).toContain('<app id="tvinput.hdmi1" type="tvin" version="1.0.0">Blu-ray player</app>');
    expect(body).toContain("Free Movies &amp; TV");
    expect(body).toContain("Kids' Corner® &lt;3");
    expect(body).toContain("Ciné Écran Œuvres");
    expect((await get(await plugIn({ kind: "stick" }), "/query/apps")).body).not.toContain("tvinput");
  });

  test("a list may have no app, or one without type and version", async () => {
    expect((await get(await plugIn({ apps: [] }), "/query/apps")).body).toContain("<apps />");
    const one = await plugIn({ apps: [{ id: "11", name: "Old", type: null, version: null }] });
    expect((await get(one, "/query/apps")).body).toContain('<app id="11">Old</app>');
  });

  test("inputs switch by key and by launch, the tuner to a channel", async () => {
    const simulator = await plugIn();
    expect((await get(simulator, "/query/tv-active-channel")).body).toContain("<channel />");
    await press(simulator, "InputHDMI1");
    expect((await get(simulator, "/query/active-app")).body).toContain('id="tvinput.hdmi1" type="tvin"');
    await post(simulator, "/launch/tvinput.dtv?ch=5.1");
    expect(simulator.state).toMatchObject({ input: "tvinput.dtv", channel: "5.1" });
    await press(simulator, "ChannelUp", "ChannelUp");
    expect((await get(simulator, "/query/tv-active-channel")).body).toContain("<number>2.1</number>");
    await press(simulator, "InputHDMI4");
    expect(simulator.state.input).toBe("tvinput.dtv");
    await press(simulator, "Home");
    expect(simulator.state).toMatchObject({ input: null, activeApp: null, background: [] });
  });

  test("the screensaver is beside the app and goes with a key", async () => {
    const simulator = await plugIn();
    simulator.screensaver(true);
    const { body } = await get(simulator, "/query/active-app");
    expect(body).toContain("<app>Roku</app>");
    expect(body).toMatch(/<screensaver id="\d+" type="ssvr" version="[\d.]+">/);
    await press(simulator, "Up");
    expect((await get(simulator, "/query/active-app")).body).not.toContain("screensaver");
  });
});

describe("playback", () => {
  test("advances, pauses, skips and ends", async () => {
    const simulator = await plugIn();
    expect((await get(simulator, "/query/media-player")).body).toContain('<plugin id="native-ui" name="Native UI" />');
    await post(simulator, "/launch/837");
    expect((await get(simulator, "/query/media-player")).body).toContain('<player state="close"');
    simulator.play({ durationMs: 25_000, title: "Trailer" });
    await until("it advances", () => (simulator.state.playback?.positionMs ?? 0) > 20);
    await press(simulator, "Play");
    const { body } = await get(simulator, "/query/media-player");
    const [, at] = /<position>(\d+) ms<\/position>/.exec(body) ?? [];
    expect(body).toContain('<player state="pause" error="false">');
    expect(body).toContain('<plugin id="837" name="YouTube"');
    expect(body).toContain("<duration>25000 ms</duration>");
    await press(simulator, "Fwd");
    expect(simulator.state.playback?.positionMs).toBeCloseTo(Number(at) + 10_000, -1);
    await press(simulator, "Rev", "Rev");
    expect(simulator.state.playback?.positionMs).toBe(0);
    await press(simulator, "Fwd", "Fwd", "Fwd");
    expect((await get(simulator, "/query/media-player")).body).toContain('<player state="close"');
    await press(simulator, "Home");
    expect(simulator.state.playback).toBeNull();
  });

  test("live has a duration that rolls; some players tell no duration", async () => {
    const simulator = await plugIn();
    await post(simulator, "/launch/837");
    simulator.play({ live: true });
    const live = (await get(simulator, "/query/media-player")).body;
    expect(live).toContain("<is_live>true</is_live>");
    expect(live).toContain("<duration>");
    simulator.play({});
    expect((await get(simulator, "/query/media-player")).body).not.toContain("<duration>");
  });
});
