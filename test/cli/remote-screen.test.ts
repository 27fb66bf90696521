import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { columnsOf } from "../../src/cli/print.ts";
import type { Mode, Model } from "../../src/cli/remote/model.ts";
import { render, type View } from "../../src/cli/remote/screen.ts";
import { showsUnicode } from "../../src/cli/remote/session.ts";
import { app, bedroom, driving, livingRoom, state } from "./remote-model.ts";

const usual: View = { columns: 80, rows: 24, colour: true, unicode: true, now: new Date(2026, 6, 30, 10, 0) };
const bare = (line: string) => line.replace(/\x1b\[[\d;]*m/g, "");
const shown = (model: Model, view: Partial<View> = {}) => render(model, { ...usual, ...view }).map(bare);

const playing = state({
  app: app("YouTube"),
  playback: {
    status: "playing",
    position_ms: 724_000,
    duration_ms: 1_880_000,
    live: false,
    title: null,
    position_at: null,
    rate: 1,
  },
});

describe("the screen", () => {
  test("has the set and what is on it at the top, the keys where they sit, and what else there is", () => {
    expect(
      shown(driving({ seen: { state: playing } }))
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
 ╰─────────────────────────────────────────────╯







 / apps  t text  Tab next set  ? help  q quit`);
  });

  test("leaves out the keys that the set has said it lacks, and channels where there is no tuner", () => {
    const lacking = shown(driving({ absent: { [livingRoom.id]: ["volume-up", "volume-down", "mute"] } })).join("\n");
    expect([/louder|softer|mute/.test(lacking), lacking.includes("h home")]).toEqual([false, true]);
    expect(shown(driving({ current: bedroom.id })).join("\n")).not.toContain("channel");
  });

  test("says that keys are refused, and draws them faint; so it does while the set is off, but for power", () => {
    const limited = render(driving({ current: bedroom.id }), usual);
    expect(bare(limited[1] ?? "")).toBe(" on · home · volume 18 · limited: keys are refused");
    expect(limited.join("\n")).toContain("\x1b[2mh home\x1b[0m".replace(" ", "\x1b[0m\x1b[2m "));
    const off = render(driving({ seen: { state: state({ power: "standby", volume: null }) } }), usual);
    expect(bare(off[1] ?? "")).toBe(" in standby · p turns it on");
    expect(off.join("\n")).toContain("\x1b[1mp\x1b[0m power");
    expect(off.join("\n")).toContain("\x1b[2mh\x1b[0m\x1b[2m home\x1b[0m");
  });

  test("says when a set was last seen, when the daemon is lost, when nothing is known", () => {
    const last_seen = new Date(2026, 6, 30, 9, 12).toISOString();
    const failure = { code: "device_unreachable", message: "Living Room did not answer" };
    const silent = driving({ devices: [{ ...livingRoom, last_seen }], seen: { failure } });
    expect(shown(silent)[1]).toBe(" does not answer (last seen 09:12) · p turns it on");
    expect(shown(driving({ lost: true }))[1]).toBe(" the daemon does not answer; trying again …");
    const nobody = shown(driving({ devices: [], current: null, seen: null }));
    expect(nobody.slice(0, 5).join("\n")).toContain("no set is known yet");
    expect(nobody.join("\n")).toContain("zapd add 192.168.1.40");
  });

  test("says at the bottom why a key was refused: whole where there is room, cut where there is none", () => {
    const notice = {
      text: "Bedroom refused to press home: its network access is set to Limited",
      loud: true,
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

  test("shows the chosen app among those that match, however long the list", () => {
    const apps = Array.from({ length: 60 }, (_, at) => app(`App ${at}`));
    const mode: Mode = { name: "apps", filter: "", at: 45 };
    const lines = shown(driving({ mode, apps: { [livingRoom.id]: apps } }), { rows: 12 });
    expect(lines.filter((line) => line.includes("▸"))).toEqual([" ▸ App 45"]);
    expect(lines.at(-1)).toMatch(/^ \/ +Enter launches · Esc leaves$/);
    expect(shown(driving({ mode })).join("\n")).toContain("asking for its apps …");
    const none = driving({ mode: { ...mode, filter: "zz" }, apps: { [livingRoom.id]: apps } });
    expect(shown(none).join("\n")).toContain('no app matches "zz"');
  });

  test("shows the end of a long text, where one writes", () => {
    const mode: Mode = { name: "text", text: `${"x".repeat(100)}end` };
    expect(shown(driving({ mode }), { columns: 30 }).at(-1)).toBe(`text ${"x".repeat(21)}end `);
    expect(shown(driving({ mode: { name: "help" } })).join("\n")).toContain("quit, as do Esc and Ctrl-C");
  });

  test("without colour keeps bold and faint, and without Unicode is ASCII", () => {
    const lost = render(driving({ lost: true }), { ...usual, colour: false });
    expect(lost.join("")).not.toMatch(/\x1b\[3\dm/);
    expect(lost.join("")).toContain("\x1b[1mLiving Room");
    const ascii = shown(
      driving({ seen: { state: playing }, devices: [{ ...livingRoom, name: "Wohnzimmer größer 客" }] }),
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
    text.map((text): Mode => ({ name: "text", text })),
    fc.tuple(text, fc.nat(9)).map(([filter, at]): Mode => ({ name: "apps", filter, at })),
  );
  const size = fc.tuple(fc.integer({ min: 1, max: 130 }), fc.integer({ min: 1, max: 40 }));
  fc.assert(
    fc.property(text, mode, size, fc.boolean(), (name, mode, [columns, rows], unicode) => {
      const model = driving({
        mode,
        devices: [{ ...livingRoom, name, model: name }, bedroom],
        apps: { [livingRoom.id]: [app(name), app("x")] },
        seen: { state: state({ app: app(name) }) },
        notice: { text: name, hint: name, loud: true },
      });
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
