/** Keys and text as they reach a set, byte for byte. */
import { expect, test } from "bun:test";
import type { Style } from "../support/wire.ts";
import { ask, refuse, refused, succeed } from "./checked.ts";
import { daemonForFile } from "./daemon-for-file.ts";

const { daemon, addRoku } = await daemonForFile({ speed: 1, config: { devices: { request_timeout_ms: 3_000 } } });

/** SPEC.md 2, and what the protocol notes call each; `null`: no set of this make has it. */
const keys: Readonly<Record<string, string | null>> = {
  home: "Home",
  back: "Back",
  up: "Up",
  down: "Down",
  left: "Left",
  right: "Right",
  select: "Select",
  "play-pause": "Play",
  stop: null,
  rewind: "Rev",
  "fast-forward": "Fwd",
  replay: "InstantReplay",
  skip: null,
  "volume-up": "VolumeUp",
  "volume-down": "VolumeDown",
  mute: "VolumeMute",
  power: "Power",
  "power-on": "PowerOn",
  "power-off": "PowerOff",
  "channel-up": "ChannelUp",
  "channel-down": "ChannelDown",
  ...{
    "input-hdmi1": "InputHDMI1",
    "input-hdmi2": "InputHDMI2",
    "input-hdmi3": "InputHDMI3",
    "input-hdmi4": "InputHDMI4",
  },
  "input-av": "InputAV1",
  "input-tuner": "InputTuner",
  search: "Search",
  info: "Info",
  options: "Info",
};

test.concurrent("every key of the spec against a television", async () => {
  const { set, id } = await addRoku();
  for (const [key, name] of Object.entries(keys)) {
    set.forget();
    await (key === "power-on" ? set.simulator.sleep("standby") : set.simulator.wake());
    if (name === null) {
      const answered = await ask(daemon, "pressKey", { id, body: { key } });
      if (answered.status !== 200) refused(answered, "unsupported_key");
      continue;
    }
    expect((await succeed(daemon, "pressKey", { id, body: { key } })).key).toBe(key);
    expect([key, ...set.commands]).toEqual([key, `/keypress/${name}`]);
  }
});

test.concurrent("what is no key is refused, and nothing is sent", async () => {
  const { set, id } = await addRoku();
  set.forget();
  for (const key of [
    "Home",
    "HOME",
    "home ",
    "",
    "nope",
    "literal:",
    "literal",
    "input-hdmi5",
    "home/../launch/12",
    "__proto__",
    "toString",
    "\u0000",
  ]) {
    const answered = await ask(daemon, "pressKey", { id, body: { key } });
    refused(answered, "invalid_key", "invalid_payload");
  }
  for (const body of [
    undefined,
    {},
    { key: 1 },
    { key: null },
    { key: ["home"] },
    { keys: "home" },
    [],
    "home",
    { key: "home", hold: true },
  ]) {
    await refuse(daemon, "pressKey", { id, body }, "invalid_payload", "invalid_key");
  }
  await refuse(daemon, "pressKey", { id, body: { key: "literal:a\u0007b" } }, "invalid_payload", "invalid_key");
  await refuse(
    daemon,
    "pressKey",
    { id, body: { key: `literal:${"a".repeat(1_025)}` } },
    "invalid_payload",
    "invalid_key",
  );
  expect(set.commands).toEqual([]);
});

const text = "héllo wörld/%+ 📺";
const letters = [
  "h",
  "%C3%A9",
  "l",
  "l",
  "o",
  "%20",
  "w",
  "%C3%B6",
  "r",
  "l",
  "d",
  "%2F",
  "%25",
  "%2B",
  "%20",
  "%F0%9F%93%BA",
].map((letter) => `/keypress/Lit_${letter}`);

const styles: readonly Style[] = [
  {},
  { close: "said" },
  { old: true },
  { dribble: true },
  { lengthless: true, close: "said" },
  { chunked: true },
];
test.concurrent("text goes character by character, exactly encoded, however the set frames its answers", async () => {
  await Promise.all(
    styles.map(async (style) => {
      const { set, id } = await addRoku({ style });
      set.forget();
      expect((await succeed(daemon, "pressKey", { id, body: { key: `literal:${text}` } })).key).toBe(`literal:${text}`);
      const sent = set.wire.requests.filter((request) => request.method === "POST");
      const lines = sent.map((request) => request.head.split("\r\n")[0]);
      expect(lines).toEqual(letters.map((letter) => `POST ${letter} HTTP/1.1`));
    }),
  );
});

test.concurrent("a set that keeps the connection open and tells no length of an empty answer has still taken the key", async () => {
  const { set, id } = await addRoku({ style: { lengthless: true } });
  set.forget();
  const started = performance.now();
  await succeed(daemon, "pressKey", { id, body: { key: "up" } });
  expect(performance.now() - started).toBeLessThan(4_000);
  await succeed(daemon, "pressKeys", { id, body: { keys: ["left", "right"], delay_ms: 0 } });
  expect(set.commands).toEqual(["/keypress/Up", "/keypress/Left", "/keypress/Right"]);
});

// The connection on which such a set proved who it is ends before the key, which goes over one opened right behind it.
test("a set that hangs up after each answer without a word takes every key once", async () => {
  const { set, id } = await addRoku({ style: { close: "rude" } });
  set.forget();
  for (const key of ["up", "down", "left"]) await succeed(daemon, "pressKey", { id, body: { key } });
  await succeed(daemon, "pressKeys", { id, body: { keys: ["up", "up", "select"], delay_ms: 0 } });
  expect(set.commands).toEqual(["Up", "Down", "Left", "Up", "Up", "Select"].map((name) => `/keypress/${name}`));
});
