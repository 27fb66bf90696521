/** The pairing dialog in a real browser: a prompt on the screen, a login, a code; right, wrong, given up, and in two tabs at once. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "puppeteer-core";
import { type AskingHouse, AskingSet, openAskingHouse } from "../../support/asking-house.ts";
import { pressNamed, shows, until, write } from "../../support/browser.ts";
import { until as eventually } from "../../support/http-device.ts";
import { mistyped } from "../../support/mistyped.ts";
import { demoFor, describePage } from "./stage.ts";

describePage("pairing", (visit) => {
  const isClosed = (page: Page) => until(page, "the dialog is closed", () => document.querySelector("dialog") === null);

  describe("at the demo's sets", () => {
    const demo = demoFor({ loggedIn: false });
    const at = (name: string) => `/remote/${demo.idOf(name)}`;

    test("a login: the wrong one is said, and the right one typed behind it", async () => {
      const { page, axeEverywhere } = await visit(demo.port(), { at: at("Cinema") });
      await pressNamed(page, "Pair Cinema");
      await shows(page, "Enter the login from the remote control settings of Cinema");
      expect(await axeEverywhere()).toEqual([]);
      await write(page, "User name", "kodi");
      await write(page, "Password", "popcron");
      await page.keyboard.press("Enter");
      await shows(page, "Check it, and try again");
      await write(page, "Password", "popcorn");
      await page.keyboard.press("Enter");
      await shows(page, "Cinema is paired");
      await isClosed(page);
      await shows(page, "Jellyfin");
      expect(await page.content()).not.toContain("popcorn");
    }, 60_000);

    test("a code that a Google TV shows: refused where it is mistyped, and the right one in", async () => {
      const { page, axeEverywhere } = await visit(demo.port(), { at: at("Attic") });
      await pressNamed(page, "Pair Attic");
      await shows(page, "The code that Attic shows");
      await shows(page, "6 letters A to F and digits");
      expect(await axeEverywhere()).toEqual([]);
      const shown = () => [...demo.said().matchAll(/Attic +shows the code ([0-9A-F]{6})/g)].at(-1)?.[1] ?? "";
      await demo.says(/Attic +shows the code/);
      await write(page, "The code that Attic shows", mistyped(shown()));
      await page.keyboard.press("Enter");
      await shows(page, "Check it, and try again");
      await write(page, "The code that Attic shows", shown().toLowerCase());
      await page.keyboard.press("Enter");
      await shows(page, "Attic is paired");
      await isClosed(page);
      expect(await page.content()).not.toContain(shown());
    }, 60_000);

    test("a prompt that is accepted at the set: it is in, and the focus goes on from the title", async () => {
      const { page } = await visit(demo.port(), { at: at("Kitchen") });
      await (await page.waitForSelector('[aria-label="Pair Kitchen"]'))?.press("Enter");
      await shows(page, "Live TV");
      await isClosed(page);
      await until(page, "the title has the focus", () => document.activeElement?.tagName === "H1");
    }, 60_000);
  });

  describe("every way that a set can ask, and every end", () => {
    let house: AskingHouse;
    let made = 0;
    beforeAll(async () => {
      house = await openAskingHouse();
    });
    afterAll(() => house?.dispose());

    /** A set that asks so, and the dialog that is open for it. */
    async function asked(set: AskingSet) {
      const name = `Set ${++made}`;
      const id = await house.add(name, set);
      const looked = await visit(Number(new URL(house.url).port), { at: `/remote/${id}` });
      await pressNamed(looked.page, `Pair ${name}`);
      return { ...looked, name, id };
    }

    test("a code: of its shape, the wrong one typed anew, the right one in", async () => {
      const set = new AskingSet("code", "271828");
      const { page, name, axeEverywhere } = await asked(set);
      await shows(page, `The code that ${name} shows`);
      await shows(page, "6 digits");
      expect(await axeEverywhere()).toEqual([]);
      await write(page, `The code that ${name} shows`, "31 41 59 99");
      await page.keyboard.press("Enter");
      await shows(page, "Check it, and try again");
      // Pasted, as it may be written somewhere; the wrong one is gone.
      await page.focus("dialog input");
      await page.evaluate(() => document.execCommand("insertText", false, " 271 828 "));
      await page.keyboard.press("Enter");
      await shows(page, `${name} is paired`);
      await isClosed(page);
      expect(set.typed).toEqual(["314159", "271828"]);
    }, 60_000);

    test("a prompt that is accepted before the page has the answer that there is one", async () => {
      const set = new AskingSet("confirm", "");
      const name = `Set ${++made}`;
      const id = await house.add(name, set);
      const { page } = await visit(Number(new URL(house.url).port), {
        at: `/remote/${id}`,
        opened: (page) =>
          void page.evaluateOnNewDocument(() => {
            const ask = fetch;
            const isLate = new Promise((resolve) => Object.assign(globalThis, { hand: resolve }));
            globalThis.fetch = (async (address: string, init: RequestInit) => {
              const answer = await ask(address, init);
              if (!address.endsWith("/pair") || init.method !== "POST") return answer;
              Object.assign(globalThis, { isThere: true });
              await isLate;
              return answer;
            }) as typeof fetch;
          }),
      });
      await pressNamed(page, `Pair ${name}`);
      await until(page, "it has been asked", () => "isThere" in globalThis);
      set.answer(true);
      await until(page, "it is in", () => !document.body.innerText.includes("must be paired first"));
      await page.evaluate(() => (globalThis as unknown as { hand(): void }).hand());
      await isClosed(page);
      await shows(page, `${name} is paired`);
      expect(await page.evaluate(() => document.body.innerText)).not.toContain("must be paired first");
    }, 60_000);

    test("a prompt: given up it is taken from the screen; in two tabs at once it is one; accepted, both are in", async () => {
      const set = new AskingSet("confirm", "");
      const first = await asked(set);
      const { name } = first;
      await shows(first.page, `Look at the screen of ${name}`);
      await shows(first.page, "left");
      await pressNamed(first.page, "Cancel");
      await isClosed(first.page);
      await shows(first.page, `${name} must be paired first`);
      await eventually("it is taken from the screen", () => !set.showing);
      const port = Number(new URL(house.url).port);
      const second = await visit(port, { at: `/remote/${first.id}`, beside: first.page });
      for (const { page } of [first, second]) {
        await page.bringToFront();
        await pressNamed(page, `Pair ${name}`);
        await shows(page, `Look at the screen of ${name}`);
      }
      expect(set.times).toBe(2);
      set.answer(true);
      for (const { page } of [first, second]) {
        await isClosed(page);
        await until(page, "it is in", () => !document.body.innerText.includes("must be paired first"));
      }
    }, 60_000);

    test("denied at the set, and begun again; too late, and said so", async () => {
      const set = new AskingSet("confirm", "");
      const { page, name } = await asked(set);
      await shows(page, `Look at the screen of ${name}`);
      set.answer(false);
      await shows(page, "The request was denied on the TV");
      set.expiresMs = 3_000;
      // It is seen for three seconds.
      await Promise.all([shows(page, "0:0"), pressNamed(page, "Try again")]);
      await shows(page, "The prompt on the TV was not answered in time");
      set.expiresMs = 60_000;
      await pressNamed(page, "Try again");
      await shows(page, "0:5");
      set.answer(true);
      await shows(page, `${name} is paired`);
      expect(set.times).toBe(3);
    }, 60_000);

    test("a code that nobody types in time: it says so, and is begun again", async () => {
      const set = new AskingSet("code", "271828");
      set.expiresMs = 1_000;
      const { page, name } = await asked(set);
      await shows(page, `${name} was not paired`);
      set.expiresMs = 60_000;
      await pressNamed(page, "Try again");
      await write(page, `The code that ${name} shows`, "271828");
      await page.keyboard.press("Enter");
      await shows(page, `${name} is paired`);
    }, 60_000);

    test("begun by somebody who is gone: that is given up, and begun here", async () => {
      const set = new AskingSet("code", "271828");
      const id = await house.add("Abandoned", set);
      expect((await house.api("POST", `/devices/${id}/pair`, { begin: true })).status).toBe(200);
      const { page } = await visit(Number(new URL(house.url).port), { at: `/remote/${id}` });
      await pressNamed(page, "Pair Abandoned");
      await pressNamed(page, "Cancel that pairing and start here");
      await write(page, "The code that Abandoned shows", "271828");
      await page.keyboard.press("Enter");
      await shows(page, "Abandoned is paired");
      expect(set.times).toBe(2);
    }, 60_000);

    test("begun by somebody who is gone, and left before that is given up: none is begun here", async () => {
      const set = new AskingSet("code", "271828");
      const id = await house.add("Left", set);
      expect((await house.api("POST", `/devices/${id}/pair`, { begin: true })).status).toBe(200);
      const { page } = await visit(Number(new URL(house.url).port), {
        at: `/remote/${id}`,
        opened: (page) =>
          void page.evaluateOnNewDocument(() => {
            const ask = fetch;
            const isLate = new Promise((resolve) => Object.assign(globalThis, { hand: resolve }));
            globalThis.fetch = (async (address: string, init: RequestInit) => {
              if (init.method === "DELETE") await isLate;
              return ask(address, init);
            }) as typeof fetch;
          }),
      });
      await pressNamed(page, "Pair Left");
      await pressNamed(page, "Cancel that pairing and start here");
      await shows(page, "Contacting Left");
      await page.keyboard.press("Escape");
      await isClosed(page);
      await page.evaluate(() => (globalThis as unknown as { hand(): void }).hand());
      await eventually("that is given up", () => !set.showing);
      await Bun.sleep(500);
      expect([set.times, set.showing]).toEqual([1, false]);
    }, 60_000);

    test("begun by somebody else, who finishes it: nothing is left to do here", async () => {
      const id = await house.add("Elsewhere", new AskingSet("code", "271828"));
      const pair = async (body: object) => (await house.api("POST", `/devices/${id}/pair`, body)).status;
      expect(await pair({ begin: true })).toBe(200);
      const { page } = await visit(Number(new URL(house.url).port), { at: `/remote/${id}` });
      await pressNamed(page, "Pair Elsewhere");
      await shows(page, "Elsewhere is already being paired");
      expect(await pair({ pin: "271828" })).toBe(200);
      await isClosed(page);
    }, 60_000);

    test("given up before the set asks: nothing is left on the screen", async () => {
      const set = new AskingSet("code", "271828");
      const begins = Promise.withResolvers<void>();
      set.begins = begins.promise;
      const { page, name } = await asked(set);
      await shows(page, `Contacting ${name}`);
      await eventually("the set is asked to pair", () => set.isAsked);
      await page.keyboard.press("Escape");
      await isClosed(page);
      await Bun.sleep(300);
      begins.resolve();
      await eventually("it has asked, and asks no more", () => set.times === 1 && !set.showing);
    }, 60_000);

    test("the tab is closed in the midst: nothing is left on the screen", async () => {
      const set = new AskingSet("code", "271828");
      const { page, name, close } = await asked(set);
      await shows(page, `The code that ${name} shows`);
      expect(set.showing).toBe(true);
      await close();
      await eventually("nothing is left on the screen", () => !set.showing);
    }, 60_000);

    test("the daemon stops in the midst: the dialog waits no longer, and offers to begin again", async () => {
      const { page, name } = await asked(new AskingSet("confirm", ""));
      await shows(page, `Look at the screen of ${name}`);
      await house.stop();
      await shows(page, "Try again");
    }, 60_000);
  });
});
