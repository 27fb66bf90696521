/** A real browser with the page: what it shows, errors of its console, refusals of its policy, and findings of axe. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, ElementHandle, Page } from "puppeteer-core";
import { root } from "./sources.ts";

const program = ["chromium", "chromium-browser", "google-chrome"].map((name) => Bun.which(name)).find(Boolean) ?? null;
/** Why there is no browser; `null` where there is one. */
export const noBrowser = program === null ? "there is no Chromium" : null;

/** `off`: further features that are off; `switches`: further ones. */
export async function startBrowser(off: readonly string[] = [], switches: readonly string[] = []): Promise<Browser> {
  const { launch } = await import("puppeteer-core");
  // No spare process, and no pages for the address bar of each new window, which would load beside the page.
  const without = ["SpareRendererForSitePerProcess", "WebUIOmniboxPopup", "WebUIOmniboxAimPopup", ...off];
  const args = [
    `--disable-features=${without.join(",")}`,
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
    ...switches,
  ];
  // Shorter than the time of a test: a browser that hangs is told with what it was asked.
  return launch({ executablePath: program ?? "", args, protocolTimeout: 50_000 });
}

/** A tab in the background draws no frames: it is polled. */
const patience = { timeout: 20_000, polling: 50 };

/** The colour schemes and widths that axe looks at. */
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
  /** Touch in place of a mouse. */
  readonly touch?: boolean;
  /** Behind `#`, such as `/activity`. */
  readonly at?: string;
  /** Another page than the one at the top, such as `docs`. */
  readonly path?: string;
  /** Opens a tab in the window of this page: they share storage and locks. */
  readonly beside?: Page;
  /** Gets the page before its first request. */
  opened?(page: Page): void | Promise<void>;
}

/** For `await using`: a page that a failed test left open would delay the next one. */
export interface Looked extends AsyncDisposable {
  readonly page: Page;
  /** Errors of the console, uncaught errors and refusals of the policy. */
  problems(): Promise<string[]>;
  /** The findings of axe, as `rule: element`. */
  axe(): Promise<string[]>;
  /** The findings of axe, and overflow to the side, in light and dark at 320, 768 and 1280 px. */
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
  // The console reports each answer with an error status; that of a command is no fault of the page. The report may come
  // before the answer, so it is judged in `problems`.
  const refusedCommands = new Set<string>();
  page.on("response", (response) => {
    if (response.status() >= 400 && response.request().method() !== "GET") refusedCommands.add(response.url());
  });
  page.on("console", (message) => {
    if (message.type() !== "error" && message.type() !== "warn") return;
    // Another test made a network interface meanwhile: Chromium drops what it is loading, and the page asks again.
    if (message.text().includes("ERR_NETWORK_CHANGED")) return;
    complaints.push({ text: message.text(), url: message.location().url ?? "" });
  });
  // What is asked of a page that has crashed would never be answered.
  let crashed: Promise<void> | undefined;
  page.on("error", ({ message }) => {
    process.stderr.write(`${page.url()}: ${message}\n`);
    crashed = page.close();
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
  // In the background it would get no frames.
  if (!beside) await page.bringToFront();
  await page.waitForFunction(() => document.querySelector("main") !== null, patience);
  const axe = async (): Promise<string[]> => {
    // The policy of the page forbids scripts, but not those of the debugger.
    if (!(await page.evaluate(() => "axe" in globalThis)))
      await page.evaluate(readFileSync(join(root, "node_modules/axe-core/axe.min.js"), "utf8"));
    return page.evaluate(async () => {
      const { axe } = globalThis as unknown as { axe: { run(): Promise<AxeResults> } };
      const { violations } = await axe.run();
      return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 160)}`));
    });
  };
  const close = async () => {
    await crashed;
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

/** Waits until something is true in the page; fails with what the page shows. */
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

/** Presses the button, link or menu entry of this name, with the mouse or by touch, once it no longer moves. */
export async function pressNamed(page: Page, name: string, how: "mouse" | "finger" = "mouse"): Promise<void> {
  const named = await still(page, "button, a[href], [role=menuitem], input, label, summary", name);
  await press(named, `"${name}"`, how);
}

/** Clicks the first element that a selector finds, once it no longer moves. */
export async function pressFirst(page: Page, selector: string): Promise<void> {
  await press(await still(page, selector), selector, "mouse");
}

/**
 * The first element that a selector finds, of this name where one is given, in the middle of the window, once it no longer moves
 * and takes presses: while a command is under way for long, as on a busy machine, it takes none.
 */
export async function still(
  page: Page,
  selector: string,
  name: string | null = null,
): Promise<ElementHandle<HTMLElement>> {
  const found = await page
    .waitForFunction(
      async (selector, wanted) => {
        const all = [...document.querySelectorAll<HTMLElement>(selector)];
        const nameOf = (one: HTMLElement) => (one.getAttribute("aria-label") ?? one.textContent ?? "").trim();
        const own = all.find((one) => (wanted === null || nameOf(one) === wanted) && one.checkVisibility());
        if (!own) return false;
        // An element below the bar cannot be clicked.
        own.scrollIntoView({ block: "center" });
        const place = () => JSON.stringify(own.getBoundingClientRect());
        const before = place();
        await new Promise((resolve) => setTimeout(resolve, 50));
        return own.isConnected && own.ariaBusy !== "true" && place() === before ? own : false;
      },
      patience,
      selector,
      name,
    )
    .catch(async () => {
      const wanted = name === null ? selector : `called "${name}"`;
      const shown = await page.evaluate(() => document.body.innerText);
      throw new Error(`nothing is ${wanted}; the page shows:\n${shown}`);
    });
  return found.asElement() as ElementHandle<HTMLElement>;
}

/** Fails where the page has moved since the last look, so that the press met something else: what fails then is far from here. */
async function press(element: ElementHandle<HTMLElement>, what: string, how: "mouse" | "finger"): Promise<void> {
  const met = element
    .evaluate(
      (own, within) =>
        new Promise<string | null>((resolve) => {
          const hear = ({ target }: Event) =>
            resolve(own.contains(target as Node) ? null : (target as Element).outerHTML.slice(0, 200));
          addEventListener("click", hear, { capture: true, once: true });
          setTimeout(() => resolve("nothing"), within);
        }),
      patience.timeout,
    )
    // The press has led to another page.
    .catch(() => null);
  await (how === "mouse" ? element.click() : element.tap());
  const other = await met;
  if (other !== null) throw new Error(`the press of ${what} met ${other}`);
}

/** Replaces the text of the field with this label. */
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
  // Not by clicks: a page that moves would have them elsewhere, and the key for the set.
  await field?.evaluate((own) => {
    own.focus();
    own.select();
  });
  await page.keyboard.press("Backspace");
  await field?.type(text);
}
