/** `zapd pair` at a terminal: it asks for what the set shows or wants, and gives up cleanly. */
import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { type AskingHouse, AskingSet, openAskingHouse } from "../support/asking-house.ts";
import { zapdWords } from "../support/daemon.ts";
import { until } from "../support/http-device.ts";
import { runZapd } from "./program.ts";
import { InTerminal, noJobs, plain } from "./terminal.ts";

const program = zapdWords();
let house: AskingHouse;
let set: AskingSet;
let name = "";
let made = 0;

beforeAll(async () => {
  house = await openAskingHouse();
});
afterAll(() => house.dispose());
beforeEach(() => meet("code", "271828"));

async function meet(asks: AskingSet["asks"], secret: string): Promise<void> {
  set = new AskingSet(asks, secret);
  name = `Set ${++made}`;
  await house.add(name, set);
}

const environment = () => ({ PATH: process.env["PATH"] ?? "", HOME: house.folder, ZAPD_SOCKET: house.socket });
const options = () => ({ cwd: house.folder, env: environment(), columns: 100 });
const pair = (...words: string[]) => new InTerminal([...program, "pair", name, ...words], options());

/** The same without a terminal. */
const piped = (input: string, ...words: string[]) =>
  runZapd(["pair", name, ...words], { cwd: house.folder, env: environment(), input });
const access = async () => {
  const { body } = await house.api("GET", `/devices/${encodeURIComponent(name)}`);
  return body.data.access;
};

test("a code: is entered and taken back whatever became of the name, and after the time of --timeout", async () => {
  for (const [typed, end] of [
    ["271828\r", 0],
    ["\x03", "SIGINT"],
  ] as const) {
    await meet("code", "271828");
    const screen = pair("--timeout", "2s");
    await screen.shows("Code (");
    await house.api("PATCH", `/devices/${encodeURIComponent(name)}`, { name: `${name} upstairs` });
    await Bun.sleep(2_100);
    screen.type(typed);
    expect([typed, await screen.ended, set.showing]).toEqual([typed, end, false]);
    if (end === 0) expect(screen.lines().at(-1)).toBe(`paired with ${name} upstairs`);
  }
});

test("a code: Enter alone is none, and not called a different one", async () => {
  const screen = pair();
  await screen.shows("Code (");
  screen.type("\r");
  await screen.shows(/Code \(\d+ s\): [\s\S]*\n[^\n]*Code \(\d+ s\): /);
  expect(screen.text).not.toContain("different code");
  screen.type("271828\r");
  expect(await screen.ended).toBe(0);
});

test("a code: asked for with its shape and the time that is left; a wrong one may be mended", async () => {
  const screen = pair();
  await screen.shows(`${name} shows a code of 6 digits. Code (60 s): `);
  await screen.shows(/Code \(5\d s\): /);
  // More often than a runtime takes for a leak of listeners.
  const wrong = Array.from({ length: 11 }, () => "314159");
  for (const count of wrong.keys()) {
    screen.type("314159\r");
    await screen.shows(new RegExp(`(?:\\n[^\\n]*That was a different code. Code [^\\n]*){${count + 1}}`));
  }
  screen.type("27182\x7f28\r");
  expect(await screen.ended).toBe(0);
  expect(screen.lines().at(-1)).toBe(`paired with ${name}`);
  expect(screen.text).not.toContain("Warning");
  expect([set.typed, await access()]).toEqual([[...wrong, "271828"], "full"]);
});

test("a code: a narrow terminal is not overrun, and what is typed stays in sight", async () => {
  const screen = new InTerminal([...program, "pair", name], { ...options(), columns: 40 });
  await screen.shows(/Code \(\d+ s\): \x1b\[K/);
  screen.type("2718");
  await screen.shows(/Code \(\d+ s\): 2718\x1b/);
  screen.type("28\r");
  expect(await screen.ended).toBe(0);
  const drawn = screen.text.split(/[\r\n]+/).filter((line) => line.includes("Code ("));
  expect(drawn.filter((line) => plain(line).length > 39)).toEqual([]);
});

test("a code: a dumb terminal is asked once, and echoes and erases what is typed itself", async () => {
  const screen = new InTerminal([...program, "pair", name], { ...options(), env: { ...environment(), TERM: "dumb" } });
  await screen.shows(/Code \(\d+ s\): /);
  await Bun.sleep(1_200);
  screen.type("314159\n");
  await screen.shows("That was a different code. Code (");
  screen.type("27182\x7f28\n");
  expect(await screen.ended).toBe(0);
  expect(screen.text).not.toContain("\x1b");
  expect(screen.text.match(/Code \(/g)).toHaveLength(2);
  expect(set.typed).toEqual(["314159", "271828"]);
});

test("a code: Ctrl-C takes it from the screen of the set, and so do SIGHUP and the end of the terminal", async () => {
  for (const [end, ends] of [
    ["SIGINT", (screen) => screen.type("\x03")],
    ["SIGHUP", (screen) => screen.kill("SIGHUP")],
    // It ends the command by its signal, or by the input that is no more.
    [/^(?:1|129|SIGHUP)$/, (screen) => void screen.hangUp()],
  ] as readonly (readonly [string | RegExp, (screen: InTerminal) => void])[]) {
    const screen = pair();
    await screen.shows("Code (");
    screen.type("2718");
    ends(screen);
    expect(`${await screen.ended}`).toMatch(end);
    await until("nothing is shown any more", () => !set.showing);
  }
  expect(await access()).toBe("unpaired");
});

test("a code: the time is over while it is typed", async () => {
  set.expiresMs = 1_900;
  const screen = pair();
  await screen.shows(/Code \([12] s\): /);
  screen.type("2718");
  expect(await screen.ended).toBe(5);
  expect(screen.text).toContain(`zapd: ${name} no longer waits for it`);
  expect(set.typed).toEqual([]);
});

test("a login: the name is shown, the password is not, and both may be typed once more", async () => {
  await meet("login", "me:open sesame");
  const screen = pair();
  await screen.shows(`user of ${name}: `);
  screen.type("me\r");
  await screen.shows("password of me: ");
  screen.type("sesame\r");
  await screen.shows("Once more");
  await screen.shows(/Once more[\s\S]*user of/);
  screen.type("me\r");
  await screen.shows(/Once more[\s\S]*password of me: /);
  screen.type("open sesame\r");
  expect(await screen.ended).toBe(0);
  expect(screen.text).not.toContain("sesame");
  expect([set.typed, await access()]).toEqual([["me:sesame", "me:open sesame"], "full"]);
});

if (noJobs) process.stderr.write(`skipped: Ctrl-C in a real terminal: ${noJobs}\n`);
test.skipIf(noJobs !== null)("what is accepted at the set is waited for, and Ctrl-C gives it up", async () => {
  await meet("confirm", "accepted");
  const terminal = InTerminal.withJobs([...program, "pair", name], options());
  await until("it is asked", () => set.showing);
  terminal.type("\x03");
  expect(await terminal.end()).toBe("130 cooked");
  await until("nothing is shown any more", () => !set.showing);
});

test.skipIf(noJobs !== null)("a password that is typed hidden: a signal leaves the terminal as it was", async () => {
  const set = [...program, "config", "set", "dev.vendor_password", "-"];
  const terminal = InTerminal.withJobs(["sh", "-c", 'echo "job $$"; exec "$@"', "sh", ...set], options());
  await terminal.shows("vendor_password: ");
  process.kill(Number(/job (\d+)/.exec(terminal.text)?.[1]), "SIGHUP");
  expect(await terminal.end()).toBe("129 cooked");
});

test("without a terminal it says what to give, and the code that is shown can be given", async () => {
  const { status, stderr } = await piped("");
  expect([status, stderr]).toEqual([
    5,
    expect.stringMatching(
      /shows a code of 6 digits, but there is no terminal to type it in\.\n +Within \d+ s: zapd pair "Set \d+" --pin CODE\n$/,
    ),
  ]);
  expect(set.showing).toBe(true);
  expect(await piped("", "--pin", "271828")).toEqual({ status: 0, stdout: "", stderr: `paired with ${name}\n` });
  expect(set.times).toBe(1);
});

test("for a program the step is the answer, and the command that ends it takes part in the same pairing", async () => {
  const { status, stdout } = await piped("", "--json");
  expect([status, JSON.parse(stdout).data]).toEqual([0, expect.objectContaining({ step: "code", length: 6 })]);
  const wrong = await piped("", "--pin", "000000", "--json");
  expect([wrong.status, JSON.parse(wrong.stdout).error.reason]).toEqual([5, "wrong"]);
  expect((await piped("", "--cancel")).stderr).toBe(`no longer pairing with ${name}\n`);
  expect(set.showing).toBe(false);
});

test("a password comes from a pipe, and is no word of the command", async () => {
  await meet("login", "me:open sesame");
  expect((await piped("", "--password", "open sesame")).status).toBe(2);
  expect((await piped("open sesame\n", "--user", "me", "--password", "-")).stderr).toBe(`paired with ${name}\n`);
});
