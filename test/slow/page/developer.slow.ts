/** The developer view in a real browser: packages dropped and chosen, consoles read, screens seen, as a person would. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Page } from "puppeteer-core";
import { createRokuSimulator, type RokuSimulator } from "../../../src/simulators/roku.ts";
import { pressFirst, pressNamed, shows, until, write } from "../../support/browser.ts";
import { type DaemonWithRoku, password, startDaemonWithRoku } from "../../support/daemon-with-roku.ts";
import { testFolder } from "../../support/folder.ts";
import { writeZip } from "../../support/zip.ts";
import { demoFor, describePage, listens } from "./stage.ts";

/** Sets take none of under 512 bytes. */
const noise = Array.from({ length: 200 }, (_, at) => Math.sin(at + 1).toString(36)).join("");
const manifest = (build: number) => `title=Hello\nmajor_version=1\nminor_version=0\nbuild_version=${build}\n`;
const filesOf = (build: number, more: Readonly<Record<string, string>> = {}) => ({
  manifest: manifest(build),
  "source/main.brs": "sub Main()\nend sub\n",
  "images/noise.txt": noise,
  ...more,
});
/** A line that the simulated set does not compile. */
const broken = {
  "source/main.brs": "sub Main()\n#compile-error\nend sub\n",
  "source/util.brs": "\n\n\n#compile-error\n",
};

describePage("the developer view", (visitAt) => {
  const visit = (port: number, id: string) => visitAt(port, { at: id === "" ? "" : `/dev/${id}` });
  const folder = testFolder();

  function zipFile(name: string, files: Readonly<Record<string, string>>): string {
    writeFileSync(join(folder, name), writeZip(Object.entries(files).map(([name, content]) => ({ name, content }))));
    return join(folder, name);
  }
  function folderOf(name: string, files: Readonly<Record<string, string>>): string {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, name, path)), { recursive: true });
      writeFileSync(join(folder, name, path), text);
    }
    return join(folder, name);
  }
  /** Chooses in the dialog that a button opens. */
  async function choose(page: Page, button: string, path: string): Promise<void> {
    const [dialog] = await Promise.all([page.waitForFileChooser(), pressNamed(page, button)]);
    await dialog.accept([path]);
  }
  /** Drags files or folders of this machine over the page, and lets them go. */
  async function drop(page: Page, paths: readonly string[]): Promise<void> {
    await shows(page, "Drop a ZIP or a folder");
    await listens(page);
    const session = await page.createCDPSession();
    const data = { items: [], files: [...paths], dragOperationsMask: 1 };
    for (const type of ["dragEnter", "dragOver"] as const)
      await session.send("Input.dispatchDragEvent", { type, x: 300, y: 300, data });
    await shows(page, "Release to send it");
    await session.send("Input.dispatchDragEvent", { type: "drop", x: 300, y: 300, data });
    await session.detach();
  }
  type Pictures = { readonly pictures: { arrive(): void; readonly asked: number; readonly kept: number } };
  /** Holds each picture back until it is told to arrive. */
  async function holdPictures(page: Page) {
    await page.evaluate(() => {
      const ask = fetch;
      const keep = URL.createObjectURL;
      const pictures = { arrive: () => {}, asked: 0, kept: 0 };
      Object.assign(globalThis, { pictures });
      URL.createObjectURL = (picture) => {
        pictures.kept++;
        return keep(picture);
      };
      globalThis.fetch = (async (address: string, init: RequestInit) => {
        if (!address.includes("/screenshot")) return ask(address, init);
        pictures.asked++;
        await new Promise<void>((resolve) => {
          pictures.arrive = resolve;
        });
        return new Response("picture", { headers: { "content-type": "image/png" } });
      }) as typeof fetch;
    });
    const read = (what: "asked" | "kept") =>
      page.evaluate((name) => (globalThis as unknown as Pictures).pictures[name], what);
    return {
      arrive: () => page.evaluate(() => (globalThis as unknown as Pictures).pictures.arrive()),
      asked: () => read("asked"),
      kept: () => read("kept"),
    };
  }

  /** Asks for a picture, and holds it back. */
  async function askForPicture(page: Page) {
    const button = '[aria-labelledby="dev-screen"] header button';
    await page.waitForSelector(`${button}:not([aria-busy])`);
    const pictures = await holdPictures(page);
    await pressFirst(page, button);
    await until(page, "it is asked for", () => (globalThis as unknown as Pictures).pictures.asked === 1);
    return pictures;
  }

  const consoleLines = (page: Page) =>
    page.evaluate(() => [...document.querySelectorAll(".dev-lines div")].map((line) => line.textContent ?? ""));

  describe("at the demo's Workbench", () => {
    const demo = demoFor({ loggedIn: false });
    const { api } = demo;
    /** The view, once the picture that it takes by itself has been answered. */
    async function visitPictured() {
      let answered: Promise<unknown> | undefined;
      const looked = await visitAt(demo.port(), {
        at: `/dev/${demo.idOf("Workbench")}`,
        opened: (page) => {
          answered = page.waitForResponse((one) => one.url().includes("/screenshot"));
        },
      });
      await answered;
      return looked;
    }

    test("a ZIP that is chosen runs; its console comes live, is paused, filtered and copied", async () => {
      const { page, axeEverywhere } = await visit(demo.port(), demo.idOf("Workbench"));
      await page
        .browserContext()
        .overridePermissions(`http://127.0.0.1:${demo.port()}`, ["clipboard-read", "clipboard-sanitized-write"]);
      await choose(page, "Choose a ZIP", zipFile("hello.zip", filesOf(1)));
      await shows(page, "Hello 1.0.1 runs on Workbench");
      await shows(page, "Running dev 'Hello' main");
      await page.waitForSelector('img[alt="What Workbench shows"]');
      expect(await axeEverywhere()).toEqual([]);
      await pressNamed(page, "Pause");
      const before = await consoleLines(page);
      await api("POST", "/devices/Workbench/dev/reload");
      await shows(page, "more since");
      expect(await consoleLines(page)).toEqual(before);
      await pressNamed(page, "Resume");
      await until(
        page,
        "the lines since then are there",
        () =>
          [...document.querySelectorAll(".dev-lines div")].filter((line) => /Running/.test(line.textContent)).length >
          1,
      );
      await write(page, "Filter the console", "RUNNING");
      await until(page, "only what was looked for is shown", () =>
        [...document.querySelectorAll(".dev-lines div")].every((line) => line.textContent?.includes("Running")),
      );
      const shown = await consoleLines(page);
      expect(shown.length).toBeGreaterThan(0);
      await pressNamed(page, "Copy");
      await shows(page, "copied");
      expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(shown.join("\n"));
      await pressNamed(page, "Clear");
      await shows(page, "Cleared.");
      expect(await consoleLines(page)).toEqual([]);
    }, 60_000);

    test("where a package is wrong is a list, with file and line; the next one is sent with the keyboard", async () => {
      const { page, axeEverywhere } = await visit(demo.port(), demo.idOf("Workbench"));
      await drop(page, [zipFile("broken.zip", filesOf(2, broken))]);
      await shows(page, "Workbench could not compile the package");
      const places = await page.evaluate(() =>
        [...document.querySelectorAll(".dev-errors li")].map((one) => one.querySelector("code")?.innerText),
      );
      expect(places.map((one) => one?.replaceAll(/\s+/g, " "))).toEqual([
        "pkg:/source/main.brs line 2",
        "pkg:/source/util.brs line 4",
      ]);
      expect(await axeEverywhere()).toEqual([]);
      zipFile("broken.zip", filesOf(3));
      const waiting = page.waitForFileChooser();
      await page.focus(".dev-choose .button");
      await page.keyboard.press("Enter");
      await (await waiting).accept([join(folder, "broken.zip")]);
      await shows(page, "Hello 1.0.3 runs on Workbench");
    }, 60_000);

    test("a folder that is dropped is zipped without what no package needs, and read anew each time", async () => {
      const { page } = await visit(demo.port(), "");
      await pressNamed(page, "More for Workbench");
      await pressNamed(page, "Developer");
      const app = folderOf("my-app", filesOf(4, { ".git/config": "x", "node_modules/a/b.js": "x", "old.zip": "x" }));
      await drop(page, [app]);
      await shows(page, "Hello 1.0.4 runs on Workbench");
      await shows(page, "3 files");
      writeFileSync(join(app, "manifest"), manifest(5));
      await pressNamed(page, "Send my-app again");
      await shows(page, "Hello 1.0.5 runs on Workbench");
      await choose(page, "Choose a folder", folderOf("other-app", filesOf(6, { ".DS_Store": "x" })));
      await shows(page, "Hello 1.0.6 runs on Workbench");
      await shows(page, "3 files");
    }, 60_000);

    test("who leaves while a package is sent finds it when they come back, how it ended, and what to send again", async () => {
      const { page } = await visit(demo.port(), demo.idOf("Workbench"));
      await page.evaluate(() => {
        const ask = fetch;
        const isLate = new Promise((resolve) => Object.assign(globalThis, { hand: resolve }));
        globalThis.fetch = (async (address: string, init: RequestInit) => {
          if (init?.body instanceof FormData) await isLate;
          return ask(address, init);
        }) as typeof fetch;
      });
      await choose(page, "Choose a ZIP", zipFile("left.zip", filesOf(9)));
      await shows(page, "Workbench: sending");
      await pressNamed(page, "Remote");
      await shows(page, "Keyboard on");
      await pressNamed(page, "Developer");
      await shows(page, "Workbench: sending");
      await page.evaluate(() => (globalThis as unknown as { hand(): void }).hand());
      await shows(page, "Hello 1.0.9 runs on Workbench");
      await shows(page, "Send left.zip again");
    }, 60_000);

    test("what is no package is said before it is sent, or by the daemon", async () => {
      const { page } = await visit(demo.port(), demo.idOf("Workbench"));
      writeFileSync(join(folder, "notes.txt"), "no package");
      await drop(page, [join(folder, "notes.txt")]);
      await shows(page, "notes.txt is neither a ZIP nor a folder");
      await drop(page, [folderOf("nested", { "inside/manifest": manifest(1), "inside/noise.txt": noise })]);
      await shows(page, "zip the contents of that folder, not the folder itself");
    }, 60_000);

    test("a long name of a package, of its file or of a parameter sticks out of nothing", async () => {
      const { page } = await visit(demo.port(), demo.idOf("Workbench"));
      await page.setViewport({ width: 305, height: 800 });
      const title = "W".repeat(80);
      await drop(page, [zipFile(`${title}.zip`, filesOf(7, { manifest: manifest(7).replace("Hello", title) }))]);
      await shows(page, `${title} 1.0.7 runs on Workbench`);
      // At the top it takes several lines, which move what is below them.
      await shows(page, `on · ${title}`);
      await pressNamed(page, "Start it with parameters");
      await page.type(".dev-params textarea", title);
      await shows(page, "is not name=value");
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(305);
    }, 60_000);

    test("it is restarted with a deep link, and removed once that is confirmed", async () => {
      const { page, axeEverywhere } = await visit(demo.port(), demo.idOf("Workbench"));
      await drop(page, [zipFile("hello.zip", filesOf(7))]);
      await shows(page, "Hello 1.0.7 runs on Workbench");
      await pressNamed(page, "Start it with parameters");
      await page.type(".dev-params textarea", "content_id=42\nno pair");
      await shows(page, "no pair is not name=value");
      await page.evaluate(() => document.querySelector<HTMLTextAreaElement>(".dev-params textarea")?.select());
      await page.type(".dev-params textarea", "content_id=42\nmedia_type=series");
      await pressNamed(page, "Reload");
      await shows(page, "Hello was restarted");
      await demo.says(/Workbench\s+launched "Hello".*contentId.*42/);
      await page.type(".dev-params textarea", "-more");
      await pressNamed(page, "Send hello.zip again");
      await demo.says(/Workbench\s+launched "Hello".*series-more/);
      await pressNamed(page, "Remove the package");
      await shows(page, "Remove the package from Workbench?");
      expect(await axeEverywhere()).toEqual([]);
      await page.keyboard.press("Escape");
      await pressNamed(page, "Remove the package");
      await pressNamed(page, "Remove");
      await demo.says(/Workbench\s+deleted "Hello"/);
      await shows(page, "The package was removed from Workbench");
      await pressNamed(page, "Reload");
      await shows(page, "Workbench has no sideloaded package");
      // On a phone the button is far below: the refusal is seen from there.
      await page.setViewport({ width: 390, height: 640 });
      await page.evaluate(() => scrollTo(0, 500));
      expect(await page.$eval(".refusal", (refusal) => refusal.getBoundingClientRect().top)).toBe(64);
    }, 60_000);

    test("a console that the set does not open yet is asked for again", async () => {
      const { page } = await visitAt(demo.port(), {
        at: `/dev/${demo.idOf("Workbench")}`,
        opened: (opening) =>
          void opening.evaluateOnNewDocument(() => {
            const ask = fetch;
            let refused = 0;
            globalThis.fetch = (async (address: string, init: RequestInit) => {
              if (!address.includes("follow=true") || ++refused > 1) return ask(address, init);
              const error = { code: "device_refused", message: "Its console is closed" };
              return Response.json({ ok: false, error }, { status: 502 });
            }) as typeof fetch;
          }),
      });
      await shows(page, "Its console is closed");
      await until(page, "it is live", () => document.querySelector(".dev-console header p")?.textContent === "live");
      expect(await page.evaluate(() => document.body.textContent)).not.toContain("Its console is closed");
    }, 60_000);

    test("a console that was cleared stays cleared when the connection to zapd breaks and is back", async () => {
      const { page } = await visitAt(demo.port(), {
        at: `/dev/${demo.idOf("Workbench")}`,
        opened: (opening) =>
          void opening.evaluateOnNewDocument(() => {
            const ask = fetch;
            let line = new AbortController();
            const cut = () => line.abort();
            const join = () => {
              line = new AbortController();
            };
            Object.assign(globalThis, { cut, join });
            globalThis.fetch = (async (address: string, init: RequestInit = {}) =>
              ask(address, {
                ...init,
                signal: AbortSignal.any([line.signal, ...(init.signal ? [init.signal] : [])]),
              })) as typeof fetch;
          }),
      });
      type Line = { cut(): void; join(): void };
      const isRunning = () =>
        document.querySelector(".dev-lines")?.textContent?.includes("Running dev 'Clear'") === true;
      const files = filesOf(1, { manifest: manifest(1).replace("Hello", "Clear") });
      await choose(page, "Choose a ZIP", zipFile("clear.zip", files));
      await until(page, "it runs", isRunning);
      await pressNamed(page, "Clear");
      await shows(page, "Cleared.");
      await page.evaluate(() => (globalThis as unknown as Line).cut());
      await shows(page, "resumes once zapd is back");
      await page.evaluate(() => (globalThis as unknown as Line).join());
      await until(page, "it is live", () => document.querySelector(".dev-console header p")?.textContent === "live");
      await api("POST", "/devices/Workbench/dev/reload");
      await until(page, "it runs anew", isRunning);
      expect((await consoleLines(page)).filter((one) => one.includes("Running dev 'Clear'"))).toHaveLength(1);
    }, 60_000);

    test("a picture that was asked for before a command is followed by one from after it", async () => {
      const { page } = await visitPictured();
      const pictures = await askForPicture(page);
      await api("POST", "/devices/Workbench/remote/key", { key: "home" });
      await Bun.sleep(1_500);
      expect(await pictures.asked()).toBe(1);
      await pictures.arrive();
      await until(page, "another is asked for", () => (globalThis as unknown as Pictures).pictures.asked === 2);
      await pictures.arrive();
      await Bun.sleep(300);
      expect(await pictures.asked()).toBe(2);
    }, 60_000);

    test("a command of while another tab was shown is followed by a picture once this one is", async () => {
      const { page } = await visitPictured();
      await page.waitForSelector('[aria-labelledby="dev-screen"] header button:not([aria-busy])');
      const pictures = await holdPictures(page);
      const turns = (hidden: boolean) =>
        page.evaluate((hidden) => {
          Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
          document.dispatchEvent(new Event("visibilitychange"));
        }, hidden);
      await turns(true);
      await api("POST", "/devices/Workbench/remote/key", { key: "home" });
      await Bun.sleep(1_500);
      expect(await pictures.asked()).toBe(0);
      await turns(false);
      await until(page, "it is asked for", () => (globalThis as unknown as Pictures).pictures.asked === 1);
      await pictures.arrive();
    }, 60_000);

    test("a picture that comes after the view was left is not kept", async () => {
      const { page } = await visitPictured();
      const pictures = await askForPicture(page);
      await pressNamed(page, "Back to the house");
      await shows(page, "Bedroom");
      await pictures.arrive();
      await Bun.sleep(300);
      expect(await pictures.kept()).toBe(0);
    }, 60_000);

    test("of a device that takes none it says so, and leads to one that does", async () => {
      const { page, axeEverywhere } = await visit(demo.port(), demo.idOf("Cinema"));
      await shows(page, "Cinema accepts no packages");
      expect(await axeEverywhere()).toEqual([]);
      await pressNamed(page, "Workbench");
      await shows(page, "Drop a ZIP or a folder");
    }, 60_000);
  });

  describe("with several sets", () => {
    let room: DaemonWithRoku;
    let second: RokuSimulator;
    let id = "";
    beforeAll(async () => {
      room = await startDaemonWithRoku();
      second = createRokuSimulator({
        name: "Second",
        ssdp: false,
        launchMs: 0,
        developer: { password: "of the second" },
      });
      await second.start();
      const { installer, console } = second.ports;
      const own = { host: "127.0.0.1", port: second.port, name: "second", ports: { installer, console } };
      expect((await room.daemon.api("POST", "/devices", own)).status).toBe(200);
      await room.daemon.api("PATCH", "/devices/second", { labels: ["lab"] });
      id = (await room.daemon.api("GET", "/devices/set")).body.data.id;
    }, 60_000);
    afterAll(async () => {
      await Promise.all([room?.dispose(), second?.stop()]);
    });

    test("a ZIP that was changed before it is sent with a password is to be chosen again", async () => {
      const at = (await room.daemon.api("GET", "/devices/second")).body.data.id;
      // The browser itself tells that it sent nothing: it is closed here.
      await using looked = await visit(room.daemon.port, at);
      const { page } = looked;
      const file = zipFile("built.zip", filesOf(8));
      await choose(page, "Choose a ZIP", file);
      await shows(page, "second refused the developer password");
      zipFile("built.zip", filesOf(9));
      // Chromium looks at whole seconds.
      utimesSync(file, new Date(), new Date(Date.now() + 5_000));
      await write(page, "Developer password of second", "of the second");
      await page.keyboard.press("Enter");
      await shows(page, "The package was changed or removed after you chose it");
      await shows(page, "Choose it again");
      await choose(page, "Choose a ZIP", file);
      await shows(page, "second refused the developer password");
    }, 60_000);

    test("one package goes to all of a label; a set that wants its own password is asked for it", async () => {
      const { page, axeEverywhere } = await visit(room.daemon.port, id);
      const { token } = (await room.daemon.api("POST", "/devices/set/lease", { owner: "ci@runner-3", ttl_s: 600 })).body
        .data;
      await shows(page, "Leased by ci@runner-3 until");
      expect(await axeEverywhere()).toEqual([]);
      await room.daemon.api("DELETE", "/devices/set/lease", undefined, { "zapd-lease": token });
      await pressNamed(page, "All with label lab");
      await drop(page, [zipFile("hello.zip", filesOf(8))]);
      await shows(page, "Hello 1.0.8 runs on set");
      await shows(page, "second refused the developer password");
      expect(await axeEverywhere()).toEqual([]);
      await write(page, "Developer password of second", "of the second");
      await page.keyboard.press("Enter");
      await shows(page, "Hello 1.0.8 runs on second");
      expect(await page.content()).not.toContain("of the second");
      // The daemon keeps it: it is asked for once.
      await pressNamed(page, "Send hello.zip again");
      await until(page, "both have it", () => document.querySelectorAll(".dev-delivery.is-done").length === 2);
    }, 60_000);

    test("where no password is set at all, the one that is typed lets it in", async () => {
      await room.daemon.api("PATCH", "/config", { "dev.vendor_password": null });
      const { page } = await visit(room.daemon.port, id);
      await drop(page, [zipFile("hello.zip", filesOf(9))]);
      await shows(page, "requires its developer password, but none is set");
      await write(page, "Developer password of set", password);
      await pressNamed(page, "Send with this password");
      await shows(page, "Hello 1.0.9 runs on set");
    }, 60_000);

    test("a set that sleeps is turned on from here; one that is gone is said to be", async () => {
      await using looked = await visit(room.daemon.port, id);
      const { page, axeEverywhere } = looked;
      await shows(page, "Drop a ZIP or a folder");
      await room.daemon.api("POST", "/devices/set/remote/key", { key: "power-off" });
      await pressNamed(page, "Turn on set");
      await until(page, "it is on", () => document.querySelector(".dev.is-on") !== null);
      await room.set.stop();
      await room.daemon.api("GET", "/devices/set/state?fresh=true");
      await shows(page, "set does not answer");
      expect(await axeEverywhere()).toEqual([]);
      // Its console is asked for once more, and the browser itself tells of the refusal: it is looked at here, and closed.
      const problems = await looked.problems();
      expect(problems.filter((one) => !one.includes("Failed to load resource"))).toEqual([]);
    }, 60_000);
  });
});
