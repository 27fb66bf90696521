/** The remote in a real browser, against the demo's sets: mouse, finger and keyboard. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { HTTPRequest, Page } from "puppeteer-core";
import { pressLimits } from "../../../src/api/limits.ts";
import { createSamsungSimulator, type SamsungSimulator } from "../../../src/simulators/samsung.ts";
import { pressFirst, pressNamed, shows, still, until } from "../../support/browser.ts";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { startDaemonWithRoku } from "../../support/daemon-with-roku.ts";
import { until as eventually } from "../../support/http-device.ts";
import { freeHost } from "../../support/lane.ts";
import { demoFor, describePage, listens } from "./stage.ts";

describePage("the remote", (visit) => {
  const demo = demoFor();
  const { api } = demo;
  const at = (name: string) => `/remote/${demo.idOf(name)}`;
  /** How often the demo has said so of its sets. */
  const count = (line: string) =>
    demo
      .said()
      .split("\n")
      .filter((one) => one.replaceAll(/ {2,}/g, " ") === line).length;
  /** Waits until it was said so often, and no more of it comes: nothing new for as long as several repeats take. */
  const quiet = async (line: string, often: number) => {
    await eventually(`the demo says "${line}" ${often} times`, () => count(line) >= often);
    for (let tries = 0, before = -1; tries < 40 && count(line) !== before; tries++) {
      before = count(line);
      await Bun.sleep(700);
    }
    return count(line);
  };

  test("a key by the mouse, by a finger and by the keyboard is one press each", async () => {
    const { page } = await visit(demo.port(), {
      at: at("Living Room"),
      touch: true,
      width: 390,
    });
    await pressNamed(page, "Home");
    expect(await page.$eval(".remote .device-head-end", (own) => own.checkVisibility())).toBe(false);
    await demo.says(/^Living Room +key home$/m);
    await pressNamed(page, "Up", "finger");
    await demo.says(/^Living Room +key up$/m);
    await page.keyboard.press("ArrowLeft");
    await demo.says(/^Living Room +key left$/m);
    // As with Caps Lock.
    await page.keyboard.press("H");
    expect([
      await quiet("Living Room key home", 2),
      count("Living Room key up"),
      count("Living Room key left"),
    ]).toEqual([2, 1, 1]);
  }, 60_000);

  test("typing goes to the field that has the focus, and never presses keys of the set", async () => {
    const { page } = await visit(demo.port(), { at: at("Cinema") });
    await shows(page, "Send");
    const homes = count("Cinema key home");
    await pressFirst(page, '.remote-text input:not([type="checkbox"])');
    await page.keyboard.type("hm");
    await shows(page, "2 characters");
    // Off is off.
    await shows(page, "Jellyfin");
    await pressFirst(page, "h2");
    await pressNamed(page, "Keyboard on");
    await page.keyboard.press("h");
    await pressNamed(page, "Keyboard off");
    await page.evaluate(() => (document.activeElement as HTMLElement).blur());
    await page.keyboard.press("?");
    await shows(page, "Keyboard shortcuts");
    await page.keyboard.press("Escape");
    await page.keyboard.press("/");
    await page.keyboard.type("jelly");
    await page.keyboard.press("Enter");
    await until(
      page,
      "the app is shown",
      () => document.querySelector('.app[aria-current="true"]')?.textContent?.endsWith("Jellyfin") ?? false,
    );
    expect(count("Cinema key home")).toBe(homes);
    // The search has done its part: the next key is for the app.
    const downs = count("Cinema key down");
    await page.keyboard.press("ArrowDown");
    expect(await quiet("Cinema key down", downs + 1)).toBe(downs + 1);
  }, 60_000);

  test("what is written while a text is sent stays in the field", async () => {
    const { page } = await visit(demo.port(), { at: at("Living Room") });
    await shows(page, "Send");
    await pressFirst(page, '.remote-text input:not([type="checkbox"])');
    await page.keyboard.type("the crown");
    await page.keyboard.press("Enter");
    await page.keyboard.type(" s2");
    await shows(page, "3 characters");
    await page.keyboard.press("Enter");
    await until(page, "all is sent", () => !document.querySelector("main")?.textContent?.includes(" characters"));
  }, 60_000);

  test("what the mouse has pressed leaves Enter to the set; an empty search opens nothing", async () => {
    const { page } = await visit(demo.port(), { at: at("Living Room") });
    const [downs, selects] = [count("Living Room key down"), count("Living Room key select")];
    await pressNamed(page, "Down");
    await page.keyboard.press("Enter");
    // So it does where the browser does not tell, as Firefox before 129.
    await page.evaluate(() => void Object.defineProperty(PointerEvent.prototype, "pointerType", { value: undefined }));
    await pressNamed(page, "Down");
    await page.keyboard.press("Enter");
    // A question that was closed is not asked again.
    await pressNamed(page, "Turn off Living Room");
    await pressNamed(page, "Cancel");
    await until(page, "it is closed", () => document.querySelector("dialog") === null);
    await page.keyboard.press("Enter");
    await until(page, "the search is there", () => document.querySelector(".remote-search") !== null);
    const before = demo.said().length;
    await page.keyboard.press("/");
    await page.keyboard.press("Enter");
    expect(await quiet("Living Room key select", selects + 3)).toBe(selects + 3);
    expect(count("Living Room key down")).toBe(downs + 2);
    expect(demo.said().slice(before)).not.toContain("launched");
    // A slider leaves all keys to the set, also when the mouse is released beside it.
    const cinema = await visit(demo.port(), { at: at("Cinema") });
    const slider = await still(cinema.page, '.slider[aria-label="Volume"]');
    await listens(cinema.page);
    const { x, y, width, height } = (await slider.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
    const infos = count("Cinema key info");
    for (const beside of [0, height]) {
      await cinema.page.mouse.move(x + width / 2, y + height / 2);
      await cinema.page.mouse.down();
      await cinema.page.mouse.move(x + width / 3, y + height / 2 + beside, { steps: 3 });
      await cinema.page.mouse.up();
      await cinema.page.keyboard.press("i");
    }
    expect(await quiet("Cinema key info", infos + 2)).toBe(infos + 2);
  }, 60_000);

  test("of a letter that takes several keys only what comes of it is typed, and Enter that ends it presses nothing", async () => {
    const { page } = await visit(demo.port(), { at: at("Living Room") });
    const sent: string[] = [];
    page.on("request", (request) => {
      if (request.method() === "POST") sent.push(JSON.parse(request.postData() ?? "{}").key);
    });
    await pressNamed(page, "send each keystroke at once");
    const field = '.remote-text input:not([type="checkbox"])';
    expect(await page.$eval(field, (one) => (one as HTMLInputElement).maxLength)).toBe(pressLimits.characters);
    await page.focus(field);
    const session = await page.createCDPSession();
    for (const text of ["n", "に", "日"])
      await session.send("Input.imeSetComposition", { text, selectionStart: 1, selectionEnd: 1 });
    await page.evaluate(() =>
      document.activeElement?.dispatchEvent(
        new KeyboardEvent("keydown", { key: "Enter", isComposing: true, bubbles: true }),
      ),
    );
    await session.send("Input.insertText", { text: "日" });
    await eventually("it is sent", () => sent.length > 0);
    // Safari tells only by its code that the Enter that has ended it was of the input method.
    await page.evaluate(() =>
      document.activeElement?.dispatchEvent(
        new KeyboardEvent("keydown", { key: "Enter", keyCode: 229, bubbles: true }),
      ),
    );
    await page.keyboard.press("x");
    await eventually("the next is sent", () => sent.length > 1);
    // Held, it is pressed once.
    for (let repeats = 0; repeats < 5; repeats++) await page.keyboard.down("Enter");
    await page.keyboard.up("Enter");
    await page.keyboard.press("y");
    await eventually("it is sent, too", () => sent.includes("literal:y"));
    expect(sent).toEqual(["literal:日", "literal:x", "select", "literal:y"]);
    // Enter waits for the characters before it.
    sent.length = 0;
    await page.evaluate(() => {
      for (const key of ["a", "b", "Enter", "c"])
        document.activeElement?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    });
    await eventually("all is sent", () => sent.at(-1) === "literal:c");
    expect(sent.join(" ")).toMatch(/^literal:a(?: literal:)?b select literal:c$/);
  }, 60_000);

  test("on a layout of other letters than Latin ones a shortcut is where its letter is", async () => {
    const { page } = await visit(demo.port(), { at: at("Living Room") });
    await shows(page, "Keyboard on");
    await listens(page);
    const session = await page.createCDPSession();
    const homes = count("Living Room key home");
    for (const type of ["keyDown", "keyUp"] as const)
      await session.send("Input.dispatchKeyEvent", {
        type,
        key: "р",
        code: "KeyH",
        text: type === "keyDown" ? "р" : "",
      });
    expect(await quiet("Living Room key home", homes + 1)).toBe(homes + 1);
    await session.detach();
  }, 60_000);

  test("the space bar presses the key that has the focus once, also where its release clicks", async () => {
    const { page } = await visit(demo.port(), { at: at("Workbench") });
    await page.waitForSelector(".key-up");
    // Firefox clicks the button unless its `keyup` is cancelled, too.
    await page.evaluate(() => {
      const button = document.querySelector<HTMLElement>(".key-up");
      const send = (type: string) =>
        button?.dispatchEvent(new KeyboardEvent(type, { key: " ", bubbles: true, cancelable: true }));
      send("keydown");
      if (send("keyup")) button?.click();
    });
    await demo.says(/^Workbench +key up$/m);
    expect(await quiet("Workbench key up", 1)).toBe(1);
  }, 60_000);

  test("what a set cannot do is not asked, and is not in the list of shortcuts", async () => {
    const { page } = await visit(demo.port(), { at: at("Terrace") });
    await shows(page, "Keyboard on");
    await listens(page);
    await page.keyboard.press("p");
    await page.keyboard.press("?");
    await shows(page, "Keyboard shortcuts");
    const words = await page.evaluate(() =>
      [...document.querySelectorAll(".shortcuts dd")].map((one) => one.innerHTML),
    );
    expect(words).toContain("louder");
    expect(words.filter((one) => /turn|apps/.test(one))).toEqual([]);
    // Its own scroll bar is no place beside it.
    const pressAt = (x: number) =>
      page.evaluate((clientX) => {
        const own = document.querySelector("dialog");
        const clientY = (own?.getBoundingClientRect().top ?? 0) + 20;
        own?.dispatchEvent(new PointerEvent("pointerdown", { clientX, clientY }));
      }, x);
    const right = await page.evaluate(() => document.querySelector("dialog")?.getBoundingClientRect().right ?? 0);
    await pressAt(right - 8);
    await Bun.sleep(100);
    await shows(page, "Keyboard shortcuts");
    await pressAt(right + 8);
    await until(page, "it is closed", () => document.querySelector("dialog") === null);
  }, 60_000);

  test("a player without arrow keys has the keys that it has, and no room is left for the others", async () => {
    await api("POST", "/devices/Terrace/media", { url: "http://192.0.2.1/nocturne.mp3" });
    const { page, axeEverywhere } = await visit(demo.port(), { at: at("Terrace") });
    await shows(page, "nocturne.mp3");
    await pressFirst(page, ".key-stop");
    await shows(page, "Nothing is playing");
    const tops = await page.$$eval(".remote-keys, .remote-keys .key-stop", (all) =>
      all.map((one) => one.getBoundingClientRect().top),
    );
    expect(tops[1]).toBe(tops[0] ?? Number.NaN);
    expect(await axeEverywhere()).toEqual([]);
  }, 60_000);

  test("the volume follows the set, and the set the slider; what plays runs on, and is moved", async () => {
    const { page } = await visit(demo.port(), { at: at("Cinema") });
    await api("POST", "/devices/Cinema/volume", { level: 37 });
    const levelIs = (level: number) =>
      until(
        page,
        `the level ${level}`,
        (wanted) => document.querySelector(".remote-level")?.textContent === wanted,
        String(level),
      );
    await levelIs(37);
    await page.focus('.slider[aria-label="Volume"]');
    await page.keyboard.press("Home");
    for (let steps = 0; steps < 12; steps++) await page.keyboard.press("ArrowRight");
    await levelIs(12);
    await api("POST", "/devices/Cinema/media", { url: "http://192.0.2.1/film.mp4" });
    await shows(page, "film.mp4");
    const time = () => page.evaluate(() => document.querySelector(".playing-times span")?.textContent ?? "");
    const first = await time();
    await until(
      page,
      "the position runs",
      (before) => document.querySelector(".playing-times span")?.textContent !== before,
      first,
    );
    await pressNamed(page, "Pause");
    await pressNamed(page, "Resume");
    await page.focus('.slider[aria-label="Position"]');
    await page.keyboard.press("End");
    await page.keyboard.press("ArrowLeft");
  }, 60_000);

  test("where the clocks here and at the daemon differ by minutes, what plays is where it is", async () => {
    await api("POST", "/devices/Cinema/media", { url: "http://192.0.2.1/film.mp4" });
    const { page } = await visit(demo.port(), {
      at: at("Cinema"),
      opened: (page) =>
        void page.evaluateOnNewDocument(() => {
          const read = Date.now;
          Date.now = () => read() + 600_000;
        }),
    });
    await until(page, "a position is shown", () => document.querySelector(".playing-times span") !== null);
    await until(page, "it is of the first minute", () =>
      /^0:/.test(document.querySelector(".playing-times span")?.textContent ?? ""),
    );
  }, 60_000);

  test("a position that the mouse moves away and back runs on", async () => {
    await api("POST", "/devices/Cinema/media", { url: "http://192.0.2.1/film.mp4" });
    const { page } = await visit(demo.port(), { at: at("Cinema") });
    const slider = await page.waitForSelector('.slider[aria-label="Position"]');
    const { x, y, width, height } = (await slider?.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
    const left = await page.evaluate((own) => (own as HTMLInputElement).value, slider);
    const thumb = [x + 8 + ((width - 16) * Number(left)) / 120_000, y + height / 2] as const;
    await page.mouse.move(...thumb);
    await page.mouse.down();
    await page.mouse.move(thumb[0] + 100, thumb[1], { steps: 5 });
    await page.mouse.move(...thumb, { steps: 5 });
    const shown = () => page.$eval(".playing-times span", (own) => own.textContent);
    const back = await shown();
    await page.mouse.up();
    await eventually("it runs on", async () => (await shown()) !== back, 10_000, 50);
    await api("POST", "/devices/Cinema/playback", { do: "stop" });
  }, 60_000);

  test("a slider that is dragged on while a seek is under way goes where it is let go, and nowhere between", async () => {
    await api("POST", "/devices/Cinema/media", { url: "http://192.0.2.1/film.mp4" });
    await api("POST", "/devices/Cinema/playback", { do: "pause" });
    const { page } = await visit(demo.port(), { at: at("Cinema") });
    const slider = await page.waitForSelector('.slider[aria-label="Position"]');
    const { x, y, width, height } = (await slider?.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
    const held: HTTPRequest[] = [];
    const sent: number[] = [];
    await page.setRequestInterception(true);
    page.on("request", (request) => {
      if (request.method() !== "POST") return void request.continue();
      sent.push(JSON.parse(request.postData() ?? "{}").position_ms);
      held.push(request);
    });
    const goes = (part: number) => page.mouse.move(x + width * part, y + height / 2, { steps: 3 });
    const value = () => page.$eval('.slider[aria-label="Position"]', (own) => Number((own as HTMLInputElement).value));
    await goes(0.2);
    await page.mouse.down();
    await page.mouse.up();
    await eventually("it seeks", () => held.length === 1);
    await goes(0.2);
    await page.mouse.down();
    await goes(0.6);
    const answered = page.waitForResponse((response) => response.request() === held[0]);
    await held[0]?.continue();
    await answered;
    await Bun.sleep(300);
    const between = await value();
    await goes(0.8);
    await page.mouse.up();
    await eventually("it seeks on", () => held.length > 1);
    expect(sent).toEqual([sent[0] ?? 0, await value()]);
    expect(between).toBeGreaterThan(60_000);
    await held[1]?.continue();
    await api("POST", "/devices/Cinema/playback", { do: "stop" });
  }, 60_000);

  test("ten keys move what plays by ten seconds, and the page shows where it is then", async () => {
    // What played before would be paused in its place, since it plays on while this is opened.
    await api("POST", "/devices/Cinema/playback", { do: "stop" });
    await api("POST", "/devices/Cinema/media", { url: "http://192.0.2.1/film.mp4" });
    await api("POST", "/devices/Cinema/playback", { do: "pause" });
    await api("POST", "/devices/Cinema/playback", { do: "seek", position_ms: 20_000 });
    const { page } = await visit(demo.port(), { at: at("Cinema") });
    await shows(page, "0:20");
    await page.focus('.slider[aria-label="Position"]');
    for (let presses = 0; presses < 10; presses++) {
      await page.keyboard.press("ArrowRight");
      await Bun.sleep(60);
    }
    const position = async () => (await api("GET", "/devices/Cinema/state")).state.playback.position_ms;
    const isAt = (ms: number) => eventually(`it is at ${ms} ms`, async () => (await position()) === ms, 25_000, 250);
    await isAt(30_000);
    // One of so little is told by no event.
    await page.keyboard.press("ArrowRight");
    await isAt(31_000);
    await Bun.sleep(500);
    await shows(page, "0:31");
    await api("POST", "/devices/Cinema/playback", { do: "stop" });
  }, 60_000);

  test("a finger that scrolls over a slider moves nothing, also after a rest; one that slides it or taps it does", async () => {
    await api("POST", "/devices/Cinema/volume", { level: 40 });
    await api("POST", "/devices/Cinema/media", { url: "http://192.0.2.1/film.mp4" });
    await api("POST", "/devices/Cinema/playback", { do: "pause" });
    await api("POST", "/devices/Cinema/playback", { do: "seek", position_ms: 20_000 });
    const { page } = await visit(demo.port(), { at: at("Cinema"), touch: true, width: 320, height: 568 });
    await shows(page, "0:20");
    const drag = async (label: string, right: number, down: number, restMs = 0) => {
      const slider = await still(page, `.slider[aria-label="${label}"]`);
      const { x, y, width, height } = (await slider.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
      const from = { x: x + width * 0.8, y: y + height / 2 };
      await page.touchscreen.touchStart(from.x, from.y);
      await Bun.sleep(restMs);
      for (let step = 1; step <= 10 && (right !== 0 || down !== 0); step++)
        await page.touchscreen.touchMove(from.x + (right * step) / 10, from.y + (down * step) / 10);
      await page.touchscreen.touchEnd();
    };
    const now = async () => (await api("GET", "/devices/Cinema/state")).state;
    await drag("Position", 0, -120);
    await drag("Volume", 0, -120);
    await drag("Volume", 0, -120, 500);
    await Bun.sleep(1_000);
    expect(await now()).toMatchObject({ volume: { level: 40 }, playback: { position_ms: 20_000 } });
    await drag("Volume", -80, 0);
    await eventually("it is less loud", async () => (await now()).volume.level < 40, 10_000, 50);
    await drag("Volume", 0, 0, 500);
    await eventually("it is louder", async () => (await now()).volume.level > 60, 10_000, 50);
    await api("POST", "/devices/Cinema/playback", { do: "stop" });
  }, 60_000);

  test("a finger that scrolls over a slider moves nothing in Firefox, which does not scroll and goes on moving the slider", async () => {
    await api("POST", "/devices/Cinema/media", { url: "http://192.0.2.1/film.mp4" });
    await api("POST", "/devices/Cinema/playback", { do: "pause" });
    const { page } = await visit(demo.port(), { at: at("Cinema") });
    const sent: string[] = [];
    page.on("request", (request) => void (request.method() === "POST" && sent.push(request.url())));
    /** The events of a finger in the order of Firefox, and where the slider is before and after. */
    const drag = (label: string, right: number, down: number) =>
      page.$eval(
        `.slider[aria-label="${label}"]`,
        async (own, right, down) => {
          const slider = own as HTMLInputElement;
          const before = slider.value;
          const to = String(Math.round(0.8 * Number(slider.max)));
          const point = (type: string, clientX: number, clientY: number) =>
            slider.dispatchEvent(new PointerEvent(type, { pointerType: "touch", clientX, clientY, bubbles: true }));
          const input = () => {
            slider.value = to;
            slider.dispatchEvent(new Event("input", { bubbles: true }));
          };
          point("pointerdown", 0, 0);
          input();
          for (let step = 1; step <= 10; step++) {
            point("pointermove", (right * step) / 10, (down * step) / 10);
            input();
          }
          point("pointerup", right, down);
          point("lostpointercapture", right, down);
          input();
          slider.dispatchEvent(new Event("change", { bubbles: true }));
          await new Promise((done) => setTimeout(done, 500));
          return { before, after: slider.value, to };
        },
        right,
        down,
      );
    await page.waitForSelector('.slider[aria-label="Position"]');
    for (const label of ["Position", "Volume"]) {
      const { before, after } = await drag(label, 4, -120);
      expect(after).toBe(before);
    }
    expect(sent).toEqual([]);
    for (const label of ["Position", "Volume"]) {
      const { after, to } = await drag(label, 120, 4);
      expect(after).toBe(to);
    }
    expect(sent.length).toBeGreaterThan(1);
    await api("POST", "/devices/Cinema/playback", { do: "stop" });
  }, 60_000);

  test.each([1280, 320])(
    "keys stay under the finger when something plays and when the set refuses, at %d px",
    async (width) => {
      // Its picture is on its way until the test lets it come, and then there is none. Once its app is known it is asked for anew.
      const pictures: HTTPRequest[] = [];
      let isHeld = true;
      const opened = (page: Page) =>
        void page.setRequestInterception(true).then(() =>
          page.on("request", (request) => {
            if (new URL(request.url()).pathname.endsWith("/artwork") && isHeld) pictures.push(request);
            else void request.continue();
          }),
        );
      const { page } = await visit(demo.port(), { at: at("Cinema"), width, opened });
      const topOfUp = () =>
        page.evaluate(() => document.querySelector('[aria-label="Up"]')?.getBoundingClientRect().top ?? Number.NaN);
      await api("POST", "/devices/Cinema/media", { url: "http://192.0.2.1/film.mp4" });
      await shows(page, "film.mp4");
      await until(page, "its picture has its place", () => document.querySelector(".playing-art") !== null);
      const playing = await topOfUp();
      isHeld = false;
      for (const request of pictures) await request.continue();
      await until(page, "there is no picture", () => document.querySelector(".playing-art") === null);
      expect(await topOfUp()).toBe(playing);
      await api("POST", "/devices/Cinema/playback", { do: "stop" });
      await shows(page, "Nothing is playing");
      expect(await topOfUp()).toBe(playing);
      await api("POST", "/devices/Cinema/lease", { owner: "ci", ttl_s: 600 });
      await until(page, "it says so", () => document.querySelector(".leased") !== null);
      const leased = await topOfUp();
      await page.keyboard.press("i");
      await shows(page, "Cinema is leased to ci");
      expect(await topOfUp()).toBe(leased);
      await pressNamed(page, "Dismiss");
      await api("DELETE", "/devices/Cinema/lease?force=true");
    },
    60_000,
  );

  test.each([1280, 320])(
    "a long title stays in its place, and whether a set is on is said in words, at %d px",
    async (width) => {
      const { page } = await visit(demo.port(), { at: at("Cinema"), width });
      await api("POST", "/devices/Cinema/media", { url: `http://192.0.2.1/${"a-long-title-".repeat(12)}.mp4` });
      await shows(page, "a-long-title-");
      const rightOf = () =>
        page.evaluate(() => {
          const right = (name: string) => document.querySelector(name)?.getBoundingClientRect().right ?? Number.NaN;
          return { title: right(".playing-title"), keys: right(".remote-keys"), room: right(".remote-hand") };
        });
      const { title, keys, room } = await rightOf();
      expect([title < room, keys <= room, room <= width]).toEqual([true, true, true]);
      const ends = await page.evaluate(() => document.querySelector(".remote-side")?.getBoundingClientRect().left ?? 0);
      expect(width < 760 || room < ends).toBe(true);
      await api("POST", "/devices/Cinema/playback", { do: "stop" });
      const developer = await visit(demo.port(), { at: at("Living Room"), width });
      await shows(developer.page, "Turn off");
      const words = () => document.querySelector(".remote-standing p")?.getBoundingClientRect().width ?? 0;
      expect(await developer.page.evaluate(words)).toBeGreaterThan(60);
    },
    60_000,
  );

  test("of the keys of a whole remote each can be hit at 320 px", async () => {
    const { page } = await visit(demo.port(), { at: at("Bedroom"), width: 320 });
    await shows(page, "Network access: Enabled");
    const hits = await page.evaluate(() =>
      [...document.querySelectorAll<HTMLElement>(".remote-key")].map((key) => {
        key.scrollIntoView({ block: "center" });
        const { left, right, top, width } = key.getBoundingClientRect();
        const isWhole = [left + 2, right - 2].every((x) => key.contains(document.elementFromPoint(x, top + 20)));
        return isWhole && width >= 44 ? "" : key.ariaLabel;
      }),
    );
    expect(hits.length).toBeGreaterThan(15);
    expect(hits.filter((name) => name !== "")).toEqual([]);
  }, 60_000);

  test("what settings keep back is dimmed, and says why; a refusal stays in the daemon's words", async () => {
    const { page } = await visit(demo.port(), { at: at("Bedroom") });
    await shows(page, "Network access: Enabled");
    expect(await page.evaluate(() => document.querySelector(".key-home")?.getAttribute("aria-disabled"))).toBe("true");
    const volume = await page.$$eval(".remote-volume button", (all) => all.map((one) => [one.ariaLabel, one.title]));
    expect(volume.map(([name]) => name)).toEqual(["Quieter", "Louder"]);
    for (const [, why] of volume) expect(why).toContain("Network access: Enabled");
    expect(await page.$eval(".remote-text", (own) => (own as HTMLElement).innerText)).toEndWith(
      "Withheld for the same reason.",
    );
    const before = demo.said().length;
    await pressNamed(page, "Home");
    await page.keyboard.press("h");
    expect(demo.said().slice(before)).not.toContain("Bedroom      refused key");
    const gone = await visit(demo.port(), { at: "/remote/nobody" });
    await shows(gone.page, "Device not found");
    expect(await gone.axe()).toEqual([]);
  }, 60_000);

  test("a device that becomes a part of another: its view goes on with the whole, and what had the focus has it", async () => {
    const { page } = await visit(demo.port(), { at: at("Office") });
    const [part, whole] = [demo.idOf("Office"), demo.idOf("Cinema")];
    await (await page.waitForSelector('[aria-label="Shortcuts"]'))?.focus();
    await api("POST", `/devices/${whole}/join`, { with: part });
    try {
      await until(page, "it goes on with the whole", (id) => location.hash === `#/remote/${id}`, whole);
      await shows(page, "Cinema");
      expect(await page.evaluate(() => document.activeElement?.ariaLabel)).toBe("Shortcuts");
      const bookmark = await visit(demo.port(), { at: `/remote/${part}` });
      await until(bookmark.page, "the address follows it", (id) => location.hash === `#/remote/${id}`, whole);
      await shows(bookmark.page, "Cinema");
    } finally {
      await api("POST", `/devices/${whole}/split`, { platform: "samsung" });
    }
  }, 60_000);

  test("icons are loaded two at a time: those of a slow set leave the browser's connections to the keys", async () => {
    const held: HTTPRequest[] = [];
    const { page } = await visit(demo.port(), {
      at: at("Living Room"),
      async opened(page) {
        await page.setRequestInterception(true);
        page.on("request", (request) => {
          if (request.url().includes("/icon?")) held.push(request);
          else void request.continue();
        });
      },
    });
    await shows(page, "Hulu");
    await eventually("two are asked for", () => held.length > 1);
    await listens(page);
    expect(held.length).toBe(2);
    await held[0]?.respond({ status: 204 });
    await eventually("the next is asked for", () => held.length > 2);
    await listens(page);
    expect(held.length).toBe(3);
    await page.close();
  }, 60_000);

  test("an icon that was not there while the set was off is there once it is on", async () => {
    let isOff = true;
    const { page } = await visit(demo.port(), {
      at: at("Living Room"),
      async opened(page) {
        await page.setRequestInterception(true);
        page.on("request", (request) => {
          if (isOff && request.url().includes("/icon?")) void request.respond({ status: 204 });
          else void request.continue();
        });
      },
    });
    await until(
      page,
      "each has a letter",
      () => document.querySelector(".app-letter") !== null && !document.querySelector(".app img"),
    );
    isOff = false;
    await api("POST", "/devices/Living Room/remote/key", { key: "power-off" });
    await shows(page, "standby");
    await api("POST", "/devices/Living Room/remote/key", { key: "power-on" });
    await until(page, "each has its icon", () => {
      const icons = [...document.querySelectorAll<HTMLImageElement>(".app img")];
      return icons.length > 0 && icons.every(({ naturalWidth }) => naturalWidth > 0);
    });
  }, 60_000);

  test("where the person chose the colours, a key that is pressed is seen to be", async () => {
    const { page } = await visit(demo.port(), { at: at("Living Room") });
    const session = await page.createCDPSession();
    await session.send("Emulation.setEmulatedMedia", { features: [{ name: "forced-colors", value: "active" }] });
    const key = await still(page, "button", "Up");
    const look = () => key.evaluate((own) => getComputedStyle(own).backgroundColor);
    const before = await look();
    await page.keyboard.down("ArrowUp");
    await until(page, "it is down", () => document.querySelector(".key-up.is-down") !== null);
    expect(await look()).not.toBe(before);
    await page.keyboard.up("ArrowUp");
  }, 60_000);

  test("power is asked for before it is pressed", async () => {
    const { page } = await visit(demo.port(), { at: at("Living Room") });
    await shows(page, "Turn off");
    await listens(page);
    await page.keyboard.press("p");
    await shows(page, "Turn off Living Room?");
    await page.keyboard.press("Enter");
    await shows(page, "standby");
    await pressNamed(page, "Turn on Living Room");
    await shows(page, "Turn off");
    // It goes off while it is asked: the answer is still the one to what was asked.
    await page.keyboard.press("p");
    await shows(page, "Turn off Living Room?");
    await demo.api("POST", "/devices/Living Room/remote/key", { key: "power-off" });
    await shows(page, "standby");
    expect(await page.$eval("dialog h2", (own) => own.textContent)).toBe("Turn off Living Room?");
    await page.keyboard.press("Enter");
    await until(page, "no question", () => document.querySelector("dialog") === null);
    expect(await demo.api("GET", "/devices/Living Room/state")).toMatchObject({ state: { power: "standby" } });
    await demo.api("POST", "/devices/Living Room/remote/key", { key: "power-on" });
    // A name that runs from right to left is cut at its end, the left.
    const { id } = await demo.api("PATCH", "/devices/Living Room", { name: "סלון" });
    await page.waitForSelector('select[aria-label="Device"][dir=rtl]');
    await demo.api("PATCH", `/devices/${id}`, { name: "Living Room" });
  }, 60_000);

  test("the select of devices, opened by the mouse and closed without a choice, leaves the keys to the set", async () => {
    const { page } = await visit(demo.port(), { at: at("Living Room") });
    await page.waitForSelector('select[aria-label="Device"]');
    await listens(page);
    await page.click('select[aria-label="Device"]');
    await until(page, "it is open", () => document.querySelector("select:open") !== null);
    await page.keyboard.press("Escape");
    await until(page, "it is closed", () => document.querySelector("select:open") === null);
    const ups = count("Living Room key up");
    await page.keyboard.press("ArrowUp");
    expect(await quiet("Living Room key up", ups + 1)).toBe(ups + 1);
  }, 60_000);

  test("a device is switched to, and its keys go there", async () => {
    const { page } = await visit(demo.port(), { at: at("Living Room") });
    await page.waitForSelector(`select[aria-label="Device"] option[value="${demo.idOf("Workbench")}"]`);
    await page.select('select[aria-label="Device"]', demo.idOf("Workbench"));
    await until(page, "the other one", () => document.title.startsWith("Workbench"));
    await listens(page);
    const answered = page.waitForResponse((one) => one.url().endsWith("/remote/key"));
    await page.keyboard.press("h");
    await demo.says(/^Workbench +key home$/m);
    // The browser tells of its requests later than the set.
    await answered;
    // Chosen by the keyboard, it is chosen on by the next key, which is not for the set.
    const sent: string[] = [];
    page.on("request", (request) => void (request.method() === "POST" && sent.push(request.url())));
    const titles: string[] = [];
    await page.focus('select[aria-label="Device"]');
    for (const way of ["ArrowUp", "ArrowUp", "ArrowDown"] as const) {
      await page.keyboard.press(way);
      await until(page, "another one", (last) => document.title !== last, titles.at(-1) ?? "Workbench · Remote · zapd");
      titles.push(await page.title());
    }
    expect(new Set(titles).size).toBe(2);
    expect(sent).toEqual([]);
  }, 60_000);

  test.each(["Living Room", "Cinema", "Bedroom"])(
    "axe finds nothing at %s: light and dark, 320 to 1280 px",
    async (name) => {
      const { page, axeEverywhere } = await visit(demo.port(), { at: at(name) });
      await shows(page, name === "Bedroom" ? "Network access" : "Netflix");
      expect(await axeEverywhere()).toEqual([]);
    },
    60_000,
  );
});

describePage("the apps of a device", (visit) => {
  test("are read anew when that is asked for, with one that was installed meanwhile", async () => {
    const room = await startDaemonWithRoku();
    try {
      const { id } = (await room.daemon.api("GET", "/devices/set")).body.data;
      const { page, axeEverywhere, problems, close } = await visit(room.daemon.port, { at: `/remote/${id}` });
      await shows(page, "Netflix");
      room.set.apps = [...room.set.apps, { id: "9999", name: "Newcomer", version: "1.0" }];
      await pressNamed(page, "Refresh the apps");
      await shows(page, "Newcomer");
      await until(page, "it is done", () => document.querySelector(".remote-side [aria-busy]") === null);
      expect([...(await axeEverywhere()), ...(await problems())]).toEqual([]);
      await close();
    } finally {
      await room.dispose();
    }
  }, 60_000);
});

describePage("the apps of a Samsung TV", (visit) => {
  const sets: SamsungSimulator[] = [];
  let daemon: TestDaemon;
  beforeAll(async () => {
    daemon = await startTestDaemon({ speed: 1 });
  }, 60_000);
  afterAll(async () => {
    await daemon?.dispose();
    await Promise.all(sets.map((set) => set.stop()));
  });
  const api = async (method: string, path: string, body?: unknown) => (await daemon.api(method, path, body)).body.data;
  async function plugIn(name: string) {
    const ports = { securePort: 0, plainPort: 0, rendererPort: 0, promptMs: 50, ssdp: false };
    const set = createSamsungSimulator({ name, host: freeHost(), ...ports });
    sets.push(set);
    await set.start();
    const { secure: port, wake } = set.ports;
    const own = { host: set.host, port, platform: "samsung", name, ports: { wake } };
    return { set, id: (await api("POST", "/devices", own)).id as string };
  }

  test("are there once it is turned on, also where it was opened in standby", async () => {
    const { id } = await plugIn("Den");
    await api("POST", `/devices/${id}/pair`);
    await eventually("it is paired", async () => (await api("GET", `/devices/${id}`)).access === "full");
    await api("POST", `/devices/${id}/remote/key`, { key: "power-off" });
    // The browser itself tells of the refusal: it is closed here.
    await using looked = await visit(daemon.port, { at: `/remote/${id}` });
    const { page } = looked;
    await shows(page, "Den is in standby");
    await pressNamed(page, "Turn on Den");
    await shows(page, "Netflix");
    expect(await page.$(".remote-list .refusal")).toBeNull();
  }, 60_000);
});
