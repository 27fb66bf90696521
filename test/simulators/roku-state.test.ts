import { describe, expect, test } from "bun:test";
import type { RokuEvent } from "../../src/simulators/roku.ts";
import { get, plugIn, post, press } from "./roku-harness.ts";

describe("keys", () => {
  test("are kept as the set names them, whatever the case and the escapes", async () => {
    const simulator = await plugIn();
    await press(simulator, "%48ome", "VOLUMEUP", "inputhdmi1", "Lit_x");
    expect(simulator.keys).toEqual(["Home", "VolumeUp", "InputHDMI1"]);
  });

  test("a key is held until it comes up; to release it again is 202", async () => {
    const simulator = await plugIn();
    expect((await post(simulator, "/keydown/Up")).status).toBe(200);
    expect(simulator.state.held).toEqual(["Up"]);
    expect((await post(simulator, "/keyup/up")).status).toBe(200);
    expect((await post(simulator, "/keyup/up")).status).toBe(202);
    expect(simulator.state.held).toEqual([]);
  });

  test("text comes one character a request, by code point", async () => {
    const simulator = await plugIn();
    for (const character of "h é€😀+ /") await post(simulator, `/keypress/lit_${encodeURIComponent(character)}`);
    expect(simulator.text).toBe("h é€😀+ /");
    await press(simulator, "Backspace", "Backspace", "Backspace", "Backspace");
    expect(simulator.text).toBe("h é€");
    for (const bad of ["Lit_", "Lit_ab", "Lit_%F0%9F%98%80%F0%9F%98%80"]) {
      expect([bad, (await post(simulator, `/keypress/${bad}`)).status]).toEqual([bad, 400]);
    }
  });

  test("volume moves by one, up ends the mute, nothing is muted", async () => {
    const simulator = await plugIn();
    const level = async () => {
      const { body } = await get(simulator, "/query/audio-device");
      return /<global>\s*<muted>(\w+)<\/muted>\s*<volume>(\d+)</.exec(body)?.slice(1).join(" ");
    };
    const before = simulator.state.volume;
    await press(simulator, "VolumeUp", "VolumeUp", "VolumeDown", "VolumeMute");
    expect(await level()).toBe(`true ${before + 1}`);
    await press(simulator, "VolumeUp");
    expect(await level()).toBe(`false ${before + 2}`);
    await press(simulator, ...Array<string>(before + 4).fill("VolumeDown"));
    expect(await level()).toBe("true 0");
  });

  test("a stick knows no volume", async () => {
    const simulator = await plugIn({ kind: "stick" });
    await press(simulator, "VolumeUp");
    expect((await get(simulator, "/query/audio-device")).body).not.toContain("<volume>");
  });
});

describe("identity and power", () => {
  test("a TV goes to standby and back by key; other keys do nothing meanwhile", async () => {
    const simulator = await plugIn();
    const power = async () => /<power-mode>(\w+)</.exec((await get(simulator, "/query/device-info")).body)?.[1];
    await post(simulator, "/launch/12");
    await press(simulator, "PowerOff");
    expect(await power()).toBe("Ready");
    expect((await get(simulator, "/query/active-app")).body).toContain("<app>Roku</app>");
    expect((await post(simulator, "/keypress/VolumeUp")).status).toBe(200);
    expect(simulator.state.volume).toBe(18);
    await press(simulator, "PowerOn");
    expect(await power()).toBe("PowerOn");
    await press(simulator, "Power", "Power", "power");
    expect(await power()).toBe("Ready");
  });

  test("a player stays on while its TV is off", async () => {
    const simulator = await plugIn({ kind: "box" });
    await press(simulator, "PowerOff");
    expect(simulator.state.power).toBe("on");
  });

  test("the serial follows the name, stays through a rename, and can be given", async () => {
    const [one, two, given] = [await plugIn(), await plugIn(), await plugIn({ serial: "X00000000001" })];
    expect(one.serial).toBe(two.serial);
    expect(given.serial).toBe("X00000000001");
    one.setName('Ann\'s "TV" & more');
    const { body } = await get(one, "/query/device-info");
    expect(body).toContain("<user-device-name>Ann's &quot;TV&quot; &amp; more</user-device-name>");
    expect(body).toContain(`<serial-number>${two.serial}</serial-number>`);
    expect(body).toContain("<user-device-location />");
    expect(body).toContain("<av-sync-calibration-enabled>3.0</av-sync-calibration-enabled>");
  });

  test("each kind says what it is", async () => {
    const said = async (kind: "tv" | "stick" | "box" | "soundbar") => {
      const { body } = await get(await plugIn({ kind }), "/query/device-info");
      return ["is-tv", "is-stick", "screen-size", "mobile-has-live-tv"].map(
        (name) => new RegExp(`<${name}>(.*)</${name}>`).exec(body)?.[1] ?? null,
      );
    };
    expect(await said("tv")).toEqual(["true", "false", "43", "true"]);
    expect(await said("stick")).toEqual(["false", "true", null, null]);
    expect(await said("box")).toEqual(["false", "false", null, null]);
    expect(await said("soundbar")).toEqual(["false", "false", null, "true"]);
  });

  test("old firmware has a home with an id and lacks what came later", async () => {
    const simulator = await plugIn({ legacy: true, developer: { password: "x" } });
    expect((await get(simulator, "/query/active-app")).body).toContain('id="562859"');
    expect((await get(simulator, "/query/apps")).body).not.toContain("562859");
    expect((await get(simulator, "/query/device-info")).body).not.toContain("ecp-setting-mode");
    expect((await get(simulator, "/query/audio-device")).status).toBe(404);
    await post(simulator, "/launch/12");
    expect((await post(simulator, "/exit-app/12")).status).toBe(404);
  });

  test("what happens is told in words", async () => {
    const events: RokuEvent[] = [];
    const simulator = await plugIn({ onEvent: (event) => events.push(event) });
    await press(simulator, "VolumeUp", "Lit_h");
    await post(simulator, "/launch/12?contentId=1");
    await press(simulator, "InputHDMI1", "PowerOff");
    simulator.setAccess("limited");
    await press(simulator, "Home");
    expect(events.map(({ text }) => text)).toEqual([
      "key volume up",
      'text "h"',
      'launched "Netflix" contentId=1',
      "key input hdmi1",
      'input "Blu-ray player"',
      "key power off",
      "power standby",
      "refused key home: network access is limited",
    ]);
  });
});
