import { describe, expect, test } from "bun:test";
import { appsShown, bindings, type Effect, type Event, type Model, update } from "../../src/cli/remote/model.ts";
import { keys as known } from "../../src/platforms/platform.ts";
import { app, bedroom, driving, livingRoom, state } from "./remote-model.ts";

/** The model and all effects after these keys. */
function after(model: Model, ...inputs: string[]): { model: Model; effects: Effect[] } {
  const effects: Effect[] = [];
  let now = model;
  for (const key of inputs) {
    const step = update(now, { name: "input", input: { key } });
    now = step.model;
    effects.push(...step.effects);
  }
  return { model: now, effects };
}

const told = (model: Model, event: Event) => update(model, event).model;
const press = (key: string, id = livingRoom.id): Effect => ({ name: "press", id, key });

describe("keys", () => {
  test("each presses its key, and lights up", () => {
    expect(bindings.filter(({ key }) => !known.some((one) => one === key))).toEqual([]);
    const typed = ["up", "enter", "backspace", " ", "h", "i", "o", "+", "=", "-", "m", "p", "r", "f", "page-up"];
    expect(after(driving(), ...typed).effects).toEqual(
      [
        "up",
        "select",
        "back",
        "play-pause",
        "home",
        "info",
        "options",
        "volume-up",
        "volume-up",
        "volume-down",
        "mute",
        "power",
        "rewind",
        "fast-forward",
        "channel-up",
      ].map((key) => press(key)),
    );
    expect(after(driving(), "h").model.lit).toBe("h");
    expect(told(after(driving(), "h").model, { name: "unlit" }).lit).toBeNull();
    expect(after(driving(), "x", "ä", "home").effects).toEqual([]);
  });

  test("power turns a set on that is off or silent, and toggles one that is not", () => {
    const off = driving({ seen: { state: state({ power: "standby" }) } });
    const silent = driving({ seen: { failure: { code: "device_unreachable", message: "did not answer" } } });
    expect([after(off, "p").effects, after(silent, "p").effects]).toEqual([[press("power-on")], [press("power-on")]]);
    expect(after(off, "p").model.notice?.text).toContain("turning it on");
    // Bedroom cannot be turned on: its own power key is all there is.
    const limited = { ...off, current: bedroom.id };
    expect(after(limited, "p").effects).toEqual([press("power", bedroom.id)]);
  });

  test("q, Esc and Ctrl-C quit; Ctrl-C from everywhere", () => {
    for (const key of ["q", "escape", "ctrl-c"]) expect(after(driving(), key).effects).toEqual([{ name: "quit" }]);
    for (const key of ["t", "/", "?"]) expect(after(driving(), key, "ctrl-c").effects.at(-1)).toEqual({ name: "quit" });
    expect(after(driving(), "ctrl-z", "ctrl-l").effects).toEqual([{ name: "suspend" }, { name: "redraw" }]);
  });

  test("Tab goes round, and asks at once what is on the next set", () => {
    const { model, effects } = after(driving(), "tab");
    expect([model.current, model.seen, effects]).toEqual([bedroom.id, null, [{ name: "look" }]]);
    expect(after(driving(), "tab", "tab").model.current).toBe(livingRoom.id);
    expect(after(driving(), "shift-tab").model.current).toBe(bedroom.id);
    const single = after(driving({ devices: [livingRoom] }), "tab");
    expect([single.effects, single.model.notice?.text]).toEqual([[], "no other set is known"]);
  });

  test("pasting presses nothing", () => {
    expect(update(driving(), { name: "input", input: { paste: "qph" } })).toEqual({ model: driving(), effects: [] });
  });
});

describe("the text line", () => {
  test("sends what was written; Esc and an empty line send nothing", () => {
    const written = after(driving(), "t", "h", "e", "y", "é", "backspace", " ", "q");
    expect(written.effects).toEqual([]);
    expect(written.model.mode).toEqual({ name: "text", text: "hey q" });
    expect(after(written.model, "enter").effects).toEqual([press("literal:hey q")]);
    expect(after(written.model, "escape")).toMatchObject({ effects: [], model: { mode: { name: "keys" } } });
    expect(after(driving(), "t", "enter").effects).toEqual([]);
    expect(after(written.model, "ctrl-w", "ctrl-u").model.mode).toEqual({ name: "text", text: "" });
  });

  test("takes a paste as one line without controls, and no more than the API does", () => {
    const { model } = after(driving(), "t");
    const pasted = told(model, { name: "input", input: { paste: `a\r\nb\x1b[31m${"x".repeat(2_000)}` } });
    expect(pasted.mode).toEqual({ name: "text", text: `a b[31m${"x".repeat(1_017)}` });
  });
});

describe("the app picker", () => {
  const apps = [
    app("Netflix"),
    app("YouTube"),
    app("YouTube TV"),
    app("Ciné Œuvres"),
    app("Gone", { installed: false }),
  ];
  const open = told(after(driving(), "/").model, { name: "apps", id: livingRoom.id, apps });
  const names = (filter: string) => appsShown(open, filter).map((one) => one.name);

  test("asks for the apps and filters as one types: beginnings first, accents aside, letters in order", () => {
    expect(after(driving(), "/").effects).toEqual([{ name: "list", id: livingRoom.id }]);
    expect(names("")).toEqual(["Netflix", "YouTube", "YouTube TV", "Ciné Œuvres"]);
    expect([names("tv"), names("cine"), names("nfx"), names("zzz")]).toEqual([
      ["YouTube TV"],
      ["Ciné Œuvres"],
      ["Netflix"],
      [],
    ]);
    expect(names("t")[0]).toBe("YouTube TV");
  });

  test("moves within the list, starts at its top after each letter, and launches", () => {
    const moved = after(open, "up", "down", "down", "down", "down", "down").model;
    expect(moved.mode).toEqual({ name: "apps", filter: "", at: 3 });
    expect(after(moved, "y").model.mode).toEqual({ name: "apps", filter: "y", at: 0 });
    const launched = after(open, "y", "down", "enter");
    expect(launched.effects).toEqual([{ name: "launch", id: livingRoom.id, app: "id-YouTube TV" }]);
    expect([launched.model.mode.name, launched.model.notice?.text]).toEqual(["keys", "launching YouTube TV …"]);
    expect(after(open, "z", "z", "enter").effects).toEqual([]);
  });

  test("closes when the list is refused", () => {
    const failure = { code: "device_refused", message: "Living Room refused", hint: "On the set: x" };
    const refused = told(after(driving(), "/").model, { name: "failed", id: livingRoom.id, what: "list", failure });
    expect([refused.mode.name, refused.notice]).toEqual([
      "keys",
      { text: "Living Room refused", hint: "On the set: x", loud: true },
    ]);
  });
});

describe("what comes back", () => {
  const failed = (code: string, what = "mute"): Event => ({
    name: "failed",
    id: livingRoom.id,
    what,
    failure: { code, message: `Living\u001b[2J Room said ${code}`, hint: "h" },
  });

  test("a key that the set lacks is remembered; a refusal says why until a press succeeds", () => {
    const lacking = told(driving(), failed("unsupported_key"));
    expect([lacking.absent, lacking.notice?.hint]).toEqual([{ [livingRoom.id]: ["mute"] }, undefined]);
    expect(told(lacking, failed("unsupported_key")).absent[livingRoom.id]).toEqual(["mute"]);
    const refused = told(driving(), failed("device_refused"));
    expect(refused.notice).toEqual({ text: "Living[2J Room said device_refused", hint: "h", loud: true });
    expect(told(refused, { name: "done", id: bedroom.id, what: "home" }).notice).not.toBeNull();
    expect(told(refused, { name: "done", id: livingRoom.id, what: "home" }).notice).toBeNull();
  });

  test("what another set tells late does not stand for this one, but its entry is brought up to date", () => {
    const late = told(driving(), {
      name: "state",
      id: bedroom.id,
      device: { ...bedroom, access: "full" },
      state: state({ power: "off" }),
    });
    expect([late.seen, late.devices[1]?.access]).toEqual([driving().seen, "full"]);
  });

  test("a lost daemon is said, closes what waits for it, and is forgotten with its first answer", () => {
    const lost = told(after(driving(), "/").model, { name: "lost" });
    expect([lost.lost, lost.mode.name]).toEqual([true, "keys"]);
    expect(told(lost, { name: "devices", devices: [livingRoom] }).lost).toBe(false);
  });

  test("a set that was forgotten gives way to the first that is left, or to none", () => {
    expect(update(driving(), { name: "devices", devices: [bedroom] })).toMatchObject({
      model: { current: bedroom.id, seen: null },
      effects: [{ name: "look" }],
    });
    const none = update(driving(), { name: "devices", devices: [] });
    expect([none.model.current, none.effects, after(none.model, "h", "t", "/", "p").effects]).toEqual([null, [], []]);
  });
});
