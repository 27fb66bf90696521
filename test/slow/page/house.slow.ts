/** The house in a real browser, against the demo's sets: driven as a person would, by mouse, finger and keyboard. */
import { expect, test } from "bun:test";
import type { HTTPRequest, Page } from "puppeteer-core";
import { type Looking, pressFirst, pressNamed, shows, until, write } from "../../support/browser.ts";
import { until as eventually } from "../../support/http-device.ts";
import { demoFor, describePage, listens, startDaemonThatKnows } from "./stage.ts";

describePage("the house", (visitAt) => {
  const demo = demoFor();
  const { api } = demo;
  async function visit(looking: Looking = {}) {
    const looked = await visitAt(demo.port(), looking);
    await shows(looked.page, "Bedroom");
    return looked;
  }
  /** Picks from the menu of a device. */
  async function pick(page: Page, name: string, item: string): Promise<void> {
    await pressNamed(page, `More for ${name}`);
    await pressNamed(page, item);
  }

  test("what each set is and does; it is turned off and on, and says so", async () => {
    const { page } = await visit();
    for (const name of ["Living Room", "Workbench", "Cinema", "Kitchen", "not paired"]) await shows(page, name);
    await pressNamed(page, "Turn off Living Room");
    await demo.says(/Living Room\s+key power/);
    await pressNamed(page, "Turn on Living Room");
    await until(
      page,
      "it can be turned off again",
      () => document.querySelector('[aria-label="Turn off Living Room"]') !== null,
    );
  }, 60_000);

  test("the volume follows the slider, and the slider the set", async () => {
    const { page } = await visit();
    const slider = await page.waitForSelector('[aria-label="Volume of Cinema"]');
    await slider?.focus();
    for (let presses = 0; presses < 3; presses++) await page.keyboard.press("ArrowLeft");
    const level = async () => (await api("GET", "/devices/Cinema/state")).state.volume.level;
    await eventually("the set is as loud", async () => (await level()) === 77, 10_000, 50);
    await api("POST", "/devices/Cinema/volume", { level: 30 });
    await until(
      page,
      "the slider is at 30",
      () => document.querySelector<HTMLInputElement>('[aria-label="Volume of Cinema"]')?.value === "30",
    );
    await pressNamed(page, "Mute Cinema");
    // Its name says what it does now; pressed besides, it would say the contrary.
    await until(page, "it is mute", () => document.querySelector('[aria-label="Unmute Cinema"]') !== null);
    expect(await page.$('[aria-label="Unmute Cinema"][aria-pressed]')).toBeNull();
    await pressNamed(page, "Unmute Cinema");
    await until(page, "it sounds", () => document.querySelector('[aria-label="Mute Cinema"]') !== null);
  }, 60_000);

  test("what its settings keep back is said, with what to change, by finger as well", async () => {
    const { page } = await visit({ width: 390, height: 844, touch: true });
    await shows(page, "Its settings withhold");
    await pressNamed(page, "What to change", "finger");
    await shows(page, "Control by mobile apps > Network access: Enabled");
  }, 60_000);

  test("a finger beside a dialog closes it, and presses nothing of what lies below", async () => {
    const { page } = await visit({ width: 768, height: 1_200, touch: true });
    await pick(page, "Cinema", "Rename");
    const dialog = await page.waitForSelector("dialog[open]");
    const below = await page.waitForSelector('[aria-label="Turn off Living Room"]');
    const { x, y, width, height } = (await below?.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
    const own = await dialog?.boundingBox();
    expect((own?.x ?? 0) + (own?.width ?? 0)).toBeLessThan(x);
    const powers = demo.said().split("key power").length;
    await page.touchscreen.tap(x + width / 2, y + height / 2);
    await until(page, "it is closed", () => document.querySelector("dialog") === null);
    await Bun.sleep(500);
    expect(demo.said().split("key power").length).toBe(powers);
  }, 60_000);

  test("a device is renamed, labelled and made the default, by keyboard alone", async () => {
    const { page } = await visit();
    await page.focus('[aria-label="More for Workbench"]');
    await page.keyboard.press("Enter");
    await until(page, "the menu has the focus", () => document.activeElement?.textContent === "Rename");
    // A fill that is a little darker than the rest is not seen by everybody.
    const line = () => document.activeElement && getComputedStyle(document.activeElement).outlineStyle;
    expect(await page.evaluate(line)).toBe("solid");
    await page.keyboard.press("Enter");
    await until(page, "the field has the focus", () => document.activeElement instanceof HTMLInputElement);
    await page.keyboard.down("Control");
    await page.keyboard.press("KeyA");
    await page.keyboard.up("Control");
    await page.keyboard.type("Bench");
    await page.keyboard.press("Enter");
    await until(
      page,
      "the focus is back at the menu",
      () => document.activeElement?.getAttribute("aria-label") === "More for Bench",
    );
    await pick(page, "Bench", "Labels");
    await write(page, "Labels", "Lab, downstairs");
    await page.keyboard.press("Enter");
    await until(
      page,
      "its labels are shown",
      () => document.querySelector(".set-labels")?.textContent === "downstairslab",
    );
    await pick(page, "Bench", "Make it the default");
    await shows(page, "· default");
    await pick(page, "Bench", "Rename");
    await write(page, "Name", "Cinema");
    await page.keyboard.press("Enter");
    await shows(page, "Cinema");
    await until(page, "it says why not", () => document.querySelector("dialog .refusal") !== null);
    await page.keyboard.press("Escape");
    await until(page, "the dialog is gone", () => document.querySelector("dialog") === null);
    // What a label is made of is said where it is typed.
    await pick(page, "Bench", "Labels");
    await shows(page, "use a to z, 0 to 9 and . _ = -");
    await page.keyboard.press("Escape");
    await pick(page, "Bench", "Rename");
    await write(page, "Name", "Workbench");
    await page.keyboard.press("Enter");
    await shows(page, "Workbench");
  }, 60_000);

  test("a device is forgotten, and found when one looks again; an address with nobody says so", async () => {
    const { page } = await visit();
    await pick(page, "Kitchen", "Forget");
    await pressNamed(page, "Forget");
    await until(page, "it is gone", () => !document.querySelector("main")?.textContent?.includes("Kitchen"));
    await until(page, "the title has the focus", () => document.activeElement?.tagName === "H1");
    await pressNamed(page, "Look again");
    // Not what is said of its end, below.
    const isBack = () => document.querySelector("main")?.textContent?.includes("Kitchen") ?? false;
    await until(page, "it is found", isBack);
    // What is found moves the buttons below the list.
    await until(page, "the search is over", () => document.querySelector(".house-foot [aria-busy]") === null);
    await pressNamed(page, "Add by address");
    await write(page, "Address", "127.9.9.9");
    await pressNamed(page, "Add");
    await until(
      page,
      "it says who did not answer",
      () => document.querySelector("dialog .refusal")?.textContent?.includes("127.9.9.9") ?? false,
    );
    const { host, port } = await api("GET", "/devices/Workbench");
    await write(page, "Address", `${host}:${port}`);
    await pressNamed(page, "Add");
    await shows(page, "Workbench was already known");
  }, 60_000);

  test("a device that becomes a part of another while it is asked about: the question goes with it, and the other stays", async () => {
    const { page } = await visit();
    const [part, whole] = [demo.idOf("Office"), demo.idOf("Cinema")];
    await pick(page, "Office", "Forget");
    await shows(page, "Forget Office?");
    await api("POST", `/devices/${whole}/join`, { with: part });
    try {
      await until(page, "the question is gone", () => document.querySelector("dialog") === null);
    } finally {
      await api("POST", `/devices/${whole}/split`, { platform: "samsung" });
    }
  }, 60_000);

  test("why a search failed stays until it is dismissed", async () => {
    const error = { code: "storage_error", message: "The search failed", hint: "Make room on the disk" };
    const { page } = await visit({
      opened: (page) =>
        void page.setRequestInterception(true).then(() =>
          page.on("request", (request) => {
            const isSearch = new URL(request.url()).pathname.endsWith("/discover");
            if (isSearch) void request.respond({ status: 500, body: JSON.stringify({ ok: false, error }) });
            else void request.continue();
          }),
        ),
    });
    await pressNamed(page, "Look again");
    for (const said of [error.message, error.hint]) await shows(page, said);
    const isHitBeside = () => {
      const own = document.querySelector(".refusal button");
      const { left = 0, top = 0, height = 0 } = own?.getBoundingClientRect() ?? {};
      return own !== null && document.elementFromPoint(left - 6, top + height / 2) === own;
    };
    expect(await page.evaluate(isHitBeside)).toBe(true);
    await pressNamed(page, "Dismiss");
    await until(page, "it is gone", () => document.querySelector(".refusal") === null);
  }, 60_000);

  test("a filter ends with its field, when there are too few devices for one", async () => {
    const { page } = await visit();
    const idsOf = async () => (await api("GET", "/devices")).map(({ id }: { id: string }) => id) as string[];
    const before = await idsOf();
    // Nine devices are the first with a filter.
    expect(before).toHaveLength(8);
    await api("POST", "/devices/Attic/split", { platform: (await api("GET", "/devices/Attic")).platforms.at(-1) });
    await write(page, "Filter by name, model or label", "Cinema");
    const isFiltered = () => !document.querySelector("main")?.textContent?.includes("Bedroom");
    await until(page, "the others are hidden", isFiltered);
    await api("POST", "/devices/Attic/join", { with: (await idsOf()).find((id) => !before.includes(id)) });
    await shows(page, "Bedroom");
    expect(await page.$(".house-filter")).toBeNull();
  }, 60_000);

  test("the filter comes and goes while no pointer is over the devices: what it would press stays under it", async () => {
    const { page } = await visit();
    const ids = (await api("GET", "/devices")).map(({ id }: { id: string }) => id) as string[];
    const button = await page.waitForSelector('[aria-label="More for Bedroom"]');
    await button?.hover();
    const top = async () => (await button?.boundingBox())?.y;
    const before = await top();
    await api("POST", "/devices/Attic/split", { platform: (await api("GET", "/devices/Attic")).platforms.at(-1) });
    await until(page, "there are nine", () => document.querySelectorAll(".set").length === 9);
    await listens(page);
    expect(await top()).toBe(before);
    await page.mouse.move(5, 5);
    await page.waitForSelector(".house-filter");
    await button?.hover();
    const after = await top();
    const added = (await api("GET", "/devices")).find(({ id }: { id: string }) => !ids.includes(id));
    await api("POST", "/devices/Attic/join", { with: added.id });
    await until(page, "there are eight", () => document.querySelectorAll(".set").length === 8);
    await listens(page);
    expect(await top()).toBe(after);
    await page.mouse.move(5, 5);
    await until(page, "it is gone", () => document.querySelector(".house-filter") === null);
  }, 60_000);

  test("of the menu of the last device all is in sight; whoever comes back finds the place where the house was left", async () => {
    const { page } = await visit({ height: 500 });
    const names = await page.evaluate(() =>
      [...document.querySelectorAll(".set-name strong")].map((own) => own.textContent),
    );
    await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
    await pressNamed(page, `More for ${names.at(-1)}`);
    const isInSight = () => {
      const all = [...document.querySelectorAll("[role=menuitem]")].map((own) => own.getBoundingClientRect());
      return all.length > 4 && all.every(({ top, bottom }) => top >= 0 && bottom <= innerHeight);
    };
    await until(page, "all of the menu is in sight", isInSight);
    await page.keyboard.press("Escape");
    await until(page, "the menu is gone", () => document.querySelector("[role=menu]") === null);
    const left = await page.evaluate(() => {
      scrollTo(0, 150);
      return scrollY;
    });
    expect(left).toBeGreaterThan(100);
    await page.evaluate(() => [...document.querySelectorAll<HTMLElement>(".set-name")].at(-1)?.click());
    await until(page, "its remote is at the top", () => document.querySelector(".remote") !== null && scrollY === 0);
    await until(page, "its name has the focus", () => document.activeElement?.tagName === "H1");
    await page.goBack();
    await until(page, "the house", () => document.querySelector(".house") !== null);
    await until(page, "it is where it was", (px) => Math.abs(scrollY - Number(px)) <= 1, String(left));
    const hasFocus = () => document.activeElement === [...document.querySelectorAll(".set-name")].at(-1);
    await until(page, "the device that was left has the focus", hasFocus);
  }, 60_000);

  test("in a house so long that only what is near is drawn, the place is found again, too", async () => {
    await using daemon = await startDaemonThatKnows(60);
    const { page } = await visitAt(daemon.port);
    await shows(page, "TV 0");
    await page.evaluate(() => scrollTo(0, 3_000));
    await shows(page, "TV 40");
    const left = await page.evaluate(() => {
      const all = [...document.querySelectorAll<HTMLElement>(".set-name")];
      // Rows above that turned out lower than estimated have moved it.
      const place = scrollY;
      all.find((one) => one.textContent?.startsWith("TV 40"))?.click();
      return place;
    });
    expect(left).toBeGreaterThan(2_000);
    await until(page, "its remote", () => document.querySelector(".remote") !== null);
    await page.goBack();
    await until(page, "it is where it was", (px) => Math.abs(scrollY - Number(px)) <= 1, String(left));
    const hasFocus = () => document.activeElement?.textContent?.startsWith("TV 40") === true;
    await until(page, "it has the focus", hasFocus);
    // It keeps it when a device above goes.
    await daemon.api("DELETE", "/devices/TV%202");
    await daemon.api("PATCH", "/devices/TV%2040", { labels: ["attic"] });
    await shows(page, "attic");
    expect(await page.evaluate(hasFocus)).toBe(true);
    // Every model has a 3 in it.
    await write(page, "Filter by name, model or label", "tv 3");
    await until(page, "it is the first", () => document.querySelector(".set-name strong")?.textContent === "TV 3");
    // What was filtered is found again as well.
    await write(page, "Filter by name, model or label", "tv 40");
    await until(page, "it is alone", () => document.querySelectorAll(".set").length === 1);
    await pressFirst(page, ".set-name");
    await until(page, "its remote", () => document.querySelector(".remote") !== null);
    await page.goBack();
    await until(page, "it has the focus", hasFocus);
    expect(await page.evaluate(() => document.querySelectorAll(".set").length)).toBe(1);
    // Before its daemon.
    await page.close();
  }, 60_000);

  test("a quick command does not end what is said of a slow one", async () => {
    const held: HTTPRequest[] = [];
    const { page } = await visit({
      opened: (page) =>
        void page.setRequestInterception(true).then(() =>
          page.on("request", (request) => {
            if (new URL(request.url()).pathname.endsWith("/remote/key")) held.push(request);
            else void request.continue();
          }),
        ),
    });
    await pressNamed(page, "Turn off Workbench");
    await shows(page, "turning off …");
    await pressNamed(page, "More for Workbench");
    const answered = page.waitForResponse((response) => response.url().endsWith("/state"));
    await pressNamed(page, "Check now");
    await answered;
    await Bun.sleep(100);
    expect(await page.evaluate(() => document.body.innerText)).toContain("turning off …");
    expect(held).toHaveLength(1);
    // It is never answered.
    await page.close();
  }, 60_000);

  test("a refusal stays, in the daemon's words", async () => {
    const { page } = await visit();
    await page.evaluate(() => {
      // A daemon that has forgotten the device meanwhile, as far as this call goes.
      const send = fetch;
      globalThis.fetch = ((address: string, init: RequestInit) =>
        send(
          init.method === "POST" ? address.replace(/devices\/[^/]+/, "devices/nobody") : address,
          init,
        )) as typeof fetch;
    });
    await pressNamed(page, "Mute Cinema");
    await shows(page, 'No device is called "nobody"');
    await pressNamed(page, "Dismiss");
    await until(page, "it is put away", () => document.querySelector(".refusal") === null);
  }, 60_000);

  test("who has a set to themselves is said, in the house and on its remote, and what is asked of it is refused, until it is free", async () => {
    const { page } = await visit();
    await api("POST", "/devices/Cinema/lease", { owner: "ci@runner-3", ttl_s: 600, note: "night run" });
    await shows(page, "Leased by ci@runner-3 until");
    await pressNamed(page, "Mute Cinema");
    await shows(page, "Cinema is leased to ci@runner-3");
    await pressFirst(page, `a.set-name[href*="${demo.idOf("Cinema")}"]`);
    await until(page, "its remote says it", () => document.querySelector(".remote .leased") !== null);
    // With large text in a small window the whole of it is in reach, also over what is scrolled.
    await page.setViewport({ width: 320, height: 640 });
    const session = await page.createCDPSession();
    await session.send("Page.setFontSizes", { fontSizes: { standard: 32 } });
    const end = await page.$eval(".remote .refusal", (own) => {
      scrollTo(0, 1_000);
      return own.getBoundingClientRect().bottom;
    });
    expect(end).toBeLessThan(640);
    const out = await page.$$eval(".button > span", (all) =>
      all.filter((one) => one.getBoundingClientRect().right > (one.parentElement?.getBoundingClientRect().right ?? 0)),
    );
    expect(out.length).toBe(0);
    await api("DELETE", "/devices/Cinema/lease?force=true");
    await until(page, "nobody has it", () => document.querySelector(".leased, .refusal") === null);
  }, 60_000);

  test("axe finds nothing, and nothing sticks out, in either scheme at any width", async () => {
    const { device } = await api("POST", "/devices/Bedroom/lease", { owner: "o".repeat(128), ttl_s: 600 });
    const { page, axeEverywhere } = await visit();
    await shows(page, device.lease.owner);
    await pressNamed(page, "What to change");
    expect(await axeEverywhere()).toEqual([]);
    await pressNamed(page, "More for Cinema");
    expect(await axeEverywhere()).toEqual([]);
    await pressNamed(page, "Rename");
    await until(page, "the dialog is there", () => document.querySelector("dialog[open]") !== null);
    expect(await axeEverywhere()).toEqual([]);
    await api("DELETE", "/devices/Bedroom/lease?force=true");
  }, 60_000);

  // 305 px is what a scroll bar leaves of 320.
  test.each([
    [305, 16],
    [320, 32],
  ])(
    "no name of the demo is cut off, also beside Pair, and no menu, in %p px with text of %p px",
    async (width, standard) => {
      const { page } = await visit({ width });
      const session = await page.createCDPSession();
      await session.send("Page.setFontSizes", { fontSizes: { standard } });
      await page.waitForSelector('[aria-label="Pair Kitchen"]');
      const cut = await page.$$eval(".set-name strong", (all) =>
        all.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.textContent),
      );
      expect(cut).toEqual([]);
      await pressNamed(page, "More for Kitchen");
      expect(await page.$eval(".menu-list", (menu) => menu.getBoundingClientRect().left)).toBeGreaterThan(0);
    },
    60_000,
  );

  test("Tab goes as one reads, also in a narrow window, where the volume is below the menu", async () => {
    const { page } = await visit({ width: 320 });
    // So its button is called once its state is known.
    await (await page.waitForSelector('[aria-label="Turn off Cinema"]'))?.focus();
    const next = async () => {
      await page.keyboard.press("Tab");
      return page.evaluate(() => document.activeElement?.ariaLabel);
    };
    expect([await next(), await next()]).toEqual(["More for Cinema", "Mute Cinema"]);
    // Out of the menu, too.
    await page.focus('[aria-label="More for Cinema"]');
    await page.keyboard.press("Enter");
    await until(page, "the menu has the focus", () => document.activeElement?.textContent === "Rename");
    expect(await next()).toBe("Mute Cinema");
    await until(page, "the menu is closed", () => document.querySelector("[role=menu]") === null);
  }, 60_000);

  test("a name without a gap breaks, and nothing sticks out of what asks about it, in a window with a scroll bar, too", async () => {
    const name = "W".repeat(128);
    await api("PATCH", "/devices/Kitchen", { name, labels: ["w".repeat(32)] });
    const { page } = await visit({ width: 305 });
    const sticksOut = () =>
      page.evaluate(() =>
        [document.documentElement, ...document.querySelectorAll("dialog, .toast p")]
          .filter((one) => one.scrollWidth > one.clientWidth)
          .map((one) => one.outerHTML.slice(0, 80)),
      );
    await shows(page, name);
    expect(await sticksOut()).toEqual([]);
    await pick(page, name, "Forget");
    await shows(page, `Forget ${name}?`);
    expect(await sticksOut()).toEqual([]);
    await pressNamed(page, "Cancel");
    await pressFirst(page, `a.set-name[href*="${demo.idOf("Kitchen")}"]`);
    await shows(page, `${name} must be paired first`);
    expect(await sticksOut()).toEqual([]);
    await api("PATCH", `/devices/${demo.idOf("Kitchen")}`, { name: "Kitchen", labels: [] });
  }, 60_000);

  test("where the person chose the colours, the entry of a menu that has the focus is seen, and so is the text of the main button", async () => {
    const { page } = await visit();
    const session = await page.createCDPSession();
    await session.send("Emulation.setEmulatedMedia", { features: [{ name: "forced-colors", value: "active" }] });
    await pressNamed(page, "More for Cinema");
    await until(page, "it is seen", () => {
      const { activeElement: own } = document;
      return own?.role === "menuitem" && getComputedStyle(own).outlineStyle === "solid";
    });
    await page.keyboard.press("Escape");
    await pressNamed(page, "Add by address");
    // Else the text would get a plate in the colour of the canvas, which is often its own.
    expect(await page.$eval(".button.primary", (own) => getComputedStyle(own).forcedColorAdjust)).toBe("none");
    // The colour of what is disabled is for that alone.
    const [muted, text] = await page.$eval("nav a:not([aria-current])", (own) =>
      [own.querySelector("span"), document.body].map((one) => one && getComputedStyle(one).color),
    );
    expect(muted).toBe(text ?? "");
    await page.keyboard.press("Escape");
    await pressNamed(page, "Look again");
    await shows(page, "answered");
    expect(await page.$eval(".toast p", (own) => getComputedStyle(own).borderStyle)).toBe("solid");
  }, 60_000);
});
