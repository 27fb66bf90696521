import { describe, expect, test } from "bun:test";
import type { ApiEvent } from "../../src/api/client.ts";
import type { Device, State } from "../../src/api/schemas.ts";
import { bindings } from "../../src/cli/remote/keys.ts";
import {
  begin,
  type Choice,
  choicesShown,
  currentView,
  type Effect,
  type Event,
  type Model,
  update,
} from "../../src/cli/remote/model.ts";
import { keys as known } from "../../src/platforms/platform.ts";
import { accessHint, bedroom, driving, livingRoom, playing, state } from "./remote-model.ts";

const now = Date.parse("2026-07-30T07:12:00.000Z");

/** The model and all effects after these keys. */
function after(model: Model, ...inputs: string[]): { model: Model; effects: Effect[] } {
  const effects: Effect[] = [];
  let last = model;
  for (const key of inputs) {
    const step = update(last, { name: "input", input: { key } }, now);
    last = step.model;
    effects.push(...step.effects);
  }
  return { model: last, effects };
}

const told = (model: Model, event: Event) => update(model, event, now).model;
/** What is sent to a set, and whether the key is held while it is kept down. */
const sent = (effects: readonly Effect[]) =>
  effects.flatMap((one) => (one.name === "order" ? [[one.command.body, one.holdKey ?? null]] : []));
const keysIn = (effects: readonly Effect[]) =>
  effects.flatMap((one) =>
    one.name === "order" && one.command.operation === "pressKey" ? [one.command.body.key] : [],
  );
const bare = (facts: Partial<Device>) => driving({}, { device: { ...livingRoom, ...facts } });

describe("keys", () => {
  test("each presses its key, and lights up; directions, volume and channels are held while they are kept down", () => {
    const named = bindings.filter(({ key }) => typeof key === "string");
    expect(named.filter(({ key }) => !known.some((one) => one === key))).toEqual([]);
    const typed = ["up", "enter", "backspace", " ", "h", "i", "o", "+", "=", "-", "m", "p", "r", "f", "page-up"];
    expect(keysIn(after(driving(), ...typed).effects)).toEqual([
      ...(["up", "select", "back", "play-pause", "home", "info", "options"] as const),
      ...(["volume-up", "volume-up", "volume-down", "mute", "power", "rewind", "fast-forward", "channel-up"] as const),
    ]);
    const held = sent(after(driving(), ...typed).effects).flatMap(([, key]) => key ?? []);
    expect(held).toEqual(["up", "volume-up", "volume-up", "volume-down", "channel-up"]);
    expect(sent(after(bare({ capabilities: ["keys"] }), "up").effects)).toEqual([[{ key: "up" }, null]]);
    expect(after(driving(), "h").model.pressedInput).toBe("h");
    expect(told(after(driving(), "h").model, { name: "highlightEnded" }).pressedInput).toBeNull();
    expect(after(driving(), "x", "ä", "home").effects).toEqual([]);
  });

  test("that repeat or come up, where the terminal tells, press nothing anew", () => {
    const phase = (key: string, phase: "repeat" | "up", model = driving()) =>
      update(model, { name: "input", input: { key, phase } }, now);
    expect(phase("down", "repeat").effects).toMatchObject([
      { name: "order", input: "down", isRepeat: true, holdKey: "down" },
    ]);
    expect(phase("=", "up")).toEqual({ model: driving(), effects: [{ name: "released", input: "+" }] });
    const writing = after(driving(), "t").model;
    expect(phase("x", "up", writing).model).toEqual(writing);
    expect(phase("x", "repeat", writing).model.mode).toMatchObject({ text: "x" });
  });

  test("that a set lacks ask for the same in another way, where it has one", () => {
    const capabilities: Device["capabilities"] = ["state", "hold", "volume", "mute", "playback"];
    const device = { ...livingRoom, keys: [], capabilities };
    const quiet = driving({}, { device, state: playing(new Date(now)) });
    expect(sent(after(quiet, "+", "-", "m", " ").effects)).toEqual([
      [{ step: 1 }, null],
      [{ step: -1 }, null],
      [{ muted: true }, null],
      [{ do: "pause" }, null],
    ]);
    const asked = (state: State | null, ...inputs: string[]) =>
      sent(after(driving({}, { device, state }), ...inputs).effects);
    expect(asked({ ...playing(new Date(now), { status: "paused" }), volume: null }, "m", " ")).toEqual([
      [{ muted: true }, null],
      [{ do: "play" }, null],
    ]);
    expect(asked(state({ volume: { level: 18, muted: true } }), "m")).toEqual([[{ muted: false }, null]]);
    expect(asked(null, "m", " ")).toEqual([
      [{ muted: true }, null],
      [{ do: "play" }, null],
    ]);
    expect(keysIn(after(bare({ keys: ["power-off"] }), "p").effects)).toEqual(["power-off"]);
    // The daemon says why it has no such key.
    expect(keysIn(after(quiet, "h").effects)).toEqual(["home"]);
  });

  test("power turns a set on that is off or silent, and toggles one that is not", () => {
    const off = driving({}, { state: state({ power: "standby" }) });
    const silent = bare({ status: "offline" });
    const unread = driving({}, { device: { ...livingRoom, power: "off" }, state: null });
    for (const model of [off, silent, unread]) expect(keysIn(after(model, "p").effects)).toEqual(["power-on"]);
    expect(after(off, "p").model.notice?.text).toContain("turning it on");
    expect(after(off, "h").model.notice).toBeNull();
    // Bedroom cannot be turned on: its own power key is all there is.
    const asleep = { device: { ...bedroom, status: "offline" }, state: null } as const;
    for (const one of [driving({ current: bedroom.id }), driving({ current: bedroom.id, devices: [asleep] })]) {
      const { model, effects } = after(one, "p");
      expect([keysIn(effects), model.notice]).toEqual([["power"], null]);
    }
  });

  test("q, Esc and Ctrl-C quit; Ctrl-C from everywhere", () => {
    for (const key of ["q", "escape", "ctrl-c"]) expect(after(driving(), key).effects).toEqual([{ name: "quit" }]);
    for (const key of ["t", "/", "?"]) expect(after(driving(), key, "ctrl-c").effects.at(-1)).toEqual({ name: "quit" });
    expect(after(driving(), "ctrl-z", "ctrl-l").effects).toEqual([{ name: "suspend" }, { name: "redraw" }]);
  });

  test("Tab goes round, and what is known of the next set is there at once", () => {
    const { model, effects } = after(driving(), "tab");
    expect([model.current, currentView(model)?.state, effects]).toEqual([bedroom.id, state(), []]);
    expect(after(driving(), "tab", "tab").model.current).toBe(livingRoom.id);
    const three = [...driving().devices, { device: { ...bedroom, id: "kitchen" }, state: null }];
    expect(after(driving({ devices: three }), "shift-tab").model.current).toBe("kitchen");
    const single = after({ ...driving(), devices: driving().devices.slice(0, 1) }, "tab");
    expect([single.effects, single.model.notice?.text]).toEqual([[], "no other device is known"]);
  });

  test("move what plays on and back, from where it is now or is being brought to, and never beyond its ends", () => {
    const film = (facts = {}) => driving({}, { state: playing(new Date(now - 6_000), facts) });
    const moved = after(film(), ".", ".", ",");
    expect(sent(moved.effects).map(([body]) => body)).toEqual(
      [760_000, 790_000, 780_000].map((position_ms) => ({ do: "seek", position_ms })),
    );
    const seek = (position_ms: number) =>
      ({ operation: "controlPlayback", body: { do: "seek", position_ms } }) as const;
    const done = (position_ms: number) =>
      told(moved.model, { name: "done", id: livingRoom.id, command: seek(position_ms) });
    expect([done(760_000).seeking?.to, done(780_000).seeking]).toEqual([780_000, null]);
    const elsewhere = { name: "done", id: bedroom.id, command: seek(780_000) } as const;
    expect([told(moved.model, elsewhere).seeking?.to, told(driving(), elsewhere).seeking]).toEqual([780_000, null]);
    const failure = { code: "device_timeout", message: "no" };
    expect(told(moved.model, { name: "failed", id: livingRoom.id, failure }).seeking).toBeNull();
    expect(told(moved.model, { name: "failed", id: bedroom.id, failure }).seeking).not.toBeNull();
    expect(told(moved.model, { name: "dropped", id: livingRoom.id, count: 1 }).seeking).toBeNull();
    expect(sent(after(film({ position_ms: 1_000 }), ",").effects)).toMatchObject([[{ position_ms: 0 }, null]]);
    expect(sent(after(film({ position_ms: 1_879_000 }), ".").effects)).toMatchObject([
      [{ position_ms: 1_880_000 }, null],
    ]);
    const endless = after(film({ position_ms: 1_879_000, duration_ms: null }), ".");
    expect(sent(endless.effects)).toEqual([[{ do: "seek", position_ms: 1_915_000 }, null]]);
    expect(after(driving({}, { state: null }), ".").effects).toEqual([]);
    const idle = after(driving(), ".");
    expect([idle.effects, idle.model.notice?.text]).toEqual([[], "Living Room is not playing anything that can seek"]);
    const withoutSeek: Device = { ...livingRoom, capabilities: ["state"] };
    const cannot = after(driving({}, { device: withoutSeek, state: playing(new Date(now)) }), ".");
    expect([cannot.effects, cannot.model.notice?.text]).toEqual([[], "Living Room cannot seek"]);
  });

  test("pasting presses nothing", () => {
    expect(update(driving(), { name: "input", input: { paste: "qph" } }, now)).toEqual({
      model: driving(),
      effects: [],
    });
  });
});

describe("the text line", () => {
  test("sends what was written; Esc and an empty line send nothing", () => {
    const written = after(driving(), "t", "h", "e", "y", "é", "backspace", " ", "q");
    expect(written.effects).toEqual([]);
    expect(written.model.mode).toEqual({ name: "line", what: "text", text: "hey q" });
    expect(keysIn(after(written.model, "enter").effects)).toEqual(["literal:hey q"]);
    expect(after(written.model, "escape")).toMatchObject({ effects: [], model: { mode: { name: "keys" } } });
    expect(after(driving(), "t", "enter").effects).toEqual([]);
    const line = (...keys: string[]) => after(written.model, ...keys).model.mode;
    expect([line("ctrl-w"), line("ctrl-u"), line("up", "home")]).toMatchObject([
      { text: "hey " },
      { text: "" },
      { text: "hey q" },
    ]);
  });

  test("takes a paste as one line without controls, and no more than the API does", () => {
    const { model } = after(driving(), "t");
    const pasted = told(model, { name: "input", input: { paste: `a\r\nb\x1b[31m${"x".repeat(2_000)}` } });
    expect(pasted.mode).toEqual({ name: "line", what: "text", text: `a b[31m${"x".repeat(1_017)}` });
  });

  test("takes a volume by its digits, and says so where there is none to set", () => {
    const typed = after(driving(), "2", "x", "5");
    expect(typed.model.mode).toEqual({ name: "line", what: "volume", text: "25" });
    expect(sent(after(typed.model, "enter").effects)).toEqual([[{ level: 25 }, null]]);
    expect(after(typed.model, "escape").effects).toEqual([]);
    expect(sent(after(driving(), "1", "0", "0", "0", "enter").effects)).toEqual([[{ level: 100 }, null]]);
    const beyond = after(driving(), "1", "0", "1", "enter");
    expect([beyond.effects, beyond.model.mode, beyond.model.notice?.text]).toEqual([
      [],
      { name: "line", what: "volume", text: "" },
      "give a volume from 0 to 100",
    ]);
    const cannot = after(bare({ capabilities: ["state", "keys"] }), "5");
    expect([cannot.model.mode.name, cannot.model.notice?.text]).toEqual([
      "keys",
      "Living Room cannot be set to a volume",
    ]);
    const differs = {
      name: "done",
      id: livingRoom.id,
      command: { operation: "setVolume", body: { level: 25 } },
      difference: "is at 20",
    } as const;
    expect(told(driving(), differs).notice).toEqual({
      text: "Living Room accepted the command, but is at 20",
      isFailure: false,
    });
  });
});

describe("a picker", () => {
  const named = (...names: string[]): Choice[] => names.map((name) => ({ id: `id-${name}`, name }));
  const listed = (what: "apps" | "inputs" | "channels", choices: readonly Choice[]): Event => ({
    ...({ name: "listed", id: livingRoom.id } as const),
    what,
    choices,
  });
  const apps = named("Netflix", "YouTube", "YouTube TV", "Ciné Œuvres");
  const open = told(after(driving(), "/").model, listed("apps", apps));
  const names = (filter: string) => choicesShown(open, "apps", filter).map((one) => one.name);

  test("asks what there is and filters as one types: beginnings first, accents aside, letters in order", () => {
    expect(after(driving(), "/").effects).toEqual([{ name: "list", id: livingRoom.id, what: "apps" }]);
    expect(names("")).toEqual(["Netflix", "YouTube", "YouTube TV", "Ciné Œuvres"]);
    expect([names("tv"), names("cine"), names("nfx"), names("net flix"), names("zzz")]).toEqual([
      ["YouTube TV"],
      ["Ciné Œuvres"],
      ["Netflix"],
      ["Netflix"],
      [],
    ]);
    expect(names("t")[0]).toBe("YouTube TV");
    const tubes = told(open, listed("apps", named("My Tubes", "Tubi")));
    expect(choicesShown(tubes, "apps", "tu").map(({ name }) => name)).toEqual(["Tubi", "My Tubes"]);
    const pasted = told(open, { name: "input", input: { paste: "you\n" } });
    expect(pasted.mode).toMatchObject({ filter: "you ", at: 0 });
  });

  test("moves within the list, starts at its top after each letter, and launches", () => {
    const moved = after(open, "up", "down", "down", "down", "down", "down").model;
    expect(moved.mode).toEqual({ name: "pick", what: "apps", filter: "", at: 3 });
    expect(after(moved, "y").model.mode).toEqual({ name: "pick", what: "apps", filter: "y", at: 0 });
    const launched = after(open, "y", "down", "enter");
    expect(sent(launched.effects)).toEqual([[{ app: "id-YouTube TV" }, null]]);
    expect([launched.model.mode.name, launched.model.notice?.text]).toEqual(["keys", "launching YouTube TV …"]);
    // The list that is read anew while the one from before is shown may come after the choice.
    expect(told(launched.model, listed("apps", apps)).notice?.text).toBe("launching YouTube TV …");
    expect(after(open, "z", "z", "enter").effects).toEqual([]);
    const at = (...keys: string[]) => after(open, ...keys).model.mode;
    expect([at("end"), at("end", "up"), at("end", "home"), at("page-down", "page-up")]).toMatchObject(
      [3, 2, 0, 0].map((at) => ({ at, filter: "" })),
    );
    expect([at("ctrl-l"), at("left"), at("escape")]).toEqual([open.mode, open.mode, { name: "keys" }]);
  });

  test("has inputs and channels as well, each from its own list", () => {
    expect(after(driving(), "s").effects).toEqual([{ name: "list", id: livingRoom.id, what: "inputs" }]);
    const inputs = told(after(driving(), "s").model, listed("inputs", [{ id: "hdmi1", name: "Blu-ray" }]));
    expect(sent(after(inputs, "enter").effects)).toEqual([[{ input: "hdmi1" }, null]]);
    const channels = told(after(driving(), "c").model, listed("channels", [{ id: "x", name: "5.1 KNTV" }]));
    expect(sent(after(channels, "5", ".", "enter").effects)).toEqual([[{ channel: "x" }, null]]);
  });

  test("does not open where a set has nothing to choose from, or keeps it back, and says which", () => {
    const none = after(bare({ capabilities: ["apps"] }), "s", "c");
    expect([none.effects, none.model.notice]).toEqual([
      [],
      { text: "Living Room has no list of channels", isFailure: true },
    ]);
    const kept = after(driving({ current: bedroom.id }), "/");
    expect([kept.effects, kept.model.notice]).toEqual([
      [],
      { text: "Bedroom does not allow apps now", hint: accessHint, isFailure: true },
    ]);
  });

  test("closes when the list is refused, and no other picker does", () => {
    const failure = { code: "device_refused", message: "Living Room refused", hint: "On the set: x" };
    const failed = (what: "apps" | "inputs"): Event => ({ name: "failed", id: livingRoom.id, what, failure });
    const refused = told(after(driving(), "/").model, failed("apps"));
    expect([refused.mode.name, refused.notice]).toEqual([
      "keys",
      { text: "Living Room refused", hint: "On the set: x", isFailure: true },
    ]);
    expect(told(after(driving(), "/").model, failed("inputs")).mode.name).toBe("pick");
    // The list of the set that was driven before may fail late.
    const ofOther = { ...failed("apps"), id: bedroom.id } as Event;
    expect(told(after(driving(), "/").model, ofOther).mode.name).toBe("pick");
  });
});

describe("what comes back", () => {
  const failed = (code: string): Event => ({
    name: "failed",
    id: livingRoom.id,
    failure: { code, message: `Living\u001b[2J Room said ${code}`, hint: "h" },
  });
  const done = (id: string): Event => ({ name: "done", id, command: { operation: "pressKey", body: { key: "home" } } });

  test("a refusal says why until a press succeeds", () => {
    expect(told(driving(), failed("unsupported_key")).notice?.hint).toBeUndefined();
    const refused = told(driving(), failed("device_refused"));
    expect(refused.notice).toEqual({ text: "Living[2J Room said device_refused", hint: "h", isFailure: true });
    expect(told(refused, done(bedroom.id)).notice).not.toBeNull();
    expect(told(refused, done(livingRoom.id)).notice).toBeNull();
  });

  test("presses that were dropped are counted; a notice goes after a while, and help with any key", () => {
    const dropped = (id: string, count: number) => told(driving(), { name: "dropped", id, count });
    expect([dropped(livingRoom.id, 1).notice?.text, dropped("gone", 2).notice?.text]).toEqual([
      "Living Room is slow: 1 press was dropped",
      "it is slow: 2 presses were dropped",
    ]);
    expect(told(dropped("gone", 2), { name: "noticeEnded" }).notice).toBeNull();
    expect(after(driving(), "?").model.mode.name).toBe("help");
    expect(after(driving(), "?", "q")).toEqual({ model: driving(), effects: [] });
  });

  test("the end of another's lease is told in local time", () => {
    const hint = "ada has it until 2020-07-15T10:00:00.000Z. To take it away: zapd lease break";
    const failure = { code: "device_leased", message: "Living Room is leased to ada", hint };
    expect(told(driving(), { name: "failed", id: livingRoom.id, failure }).notice?.hint).toMatch(
      /^ada has it until \d+ Jul \d\d:\d\d\. To take it away: zapd lease break$/,
    );
  });

  test("a lost daemon is said, closes what waits for it, and is forgotten when it is back", () => {
    const lost = told(after(driving(), "/").model, { name: "connection", isLost: true });
    expect([lost.isDisconnected, lost.mode.name]).toEqual([true, "keys"]);
    expect(told(lost, failed("daemon_not_running")).notice).toBeNull();
    const writing = after(driving(), "t", "x").model;
    expect(told(writing, { name: "connection", isLost: true }).mode).toEqual(writing.mode);
    const back = told(after(lost, "/").model, { name: "connection", isLost: false });
    expect([back.isDisconnected, back.mode.name]).toEqual([false, "pick"]);
  });
});

describe("what the daemon tells", () => {
  const at = new Date(now).toISOString();
  const tell = (model: Model, event: Omit<ApiEvent, "at">): Model =>
    told(model, { name: "daemonEvent", event: { at, ...event } as ApiEvent });
  const snapshot = (devices: readonly Device[], part: number, last: boolean) =>
    ({
      type: "snapshot",
      reason: "start",
      part,
      last,
      devices: devices.map((device) => ({ device, state: null })),
    }) as const;
  const names = ({ devices }: Model) => devices.map(({ device }) => device.name);

  test("a snapshot in parts is whole with the last; the one that is wanted is shown, else the default one, else the first", () => {
    const half = tell(begin(null), snapshot([bedroom], 1, false));
    expect([half.hasSnapshot, half.devices, half.current]).toEqual([false, [], null]);
    const whole = tell(half, snapshot([livingRoom], 2, true));
    expect([whole.hasSnapshot, names(whole), whole.current]).toEqual([true, ["Bedroom", "Living Room"], bedroom.id]);
    const usual = { ...livingRoom, is_default: true };
    expect(tell(begin(null), snapshot([bedroom, usual], 1, true)).current).toBe(livingRoom.id);
    expect(tell(begin(bedroom.id), snapshot([bedroom, usual], 1, true)).current).toBe(bedroom.id);
    expect(names(tell(half, snapshot([livingRoom], 1, true)))).toEqual(["Living Room"]);
    // Whatever was known before is gone with the next one.
    expect(names(tell(whole, snapshot([livingRoom], 1, true)))).toEqual(["Living Room"]);
    expect(tell(begin(null), snapshot([], 1, true))).toMatchObject({ hasSnapshot: true, current: null });
  });

  test("a snapshot without the one that is driven goes on with what it is a part of, or says that it is gone", () => {
    const model = { ...driving(), current: bedroom.id };
    const usual = { ...livingRoom, is_default: true };
    const kitchen = { ...bedroom, id: "kitchen", name: "Kitchen" };
    const event = { at, ...snapshot([usual, kitchen], 1, true) } as never;
    const merged = told(model, { name: "daemonEvent", event, whole: "kitchen" });
    expect(merged).toMatchObject({ current: "kitchen", notice: null });
    expect(tell(model, snapshot([usual, kitchen], 1, true))).toMatchObject({
      current: livingRoom.id,
      notice: { text: "Bedroom is no longer known" },
    });
    expect(tell(begin("gone"), snapshot([usual], 1, true)).notice).toBeNull();
  });

  test("sets come, are renamed and go: the one that is driven gives way to the default one, the first or none", () => {
    const kitchen = { ...bedroom, id: "kitchen", name: "Kitchen" };
    const added = tell(driving(), { type: "device.added", device_id: "kitchen", device: kitchen } as never);
    expect([names(added), added.current]).toEqual([["Living Room", "Bedroom", "Kitchen"], livingRoom.id]);
    const device = { ...livingRoom, name: "Den" };
    const renamed = tell(added, { type: "device.changed", device_id: device.id, device, changed: ["name"] } as never);
    expect([names(renamed), currentView(renamed)?.state]).toEqual([["Den", "Bedroom", "Kitchen"], state()]);
    const gone = (model: Model, device: Device) =>
      tell(model, { type: "device.removed", device_id: device.id, device } as never);
    const left = gone(after(renamed, "t").model, device);
    expect([left.current, left.mode.name, left.notice?.text]).toEqual([bedroom.id, "keys", "Den is no longer known"]);
    expect(gone(renamed, bedroom).notice).toBeNull();
    const none = gone(gone(left, bedroom), kitchen);
    const driven = after(none, "h", "t", "/", "p", "5", "+", "tab");
    expect([driven.model.current, driven.effects]).toEqual([null, []]);
    expect(tell(none, { type: "device.added", device_id: "kitchen", device: kitchen } as never).current).toBe(
      "kitchen",
    );
  });

  test("the one that is driven and becomes a part of another is driven as that, not the default one", () => {
    const model = { ...driving(), current: bedroom.id };
    const kitchen = { ...bedroom, id: "kitchen", name: "Kitchen" };
    const added = tell(model, { type: "device.added", device_id: "kitchen", device: kitchen } as never);
    const event = { type: "device.removed", device_id: bedroom.id, device: bedroom, part_of: "kitchen" };
    expect(tell(added, event as never)).toMatchObject({ current: "kitchen", notice: null });
    // What is being written goes to it; no list of its own was asked for.
    const modes = [
      { name: "line", what: "text", text: "a" } as const,
      { name: "pick", what: "apps", filter: "", at: 0 } as const,
    ];
    expect(modes.map((mode) => tell({ ...added, mode }, event as never).mode.name)).toEqual(["line", "keys"]);
  });

  test("a state is that of its set, whichever is shown", () => {
    const off = state({ power: "off" });
    const event = { type: "state.changed", device_id: bedroom.id, state: off, changed: ["power"], cause: "push" };
    const model = tell(driving(), event as never);
    expect([currentView(model)?.state, currentView(after(model, "tab").model)?.state]).toEqual([state(), off]);
    expect(tell(driving(), { type: "config.changed", keys: [] } as never)).toEqual(driving());
  });
});
