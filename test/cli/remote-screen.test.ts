import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Device, State } from "../../src/api/schemas.ts";
import { columnsOf } from "../../src/cli/print.ts";
import type { Mode, Model } from "../../src/cli/remote/model.ts";
import { render, type Viewport } from "../../src/cli/remote/screen.ts";
import { showsUnicode, untilNextSecond } from "../../src/cli/remote/session.ts";
import { accessHint, app, bedroom, driving, livingRoom, playing, state } from "./remote-model.ts";

const usual: Viewport = { columns: 80, rows: 24, colour: true, unicode: true, now: new Date(2026, 6, 30, 10, 0) };
const bare = (line: string) => line.replace(/\x1b\[[\d;]*m/g, "");
const shown = (model: Model, view: Partial<Viewport> = {}) => render(model, { ...usual, ...view }).map(bare);

describe("the screen", () => {
  test("has the set and what is on it at the top, the keys where they sit, and what else there is", () => {
    expect(
      shown(driving({}, { state: playing(usual.now) }))
        .join("\n")
        .trimEnd(),
    ).toBe(` Living Room                                                Lumora 43L520 · 1/2
 on · YouTube · playing 12:04 / 31:20 · volume 18

 ╭─────────────────────────────────────────────╮
 │  p power                           h home   │
 │                                             │
 │                     ↑            + louder   │
 │  Bksp back    ←   Enter   →      - softer   │
 │                     ↓            m mute     │
 │                                             │
 │  i info       PgUp PgDn channel  o options  │
 │  r rewind    Space play/pause    f forward  │
 │  , 10 s back                     . 30 s on  │
 ╰─────────────────────────────────────────────╯






 / apps  s inputs  c channels  t text  0-9 volume  Tab next set  ? help  q quit`);
  });

  test("runs on with what plays, between two words of the set, and stands where it is paused or being brought elsewhere", () => {
    const line = (state: State, facts: Partial<Model> = {}) => shown(driving(facts, { state }))[1];
    const seen = (secondsAgo: number) => new Date(usual.now.getTime() - 1_000 * secondsAgo);
    expect(line(playing(seen(66)))).toContain("playing 13:10 / 31:20");
    expect(line(playing(seen(66), { rate: -4 }))).toContain("playing 7:40 / 31:20");
    expect(line(playing(seen(66), { status: "paused", rate: 0 }))).toContain("paused 12:04 / 31:20");
    expect(line(playing(seen(66), { rate: null }))).toContain("playing 12:04 / 31:20");
    expect(line(playing(seen(66), { duration_ms: null }))).toContain("playing 13:10 ·");
    expect(line(playing(seen(66), { position_ms: null }))).toContain("playing 31:20 ·");
    // Never beyond its end, and never before a word that a clock dates into the future.
    expect(line(playing(seen(6_000)))).toContain("playing 31:20 / 31:20");
    expect(line(playing(seen(-60)))).toContain("playing 12:04 / 31:20");
    const seeking = { id: livingRoom.id, to: 90_000 };
    expect(line(playing(seen(66)), { seeking })).toContain("playing 1:30 / 31:20");
    expect(line(playing(seen(66)), { seeking: { ...seeking, id: bedroom.id } })).toContain("playing 13:10 / 31:20");

    const wait = (state: State, facts: Partial<Model> = {}) =>
      untilNextSecond(driving(facts, { state }), usual.now.getTime() + 300);
    expect([wait(playing(usual.now)), wait(playing(usual.now, { rate: 2 }))]).toEqual([700, 200]);
    for (const still of [playing(usual.now, { rate: 0 }), playing(usual.now, { rate: null }), state()])
      expect(wait(still)).toBeNull();
    expect([wait(playing(usual.now), { seeking }), wait(playing(usual.now), { isDisconnected: true })]).toEqual([
      null,
      null,
    ]);
  });

  test("leaves out what the set lacks, and channels where there is no tuner", () => {
    const has = (facts: Partial<Device>) => shown(driving({}, { device: { ...livingRoom, ...facts } })).join("\n");
    const mute = has({ keys: ["home", "up", "mute"], capabilities: ["state", "keys"], kind: "player" });
    expect([
      /louder|softer|channel|power|Space|10 s|Enter/.test(mute),
      /h home/.test(mute),
      /m mute/.test(mute),
    ]).toEqual([false, true, true]);
    expect(mute.split("\n").at(-4)).toBe(" Tab next set  ? help  q quit");
    expect(has({ keys: ["channel-up", "channel-down"], capabilities: ["keys"] })).toContain("PgUp PgDn channel");
    // One without keys is driven by what else it can.
    const renderer = has({ keys: [], capabilities: ["state", "volume", "mute", "playback", "seek"], kind: "player" });
    for (const shown of ["+ louder", "- softer", "m mute", "Space play/pause", ". 30 s on", "0-9 volume"])
      expect(renderer).toContain(shown);
    expect(/h home|power|Enter/.test(renderer)).toBe(false);
    const player = { ...livingRoom, keys: [], capabilities: ["playback" as const] };
    expect(shown(driving({ mode: { name: "help" } }, { device: player })).join("\n")).not.toContain("held");
    expect(shown(driving({ current: bedroom.id })).join("\n")).not.toContain("channel");
  });

  test("says that keys are refused and why, and draws them faint; so it does while the set is off, but for power", () => {
    const limited = render(driving({ current: bedroom.id }), usual);
    expect(bare(limited[1] ?? "")).toBe(" on · home · volume 18 · limited: keys are refused");
    expect(limited.join("\n")).toContain("\x1b[2mh home\x1b[0m".replace(" ", "\x1b[0m\x1b[2m "));
    expect(limited.at(-3)).toBe(` \x1b[2m${accessHint}\x1b[0m`);
    expect(limited.at(-4)).toContain("\x1b[2m/\x1b[0m\x1b[2m apps\x1b[0m");
    const off = render(driving({}, { state: state({ power: "standby", volume: null }) }), usual);
    expect(bare(off[1] ?? "")).toBe(" in standby · p turns it on");
    expect(off.join("\n")).toContain("\x1b[1mp\x1b[0m power");
    expect(off.join("\n")).toContain("\x1b[2mh\x1b[0m\x1b[2m home\x1b[0m");
  });

  test("says when a set was last seen, when the daemon is lost, when nothing is known", () => {
    const last_seen = new Date(2026, 6, 30, 9, 12).toISOString();
    const silent = driving({}, { device: { ...livingRoom, status: "offline", last_seen } });
    expect(shown(silent)[1]).toBe(" does not answer (last seen 09:12) · p turns it on");
    expect(shown(driving({ isDisconnected: true }))[1]).toBe(" the daemon does not answer; trying again …");
    expect(shown(driving({ isDisconnected: true, current: bedroom.id })).join()).not.toContain(accessHint);
    const strange: Device = { ...livingRoom, access: "unpaired" };
    expect(shown(driving({}, { device: strange }))[1]).toBe(" not paired");
    expect(shown(driving({}, { state: null }))[1]).toBe(" on");
    expect(shown(driving({}, { state: null, device: { ...livingRoom, power: "unknown" } }))[1]).toBe(" …");
    expect(shown(driving({}, { device: { ...livingRoom, status: "offline", last_seen: null } }))[1]).toBe(
      " does not answer · p turns it on",
    );
    const empty = { devices: [], current: null };
    expect(shown(driving({ ...empty, isDisconnected: true }))[1]).toBe(" the daemon does not answer; trying again …");
    expect(shown(driving({ ...empty, mode: { name: "help" } })).join("\n")).toContain("any key back");
    const nobody = shown(driving(empty));
    expect(nobody.slice(0, 5).join("\n")).toContain("no device is known yet");
    expect(nobody.join("\n")).toContain("zapd add 192.168.1.40");
  });

  test("says at the bottom why a key was refused: whole where there is room, cut where there is none", () => {
    const notice = {
      text: "Bedroom refused to press home: its network access is set to Limited",
      isFailure: true,
      hint: "On the Roku: Settings > System > Advanced system settings > Control by mobile apps > Network access: Enabled",
    };
    const lines = shown(driving({ notice }));
    expect(lines.slice(-3)).toEqual([
      " Bedroom refused to press home: its network access is set to Limited. On the",
      " Roku: Settings > System > Advanced system settings > Control by mobile apps >",
      " Network access: Enabled",
    ]);
    const small = shown(driving({ notice }), { columns: 40, rows: 8 });
    expect(small.at(-1)).toBe(" Bedroom refused to press home: its ne…");
  });

  test("leaves out what does not fit beside help and the way out", () => {
    expect(shown(driving(), { columns: 50 }).at(-4)).toBe(" / apps  s inputs  c channels  ? help  q quit");
    expect(shown(driving(), { columns: 10, rows: 9 }).at(-2)).toBe("  ? help …");
    const alone = shown(driving({ devices: driving().devices.slice(0, 1) }));
    expect([alone[0]?.endsWith("Lumora 43L520"), alone.at(-4)?.includes("next set")]).toEqual([true, false]);
  });

  test("too small for the drawing has the keys as running text; help has a row for each, and says which are held", () => {
    expect(shown(driving(), { columns: 30, rows: 12 })).toEqual([
      "Living Room                1/2",
      "on · home · volume 18",
      "",
      "↑←→↓  Enter select  Bksp back",
      "h home  Space play/pause",
      "r rewind  f forward",
      ", 10 s back  . 30 s on",
      "+ louder  - softer  m mute",
      "i info  o options",
      "PgUp PgDn channel  p power",
      "/ apps  ? help  q quit",
      "",
    ]);
    const isDrawn = (columns: number, rows: number) => shown(driving(), { columns, rows }).join("").includes("╭");
    expect([isDrawn(40, 24), isDrawn(80, 12), isDrawn(60, 20)]).toEqual([false, false, true]);
    expect(shown(driving(), { columns: 30, rows: 7 }).at(-1)).toBe("");
    expect(shown(driving(), { columns: 30, rows: 7 }).join("\n")).not.toContain("? help");
    const help = shown(driving({ mode: { name: "help" } }), { rows: 20 });
    expect([help[3], help[5], help[16], help.at(-2)]).toEqual([
      " ↑      up                        i      info",
      " Enter  select                    PgUp   channel up",
      " -      softer                    ↑ …    held: repeats until released",
      " any key back",
    ]);
  });

  test("shows the chosen app among those that match, however long the list", () => {
    const apps = Array.from({ length: 60 }, (_, at) => ({ id: `${at}`, name: `App ${at}` }));
    const mode: Mode = { name: "pick", what: "apps", filter: "", at: 45 };
    const lists = { [`apps ${livingRoom.id}`]: apps };
    const lines = shown(driving({ mode, lists }), { rows: 12 });
    expect(lines.filter((line) => line.includes("▸"))).toEqual([" ▸ App 45"]);
    expect(lines.at(-1)).toMatch(/^ \/ +Enter launches · Esc leaves$/);
    expect(shown(driving({ mode })).join("\n")).toContain("reading its apps …");
    expect(shown(driving({ mode, lists: { [`apps ${livingRoom.id}`]: [] } }))[3]).toBe(" the device lists no apps");
    const none = driving({ mode: { ...mode, filter: "zz" }, lists });
    expect(shown(none).join("\n")).toContain('no app matches "zz"');
  });

  test("shows the end of a long text, where one writes", () => {
    const mode: Mode = { name: "line", what: "text", text: `${"x".repeat(100)}end` };
    expect(shown(driving({ mode }), { columns: 30 }).at(-1)).toBe(`text ${"x".repeat(21)}end `);
    const level = { name: "line", what: "volume", text: "12" } as const;
    expect(shown(driving({ mode: level, notice: { text: "no", isFailure: true } })).slice(-3)).toEqual([
      "",
      " no",
      expect.stringMatching(/^ volume 12 +Enter sets it · Esc cancels$/),
    ]);
    expect(shown(driving({ mode: { name: "help" } })).join("\n")).toContain("quit, as do Esc and Ctrl-C");
  });

  test("shows a press for a moment, and a failure in red; without colour keeps bold and faint, and without Unicode is ASCII", () => {
    const pressed = (pressedInput: string) =>
      render(driving({ pressedInput }), usual)
        .join("\n")
        .match(/\x1b\[7m[^\x1b]*/g);
    expect(["h", "page-up", "page-down"].map(pressed)).toEqual([
      ["\x1b[7mh"],
      ["\x1b[7mPgUp PgDn"],
      ["\x1b[7mPgUp PgDn"],
    ]);
    expect(render(driving({ notice: { text: "no", isFailure: true } }), usual).join("")).toContain("\x1b[31mno");
    const lost = render(driving({ isDisconnected: true }), { ...usual, colour: false });
    expect(lost.join("")).not.toMatch(/\x1b\[3\dm/);
    expect(lost.join("")).toContain("\x1b[1mLiving Room");
    const ascii = shown(
      driving({}, { state: playing(usual.now), device: { ...livingRoom, name: "Wohnzimmer größer 客" } }),
      { unicode: false },
    );
    expect(ascii.join("\n")).toMatch(/^[\x20-\x7e\n]*$/);
    expect(ascii[1]).toContain("on - YouTube - playing");
    expect([
      showsUnicode({ LANG: "de_DE.UTF-8" }, "linux"),
      showsUnicode({ LC_ALL: "C", LANG: "x.utf8" }, "linux"),
    ]).toEqual([true, false]);
    expect([showsUnicode({}, "linux"), showsUnicode({}, "darwin")]).toEqual([false, true]);
  });
});

test("whatever a device is called and whatever the size: as many lines as rows, none too wide, nothing a terminal obeys", () => {
  const text = fc.string({
    unit: fc.constantFrom("a", "é", "客", "📺", " ", "\x1b[2J", "\u202e", "\n", "\x07", "e\u0301"),
  });
  const mode = fc.oneof(
    fc.constant<Mode>({ name: "keys" }),
    fc.constant<Mode>({ name: "help" }),
    text.map((text): Mode => ({ name: "line", what: "text", text })),
    fc.tuple(text, fc.nat(9)).map(([filter, at]): Mode => ({ name: "pick", what: "channels", filter, at })),
  );
  const size = fc.tuple(fc.integer({ min: 1, max: 130 }), fc.integer({ min: 1, max: 40 }));
  fc.assert(
    fc.property(text, mode, size, fc.boolean(), (name, mode, [columns, rows], unicode) => {
      const choices = [name, "x"].map((one) => ({ id: one, name: one }));
      const model = driving(
        {
          mode,
          lists: { [`channels ${livingRoom.id}`]: choices },
          notice: name === "" ? null : { text: name, hint: name, isFailure: true },
        },
        { device: { ...livingRoom, name, model: name }, state: state({ app: app(name) }) },
      );
      const lines = render(model, { ...usual, columns, rows, unicode });
      expect(lines.length).toBe(rows);
      for (const line of lines) {
        expect(columnsOf(bare(line))).toBeLessThanOrEqual(columns);
        expect(bare(line)).not.toMatch(/[\p{Cc}\u202a-\u202e]/u);
      }
    }),
    { numRuns: 300 },
  );
});
