/** Players of this platform, and what was done to them. */
import { kodi } from "../../../src/platforms/kodi/adapter.ts";
import type { KodiMemory, KodiSecret } from "../../../src/platforms/kodi/memory.ts";
import { createKodiSimulator, type KodiSimulator, type KodiSimulatorOptions } from "../../../src/simulators/kodi.ts";
import { answer, startHttpDevice } from "../../support/http-device.ts";
import { type Line, lineTo } from "../harness.ts";

export async function startKodi(options: Partial<KodiSimulatorOptions> = {}): Promise<KodiSimulator> {
  const simulator = createKodiSimulator({ name: "One", port: 0, tcpPort: 0, mdns: false, startMs: 5, ...options });
  await simulator.start();
  return simulator;
}

/** The calls that do something, of all that came in. */
export function doneTo({ calls }: KodiSimulator): string[] {
  return calls.map(({ method }) => method).filter((method) => !/\.Get[A-Z]|\.Ping$/.test(method));
}

/** A connection to a player that is followed over its socket, through another port than its own where one is given. */
export function lineToKodi(
  player: KodiSimulator,
  port = player.port,
): Promise<Line<KodiSimulator, KodiMemory, KodiSecret>> {
  const { host, uuid, ports } = player;
  const announced = { type: "_xbmc-jsonrpc-h._tcp", uuid };
  return lineTo(kodi, player, { lead: { host, port, announced }, ports: { websocket: ports.tcp ?? 0 } });
}

/** What a Kodi answers to a method: a result, a failure by its code, or nothing at all. */
export type Said = (params: Readonly<Record<string, unknown>>) => unknown | { readonly code: number } | "hang";

/** A Kodi of a web server alone, whose answers are those of a test, and what it was asked. */
export async function startAnswering(answers: Readonly<Record<string, Said>>) {
  const asked: string[] = [];
  const device = await startHttpDevice(({ body }) => {
    const { id, method, params } = JSON.parse(body.toString());
    asked.push(method);
    const said = { ...usual, ...answers }[method as string]?.(params) ?? { code: -32_601 };
    if (said === "hang") return "";
    const isFailure = typeof said === "object" && "code" in said;
    const answered = isFailure ? { error: { ...said, message: "Failed." } } : { result: said };
    return answer(200, JSON.stringify({ jsonrpc: "2.0", id, ...answered }), ["Content-Type: application/json"]);
  });
  return { ...device, asked };
}

const usual: Readonly<Record<string, Said>> = {
  "Application.GetProperties": () => ({ name: "Kodi", version: { major: 21, minor: 2 }, volume: 40, muted: false }),
  "XBMC.GetInfoLabels": () => ({ "System.FriendlyName": "Den", "Network.MacAddress": "02:00:5e:00:53:21" }),
  "XBMC.GetInfoBooleans": () => ({ "System.ScreenSaverActive": false }),
  "GUI.GetProperties": () => ({ currentwindow: { id: 10_000, label: "Home" } }),
  "Player.GetActivePlayers": () => [],
  "Input.SendText": () => "OK",
};
