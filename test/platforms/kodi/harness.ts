/** Players of this platform, and what was done to them. */
import { createKodiSimulator, type KodiSimulator, type KodiSimulatorOptions } from "../../../src/simulators/kodi.ts";

export async function startKodi(options: Partial<KodiSimulatorOptions> = {}): Promise<KodiSimulator> {
  const simulator = createKodiSimulator({ name: "One", port: 0, tcpPort: 0, mdns: false, startMs: 5, ...options });
  await simulator.start();
  return simulator;
}

/** The calls that do something, of all that came in. */
export function doneTo({ calls }: KodiSimulator): string[] {
  return calls.map(({ method }) => method).filter((method) => !/\.Get[A-Z]|\.Ping$/.test(method));
}
