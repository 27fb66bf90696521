/** 13: a key from the click on the page, in a real browser, to the set, beside the same key by curl. */
import { spawn } from "node:child_process";
import { createRokuSimulator } from "../../../../src/simulators/roku.ts";
import { look, noBrowser, startBrowser } from "../../../support/browser.ts";
import { median, ratios, short } from "../figures.ts";
import type { Row } from "../report.ts";
import { keyThrough, type Stage } from "../stage.ts";
import type { Measure } from "./measure.ts";

const times = 21;
const patienceMs = 5_000;
/** Between two keys, so that neither waits for the other's answer. */
const restMs = 50;

async function run(stage: Stage): Promise<Row[]> {
  if (noBrowser !== null) throw new Error(noBrowser);
  let arrived: ((at: number) => void) | undefined;
  const set = createRokuSimulator({
    name: "Page",
    ssdp: false,
    onEvent: ({ type }) => void (type === "key" && arrived?.(performance.now())),
  });
  await set.start();
  stage.atEnd(() => set.stop());
  const daemon = await stage.daemon();
  const { id } = (await daemon.api("POST", "/devices", { host: set.host, port: set.port, name: "S0" })) as {
    id: string;
  };
  const browser = await startBrowser();
  stage.atEnd(() => browser.close());
  const { page } = await look(browser, daemon.port, { at: `/remote/${id}` });
  await (await page.waitForSelector('[aria-label="Home"]'))?.hover();

  /** Milliseconds from an order to the set. */
  const reaches = async (order: () => Promise<unknown>) => {
    const came = new Promise<number>((resolve, reject) => {
      arrived = resolve;
      setTimeout(() => reject(new Error(`no key came within ${patienceMs} ms`)), patienceMs).unref();
    });
    const began = performance.now();
    const ordered = order();
    const ms = (await came) - began;
    await ordered;
    await Bun.sleep(restMs);
    return ms;
  };
  const { path, body = "" } = keyThrough("S0");
  const words = ["-sf", "-o", "/dev/null", "-X", "POST", "-d", body, `http://127.0.0.1:${daemon.port}${path}`];
  const curl = () => new Promise((resolve) => spawn("curl", words, { stdio: "ignore" }).on("close", resolve));
  const click = async () => {
    await page.mouse.down();
    await page.mouse.up();
  };

  const rounds = await stage.rounds(async () => {
    const all: { curl: number; click: number }[] = [];
    for (let time = 0; time < times; time++) all.push({ curl: await reaches(curl), click: await reaches(click) });
    return { curl: median(all.map((one) => one.curl)), click: median(all.map((one) => one.click)) };
  });
  const [clicks, curls] = [rounds.map((one) => one.click), rounds.map((one) => one.curl)];
  return [
    {
      measure: 13,
      what: "key from the click on the page to the set",
      limit: 1,
      how: `click ${short(median(clicks))} ms ÷ curl ${short(median(curls))} ms`,
      figure: ratios(clicks, curls),
      must: { at: "most", value: 1.5 },
      growth: [],
      peers: [],
      note: `medians of ${times} clicks a round, one after the other; includes the way of the click from the debugger into the browser`,
    },
  ];
}

export const pageKey: Measure = { number: 13, title: "a key from the page", run };
