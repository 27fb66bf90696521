/** Keys and text as they reach a Roku, byte for byte. */
import { expect, test } from "bun:test";
import type { Style } from "../support/wire.ts";
import { ask, refused, succeed } from "./checked.ts";
import { daemonForFile } from "./daemon-for-file.ts";

const { daemon, addRoku } = await daemonForFile({ speed: 1, config: { devices: { request_timeout_ms: 3_000 } } });

/** The keys of SPEC.md 2 by the names of the protocol notes; `null`: no Roku has the key. */
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
  "input-hdmi1": "InputHDMI1",
  "input-hdmi2": "InputHDMI2",
  "input-hdmi3": "InputHDMI3",
  "input-hdmi4": "InputHDMI4",
  "input-av": "InputAV1",
  "input-tuner": "InputTuner",
  search: "Search",
  info: "Info",
  options: "Info",
};

test.concurrent("every key of the specification", async () => {
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

const styles: readonly Style[] = [{}, { old: true }, { chunked: true, dribble: true }];
test.concurrent("text is sent as one encoded key for each character, however the set frames its answers", async () => {
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

test.concurrent.each<Style>([{ lengthless: true }, { close: "rude" }])(
  "each key reaches a set once that answers without a length, or hangs up after each answer: %j",
  async (style) => {
    const { set, id } = await addRoku({ style });
    for (const key of ["up", "down", "left"]) await succeed(daemon, "pressKey", { id, body: { key } });
    await succeed(daemon, "pressKeys", { id, body: { keys: ["up", "up", "select"], delay_ms: 0 } });
    expect(set.commands).toEqual(["Up", "Down", "Left", "Up", "Up", "Select"].map((name) => `/keypress/${name}`));
  },
);
