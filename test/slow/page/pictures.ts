/**
 * Takes the pictures of the README, of the page before the demo's sets, into `.github/pictures`: `npm run pictures`. By
 * hand, when the page looks otherwise than on them.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { look, pressNamed, shows, startBrowser } from "../../support/browser.ts";
import { validPackage } from "../../support/daemon-with-roku.ts";
import { startDemo } from "../../support/demo.ts";

const into = join(import.meta.dir, "../../..", ".github/pictures");
mkdirSync(into, { recursive: true });
const demo = await startDemo();
const browser = await startBrowser();

async function api(path: string, body?: unknown): Promise<{ data: { id: string; name: string }[] }> {
  const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  return (await fetch(`http://127.0.0.1:${demo.port}/v1${path}`, init)).json() as Promise<{
    data: { id: string; name: string }[];
  }>;
}
const { data: devices } = await api("/devices");
const idOf = (name: string) => devices.find((one) => one.name === name)?.id ?? "";

await demo.logIn();
await api("/devices/Cinema/media", { url: "http://127.0.0.1:9/The%20Third%20Man.mp4", title: "The Third Man" });
await api("/devices/Living%20Room/apps/launch", { app: "netflix" });
await api("/devices/Attic/media", { url: "http://127.0.0.1:9/film.mp4", title: "The Blue Planet" });
await api("/devices/Terrace/media", { url: "http://127.0.0.1:9/nocturnes.mp3", title: "Nocturnes" });

const form = new FormData();
form.append("archive", new Blob([new Uint8Array(validPackage)]), "package.zip");
await fetch(`http://127.0.0.1:${demo.port}/v1/devices/Workbench/dev/install`, { method: "POST", body: form });

interface Shot {
  readonly name: string;
  readonly at: string;
  readonly width: number;
  readonly height: number;
  readonly scheme: "light" | "dark";
  /** What is done before it is taken. */
  readonly press?: readonly string[];
  /** What is on it. */
  readonly has: string;
}

const shots: readonly Shot[] = [
  { name: "house", at: "", width: 1100, height: 800, scheme: "light", has: "Terrace" },
  { name: "remote", at: `/remote/${idOf("Living Room")}`, width: 1100, height: 800, scheme: "dark", has: "Netflix" },
  { name: "phone", at: `/remote/${idOf("Cinema")}`, width: 390, height: 800, scheme: "light", has: "The Third Man" },
  {
    name: "pairing",
    at: `/remote/${idOf("Kitchen")}`,
    width: 390,
    height: 800,
    scheme: "dark",
    press: ["Pair Kitchen"],
    has: "Kitchen",
  },
  { name: "activity", at: "/activity", width: 1100, height: 800, scheme: "dark", has: "Netflix" },
  { name: "developer", at: `/dev/${idOf("Workbench")}`, width: 1100, height: 800, scheme: "light", has: "Workbench" },
];
for (const { name, at, width, height, scheme, press = [], has } of shots) {
  const { page, close } = await look(browser, demo.port, { width, height, scheme, at });
  await shows(page, has);
  for (const one of press) await pressNamed(page, one);
  await Bun.sleep(1_200);
  await page.screenshot({ path: join(into, `${name}.png`) as `${string}.png`, optimizeForSpeed: false });
  await close();
}
await browser.close();
await demo.stop();
