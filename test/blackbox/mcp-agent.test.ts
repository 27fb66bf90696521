/**
 * An agent does "open YouTube, volume 15, tell me what is on" on sets that are asleep, not paired, limited or slow: the
 * answers of the tools match what the set itself shows.
 */
import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createRokuSimulator, type RokuSimulator, type RokuSimulatorOptions } from "../../src/simulators/roku.ts";
import { createWebosSimulator } from "../../src/simulators/webos.ts";
import { connect, type ToolAnswer } from "../support/mcp-clients.ts";
import { daemonForFile } from "./daemon-for-file.ts";

// What is told is measured here, not how soon: a busy machine needs all of the time that each command has.
const { daemon, startSimulator } = await daemonForFile({ speed: 1, config: { mcp: { http: true } } });
await fetch(`http://127.0.0.1:${daemon.port}/mcp`, { method: "POST" });
const token = readFileSync(join(daemon.stateFolder, "mcp.token"), "utf8").trim();
const agent = await connect("the second edition over HTTP", { daemon, token });
afterAll(() => agent.close());

async function plugIn(name: string, options: Partial<RokuSimulatorOptions> = {}): Promise<RokuSimulator> {
  const serial = `X0AGENT${name.toUpperCase()}`;
  const set = await startSimulator(createRokuSimulator({ name, serial, ssdp: false, launchMs: 0, ...options }));
  await daemon.api("POST", "/devices", { host: set.host, port: set.port, name, ports: { wake: set.ports.wake } });
  return set;
}

/** The answers to the three calls; the effect shows at once, but a busy machine may read it late. */
async function wish(
  device: string,
  wait_ms = 20_000,
): Promise<{ launched: ToolAnswer; volume: ToolAnswer; state: ToolAnswer }> {
  const launched = await agent.call("launch_app", { device, app: "youtube", wait_ms });
  const volume = await agent.call("set_volume", { device, level: 15 });
  const state = await agent.call("get_state", { device });
  return { launched, volume, state };
}

/** The answers match the set; nothing else is said to be confirmed. */
function checkTrue(set: RokuSimulator, { launched, volume, state }: Awaited<ReturnType<typeof wish>>): void {
  const shown = { app: set.state.activeApp === "837", volume: set.state.volume === 15 };
  if (launched.structuredContent.confirmed === true) expect(shown.app).toBe(true);
  if (volume.structuredContent.confirmed === true) expect(shown.volume).toBe(true);
  const told = state.structuredContent.state;
  if (told?.app) expect([told.app.id, shown.app]).toEqual(["youtube", true]);
  if (told?.volume?.level != null) expect(told.volume.level).toBe(set.state.volume);
  if (told && told.power !== "unknown") expect(told.power).toBe(set.state.power);
  for (const { isError, content } of [launched, volume, state])
    if (isError === true) expect(content[0]?.text).not.toContain("shows it.");
}

describe.concurrent("the same wish", () => {
  test.each<["standby" | "deep" | null]>([[null], ["standby"], ["deep"]])("to a set that sleeps: %p", async (sleep) => {
    const name = `Kitchen ${sleep ?? "on"}`;
    const set = await plugIn(name);
    if (sleep) await set.sleep(sleep);
    const told = await wish(name);
    checkTrue(set, told);
    expect([told.launched, told.volume].map(({ structuredContent }) => structuredContent.confirmed)).toEqual([
      true,
      true,
    ]);
    expect(told.state.content[0]?.text).toBe(`${name} is on · YouTube · volume 15.`);
  });

  test("to a set with limited access: what it does not tell is unknown", async () => {
    const set = await plugIn("Bedroom", { access: "limited" });
    await plugIn("Workroom");
    const told = await wish("Bedroom");
    checkTrue(set, told);
    expect(told.launched.structuredContent.confirmed).toBe(true);
    expect(told.volume).toMatchObject({ isError: true, structuredContent: { code: "device_refused" } });
    expect(told.state.structuredContent.state).toMatchObject({ app: { id: "youtube" }, volume: null });
    expect(told.state.content[0]?.text).toMatch(/^Bedroom .* · YouTube\.$/);
    // The effect of a key cannot be read.
    const keys = { keys: ["home", "down"], delay_ms: 0, wait_ms: 20_000 };
    const pressed = await agent.call("press_keys", { device: "Workroom", ...keys });
    expect(pressed.structuredContent).toMatchObject({ sent: 2, confirmed: null, after: { power: "on" } });
    expect(pressed.content[0]?.text).toContain("does not tell whether the command had its effect");
  });

  test("to a set that is not paired: nothing is done, and the answer says how to pair", async () => {
    const set = await startSimulator(
      createWebosSimulator({ name: "Lounge", securePort: 0, plainPort: 0, ssdp: false }),
    );
    const { secure, plain } = set.ports;
    await daemon.api("POST", "/devices", { host: set.host, port: secure ?? plain, name: "Lounge" });
    // A connection on which it was asked who it is may still be closing.
    const shown = () => JSON.stringify({ ...set.state, connections: undefined });
    const before = shown();
    const told = await wish("Lounge");
    for (const answer of Object.values(told)) {
      expect(answer).toMatchObject({ isError: true, structuredContent: { code: "pairing_required" } });
      expect(answer.content[0]?.text).toContain("zapd pair Lounge");
    }
    expect(shown()).toBe(before);
  });

  test("to a slow set: confirmed once it shows the app", async () => {
    const set = await plugIn("Cellar", { launchMs: 1_200 });
    const told = await wish("Cellar");
    checkTrue(set, told);
    expect(told.launched.structuredContent).toMatchObject({ confirmed: true, after: { app: { id: "youtube" } } });
  });

  test("to a set that accepts the launch without an effect: not confirmed", async () => {
    const set = await plugIn("Hall", { launchMs: 60_000 });
    const told = await wish("Hall", 1_500);
    checkTrue(set, told);
    expect(told.launched.structuredContent.confirmed).toBe(false);
    expect(told.launched.content[0]?.text).toContain("does not show the effect yet");
    expect(told.state.structuredContent.state.app).toBe(null);
    const late = await agent.call("wait_for", { device: "Hall", until: { app: "youtube" }, timeout_ms: 100 });
    expect(late.structuredContent.matched).toBe(false);
    expect(late.content[0]?.text).toStartWith("The state does not match after 100 ms: app:youtube. Now: Hall is on");
  });
});
