/** A real browser before the page: what it shows, what its console says, what its policy refused, what axe finds. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, ElementHandle, Page } from "puppeteer-core";
import { root } from "./sources.ts";

const program = ["chromium", "chromium-browser", "google-chrome"].map((name) => Bun.which(name)).find(Boolean) ?? null;
/** Why there is no browser to try it in; `null` where there is one. */
export const noBrowser = program === null ? "there is no Chromium" : null;

export async function startBrowser(): Promise<Browser> {
  const { launch } = await import("puppeteer-core");
  // No process in stock for a page that may never come, and no pages of its own below the address bar of every new window:
  // hundreds of files, while the page that is looked at loads.
  const without = ["SpareRendererForSitePerProcess", "WebUIOmniboxPopup", "WebUIOmniboxAimPopup"];
  const args = [
    `--disable-features=${without.join(",")}`,
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
  ];
  return launch({ executablePath: program ?? "", args });
}

/** A tab that is behind another one draws nothing: it is looked at by the clock. */
const patience = { timeout: 20_000, polling: 50 };

/** In `npm test` the first and the fourth stand for them all, in turns: the narrowest in the light, the widest in the dark. */
const looks = [
  ["light", 320],
  ["light", 768],
  ["light", 1280],
  ["dark", 1280],
  ["dark", 768],
  ["dark", 320],
] as const;

export interface Looking {
  readonly width?: number;
  readonly height?: number;
  readonly scheme?: "light" | "dark";
  /** A finger in the place of a mouse. */
  readonly touch?: boolean;
  /** Behind `#`, such as `/activity`. */
  readonly at?: string;
  /** Another page than the one at the top, such as `docs`. */
  readonly path?: string;
  /** A tab of the same window as this page: one browser, one storage, one set of locks. */
  readonly beside?: Page;
  /** Given the page before it asks for anything. */
  opened?(page: Page): void | Promise<void>;
}

/** Looked at for a block: `await using`, so that a test that fails leaves no page behind, which would have the next one wait. */
export interface Looked extends AsyncDisposable {
  readonly page: Page;
  /** What the console said that is an error, what went uncaught, and what the policy refused. Empty when all is well. */
  problems(): Promise<string[]>;
  /** What axe finds, as `rule: element`. Empty when all is well. */
  axe(): Promise<string[]>;
  /** What axe finds, and what sticks out to the side, as it stands now: light and dark, at 320, 768 and 1280 px. */
  axeEverywhere(): Promise<string[]>;
  close(): Promise<void>;
}

/** Opens the page of a daemon, and waits until it is live. */
export async function look(browser: Browser, port: number, looking: Looking = {}): Promise<Looked> {
  const { width = 1280, height = 800, scheme = "light", touch = false, at = "", path = "", beside, opened } = looking;
  const context = beside ? beside.browserContext() : await browser.createBrowserContext();
  const page = await context.newPage();
  await opened?.(page);
  const uncaught: string[] = [];
  const complaints: { readonly text: string; readonly url: string }[] = [];
  // A browser reports each answer that is a refusal. One that a command got is shown to people, and no fault of the page.
  // What the console says of an answer may come before the answer itself, so it is judged when somebody asks.
  const refusedCommands = new Set<string>();
  page.on("response", (response) => {
    if (response.status() >= 400 && response.request().method() !== "GET") refusedCommands.add(response.url());
  });
  page.on("console", (message) => {
    if (message.type() !== "error" && message.type() !== "warn") return;
    complaints.push({ text: message.text(), url: message.location().url ?? "" });
  });
  page.on("pageerror", (error) => uncaught.push(`uncaught: ${error instanceof Error ? error.message : String(error)}`));
  await page.setViewport({ width, height, hasTouch: touch, isMobile: touch });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await page.evaluateOnNewDocument(() => {
    const refused: string[] = [];
    Object.assign(globalThis, { refused });
    document.addEventListener("securitypolicyviolation", (event) =>
      refused.push(`${event.violatedDirective}: ${event.blockedURI} ${event.sample}`),
    );
  });
  await page.goto(`http://127.0.0.1:${port}/${path}${at === "" ? "" : `#${at}`}`);
  // Behind another page it would get no frames, and what waits for one would wait for ever.
  if (!beside) await page.bringToFront();
  await page.waitForFunction(() => document.querySelector("main") !== null, patience);
  const axe = async (): Promise<string[]> => {
    // The policy of the page lets no script in; what the debugger runs is none of the page's.
    if (!(await page.evaluate(() => "axe" in globalThis)))
      await page.evaluate(readFileSync(join(root, "node_modules/axe-core/axe.min.js"), "utf8"));
    return page.evaluate(async () => {
      const { axe } = globalThis as unknown as { axe: { run(): Promise<AxeResults> } };
      const { violations } = await axe.run();
      return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 160)}`));
    });
  };
  const close = async () => {
    if (!page.isClosed()) await page.close();
    if (!beside && !context.closed) await context.close();
  };
  return {
    page,
    axe,
    close,
    [Symbol.asyncDispose]: close,
    async axeEverywhere() {
      const found: string[] = [];
      for (const [scheme, width] of looks) {
        await page.setViewport({ width, height, hasTouch: touch, isMobile: touch });
        await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
        // What fades is as it stays: half a colour has half a contrast.
        await page.evaluate(() => Promise.all(document.getAnimations().map((one) => one.finished.catch(() => {}))));
        const isWide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
        const now = [...(await axe()), ...(isWide ? ["something sticks out to the side"] : [])];
        found.push(...now.map((one) => `${scheme}, ${width} px: ${one}`));
      }
      return found;
    },
    async problems() {
      const refused = await page.evaluate(() => (globalThis as unknown as { refused: string[] }).refused);
      const isOfRefused = ({ text, url }: (typeof complaints)[number]) =>
        refusedCommands.has(url) && text.startsWith("Failed to load resource");
      const said = complaints.filter((one) => !isOfRefused(one)).map(({ text }) => `console: ${text}`);
      return [...said, ...uncaught, ...refused.map((one) => `policy: ${one}`)];
    },
  };
}

interface AxeResults {
  readonly violations: readonly { readonly id: string; readonly nodes: readonly { readonly html: string }[] }[];
}

/** Waits until something is true in the page, and says what it showed when it did not come true. */
export async function until(
  page: Page,
  what: string,
  isSo: (...given: string[]) => boolean,
  ...given: string[]
): Promise<void> {
  await page.waitForFunction(isSo, patience, ...given).catch(async () => {
    const shown = await page.evaluate(() => document.body.innerText);
    throw new Error(`${what}: not within 20 s; the page shows:\n${shown}`);
  });
}

/** Waits until the page shows a text. */
export function shows(page: Page, text: string): Promise<void> {
  return until(page, `the page shows "${text}"`, (wanted) => document.body.innerText.includes(wanted ?? ""), text);
}

/**
 * Presses what has this name: a button, a link, an entry of a menu. With the mouse, or with a finger. As a person does, it
 * aims at what stands still: what is still moving, or is being drawn anew, is looked at again.
 */
export async function pressNamed(page: Page, name: string, how: "mouse" | "finger" = "mouse"): Promise<void> {
  const pressed = await page
    .waitForFunction(
      async (wanted) => {
        const all = [...document.querySelectorAll<HTMLElement>("button, a[href], [role=menuitem], input, label")];
        const nameOf = (one: HTMLElement) => (one.getAttribute("aria-label") ?? one.textContent ?? "").trim();
        const own = all.find((one) => nameOf(one) === wanted && one.checkVisibility());
        if (!own) return false;
        // What is scrolled below the bar is there, and not to be hit.
        own.scrollIntoView({ block: "center" });
        const place = () => JSON.stringify(own.getBoundingClientRect());
        const before = place();
        await new Promise((resolve) => setTimeout(resolve, 50));
        return own.isConnected && place() === before ? own : false;
      },
      patience,
      name,
    )
    .catch(async () => {
      throw new Error(
        `nothing is called "${name}"; the page shows:\n${await page.evaluate(() => document.body.innerText)}`,
      );
    });
  const element = pressed.asElement() as ElementHandle<HTMLElement> | null;
  await (how === "mouse" ? element?.click() : element?.tap());
}

/** Writes into the field that has this label, in the place of what stood there. */
export async function write(page: Page, label: string, text: string): Promise<void> {
  const found = await page.waitForFunction(
    (wanted) =>
      [...document.querySelectorAll("input")].find((one) =>
        [...(one.labels ?? [])].some((own) => own.textContent?.trim() === wanted),
      ) ?? false,
    patience,
    label,
  );
  const field = found.asElement() as ElementHandle<HTMLInputElement> | null;
  await field?.click({ count: 3 });
  await page.keyboard.press("Backspace");
  await field?.type(text);
}
