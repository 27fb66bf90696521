/**
 * T31: a caller's words are echoed as sent, or not at all: a replaced secret would confirm a guess. Secrets that devices send stay
 * out of every answer.
 */
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { zipSync } from "fflate";
import { createKodiSimulator } from "../../src/simulators/kodi.ts";
import { daemonForFile } from "../blackbox/daemon-for-file.ts";
import { answer, startHttpDevice, until } from "../support/http-device.ts";
import { callTo } from "../support/raw-http.ts";
import { slowTest } from "../support/whole.ts";
import { WiredRoku } from "../support/wired-roku.ts";

const vendor = "velvet-otter-31";
const login = "quiet-heron-77";
const { daemon, atEnd, startSimulator, startRoku } = await daemonForFile({
  config: { dev: { vendor_password: vendor }, devices: { request_timeout_ms: 5_000 } },
});
const kodi = await startSimulator(
  createKodiSimulator({ name: "Cinema", mdns: false, password: login, port: 0, tcpPort: null }),
);
const roku = await startRoku();
const silent = await startHttpDevice(() => answer(500, "no"));
atEnd(silent.stop);
for (const body of [
  { ...roku.address, name: "Den" },
  { host: kodi.host, port: kodi.port, platform: "kodi", name: "Cinema" },
])
  expect((await daemon.api("POST", "/devices", body)).status).toBe(200);
expect((await daemon.api("POST", "/devices/Cinema/pair", { user: "kodi", password: login })).status).toBe(200);
// `used` changes with the first use, and is not compared.
await daemon.api("GET", "/devices/Den/dev/logs");
await until("it is used", async () => (await daemon.api("GET", "/devices/Den")).body.data.used);

/** One call as bytes, so that the guess is sent unchanged. */
async function ask(method: string, path: string, body?: string, more: readonly string[] = []): Promise<string> {
  const { status, body: text } = await callTo(daemon.port, method, path, more, body, { patienceMs: 15_000 });
  return `${status} ${text}`;
}

/** The answer without the guess, in any spelling, and without what changes with time. */
const blank = (text: string, guess: string) =>
  [guess, encodeURIComponent(guess), guess.toLowerCase(), guess.replaceAll("-", " ")]
    .reduce((rest, form) => rest.replaceAll(form, "<guess>"), text)
    .replace(/"(last_seen|observed_at|added_at)":"[^"]*"/g, '"$1":""')
    .replace(/"uptime_s":\d+/g, '"uptime_s":0');

const letters = "abcdefghijklmnopqrstuvwxyz";
/** As long as the secrets, and of the same form. */
function wrong(number: number): string {
  const word = (seed: number, length: number) =>
    Array.from({ length }, (_, at) => letters[(seed * 7 + at * 11 + (seed >> at)) % 26]).join("");
  return `${word(number, 6)}-${word(number * 3 + 1, 5)}-${10 + (number % 89)}`;
}

slowTest(
  "T31 20 001 guesses of a name: every answer is the same but for the guess, and 0 secrets are found",
  async () => {
    const guesses = Array.from({ length: 19_999 }, (_, number) => wrong(number));
    guesses.splice(7_000, 0, vendor);
    guesses.splice(14_000, 0, login);
    expect(guesses).toHaveLength(20_001);
    const answers = new Map<string, string[]>();
    let next = 0;
    const lane = async () => {
      for (let at = next++; at < guesses.length; at = next++) {
        const guess = guesses[at] ?? "";
        const response = await fetch(`${daemon.url}/devices/${guess}`);
        const said = blank(await response.text(), guess);
        answers.set(said, [...(answers.get(said) ?? []), guess]);
      }
    };
    await Promise.all(Array.from({ length: 16 }, lane));
    expect([...answers.keys()]).toHaveLength(1);
    expect([...answers.keys()].join()).toContain("device_not_found");
    expect([...answers.keys()].join()).not.toContain("[redacted]");
  },
);

/** Every place in which a caller's words come back: each is asked with a wrong word, and with each secret. */
const form = (name: string, title: string) => {
  const archive = zipSync({ manifest: Buffer.from(`title=${title}\n`), "a.txt": Buffer.alloc(700, title) });
  return Buffer.concat([
    Buffer.from(`--B\r\nContent-Disposition: form-data; name="${name}"; filename="${title}.zip"\r\n\r\n`),
    archive,
    Buffer.from("\r\n--B--\r\n"),
  ]).toString("latin1");
};
const json = (value: unknown) => JSON.stringify(value);
const places: Readonly<Record<string, (guess: string) => Promise<string>>> = {
  "a path": (guess) => ask("GET", `/v1/${guess}`),
  "a path outside": (guess) => ask("GET", `/${guess}/x`),
  "a path, and another method": (guess) => ask("POST", `/v1/devices/${guess}`),
  "a method": (guess) => ask(guess.replaceAll("-", "").toUpperCase(), "/v1/devices"),
  "an encoded name": (guess) => ask("GET", `/v1/devices/x${encodeURIComponent(` ${guess}`)}/state`),
  "a name with a slash": (guess) => ask("GET", `/v1/devices/${guess}%2Fx/state`),
  "a name to act on": (guess) => ask("POST", `/v1/devices/${guess}/remote/key`, json({ key: "home" })),
  "a name to remove": (guess) => ask("DELETE", `/v1/devices/${guess}`),
  "a query": (guess) => ask("GET", `/v1/devices/Den/dev/logs?${guess}=${guess}`),
  "a key": (guess) => ask("POST", "/v1/devices/Den/remote/key", json({ key: guess })),
  "a key of a sequence": (guess) => ask("POST", "/v1/devices/Den/remote/sequence", json({ keys: ["up", guess] })),
  "a member": (guess) => ask("POST", "/v1/devices/Den/remote/key", json({ key: "home", [guess]: 1 })),
  "a body that is not JSON": (guess) => ask("POST", "/v1/devices/Den/remote/key", `{"key": ${guess}`),
  "an app of a Roku": (guess) => ask("POST", "/v1/devices/Den/apps/launch", json({ app: guess })),
  "an app of a Kodi": (guess) => ask("POST", "/v1/devices/Cinema/apps/launch", json({ app: guess })),
  "an add-on of a Kodi": (guess) => ask("POST", "/v1/devices/Cinema/apps/launch", json({ app: `plugin.${guess}` })),
  "parameters of an app": (guess) =>
    ask("POST", "/v1/devices/Den/apps/launch", json({ app: "no such app", params: { [guess]: guess } })),
  "a host": (guess) => ask("POST", "/v1/devices", json({ host: `${guess}.invalid` })),
  "a host with a login": (guess) => ask("POST", "/v1/devices", json({ host: `${guess}@127.0.0.1` })),
  "a platform": (guess) => ask("POST", "/v1/devices", json({ host: "127.0.0.1", platform: guess })),
  "a name with a new device": (guess) =>
    ask("POST", "/v1/devices", json({ ...silent.address, platform: "roku", name: guess })),
  "a name that cannot be": (guess) => ask("PATCH", "/v1/devices/Den", json({ name: `${guess}/x` })),
  "a port": (guess) => ask("PATCH", "/v1/devices/Den", json({ ports: { [guess]: 80 } })),
  "a setting": (guess) => ask("PATCH", "/v1/config", json({ [guess]: 1 })),
  "a value": (guess) => ask("PATCH", "/v1/config", json({ "daemon.log_level": guess })),
  "an origin": (guess) => ask("PATCH", "/v1/config", json({ "daemon.cors_allowed_origins": `http://${guess}/` })),
  "a list as a value": (guess) => ask("PATCH", "/v1/config", json({ [guess]: [guess] })),
  "a password that cannot be": (guess) => ask("PATCH", "/v1/config", json({ "dev.vendor_password": `${guess}\u0007` })),
  "a page's origin": (guess) => ask("DELETE", "/v1/devices/Den", undefined, [`Origin: http://${guess}`]),
  "a user to pair as": (guess) =>
    ask("POST", "/v1/devices/Cinema/pair", json({ user: guess, password: "not this one" })),
  "a field of a form": (guess) =>
    ask("POST", "/v1/devices/Den/dev/install", form(guess, "x"), ["Content-Type: multipart/form-data; boundary=B"]),
};

for (const [place, guessAt] of Object.entries(places))
  test(`T31 ${place} comes back as it was sent, whether or not it is a secret`, async () => {
    const before = blank(await guessAt(wrong(1)), wrong(1));
    expect(before).not.toContain("[redacted]");
    for (const guess of [wrong(2), vendor, login]) expect(blank(await guessAt(guess), guess)).toBe(before);
  });

test("T31 a device keeps the name that a caller gave it, in failures as well", async () => {
  const said: string[] = [];
  for (const guess of [wrong(1), vendor, login]) {
    expect(await ask("PATCH", "/v1/devices/Den", json({ name: guess }))).toStartWith("200");
    expect(await ask("PATCH", "/v1/config", json({ "daemon.default_device": guess }))).toStartWith("200");
    roku.broken.set("/keypress/Home", { status: 500 });
    const calls = [
      await ask("POST", `/v1/devices/${guess}/remote/key`, json({ key: "home" })),
      await ask("POST", "/v1/devices/default/remote/key", json({ key: "home" })),
      await ask("PATCH", "/v1/devices/Cinema", json({ name: guess })),
      await ask("GET", "/v1/devices/nobody"),
    ];
    roku.broken.clear();
    expect(calls[0]).toContain(guess);
    said.push(calls.map((call) => blank(call, guess)).join("\n"));
    expect(await ask("PATCH", `/v1/devices/${guess}`, json({ name: "Den" }))).toStartWith("200");
  }
  expect(new Set(said).size).toBe(1);
  expect(said[0]).not.toContain("[redacted]");
  // The log may be read by others than the caller.
  expect(daemon.log()).not.toContain(vendor);
  expect(daemon.log()).not.toContain(login);
});

test("T31 a default device that does not exist is named as it was set", async () => {
  const said: string[] = [];
  for (const guess of [wrong(1), vendor, login]) {
    await ask("PATCH", "/v1/config", json({ "daemon.default_device": guess }));
    said.push(blank(await ask("GET", "/v1/devices/default"), guess));
  }
  await ask("PATCH", "/v1/config", json({ "daemon.default_device": null }));
  expect(new Set(said).size).toBe(1);
  expect(said[0]).toContain("default_device_missing");
});

test("T13 T31 the error of a broken config holds no secret", async () => {
  const text = await Bun.file(daemon.configFile).text();
  writeFileSync(daemon.configFile, `${text}\n[x]\n${vendor} = ${vendor}\n"${login}\n`);
  for (const [method, path] of [
    ["GET", "/v1/config"],
    ["POST", "/v1/config/reload"],
  ] as const) {
    const said = await ask(method, path);
    expect(said).toContain("config_invalid");
    expect(said).not.toContain(vendor);
    expect(said).not.toContain(login);
  }
  writeFileSync(daemon.configFile, text);
});

test("T13 T31 a secret that a device says is redacted in the answer, whatever the caller says", async () => {
  const dev = { id: "dev", name: `Lantern ${vendor}`, type: "appl", version: "1.0.0" } as const;
  const leaky = await WiredRoku.start({ apps: [dev], launchMs: 60_000 });
  try {
    await daemon.api("POST", "/devices", { ...leaky.address, name: "Attic" });
    const said = await ask("POST", "/v1/devices/Attic/dev/reload", undefined);
    expect(said).toContain("Lantern [redacted]");
    expect(said).not.toContain(vendor);
    await daemon.api("DELETE", "/devices/Attic");
  } finally {
    await leaky.stop();
  }
});

test("T31 a password that is set to its present value is written as well", async () => {
  const before = (await Bun.file(daemon.configFile).stat()).ino;
  expect((await daemon.api("PATCH", "/config", { "dev.vendor_password": vendor })).status).toBe(200);
  expect((await Bun.file(daemon.configFile).stat()).ino).not.toBe(before);
});
