/** The checks of `zapd doctor`, which runs them itself, and of `GET /doctor`. */
import { type Client, createCall, type Result } from "../api/client.ts";
import { textOf, ZapdError } from "../api/errors.ts";
import { brokerAnswers } from "./broker.ts";
import { configValid, daemonRuns, portBound, socketPrivate, stateWritable } from "./daemon.ts";
import { developerPassword, devicesReachable } from "./devices.ts";
import { type Check, examine, type NamedFinding, type Places, runChecks } from "./examination.ts";
import { clockSane, container, firewall, hostsKnown, interfacesAsked, multicastReceived } from "./network.ts";

/** Every check, in the order of the report. */
const checks: Readonly<Record<string, Check>> = {
  daemon: { about: "the daemon", timeoutMs: 6_000, run: daemonRuns },
  port: { about: "its port", timeoutMs: 6_000, run: portBound },
  socket: { about: "its socket", timeoutMs: 6_000, run: socketPrivate },
  config: { about: "the config", timeoutMs: 6_000, run: configValid },
  state: { about: "the state folder", timeoutMs: 4_000, run: stateWritable },
  clock: { about: "the clock", timeoutMs: 4_000, run: clockSane },
  interfaces: { about: "the interfaces", timeoutMs: 5_000, run: interfacesAsked },
  hosts: { about: "the hosts of the config", timeoutMs: 8_000, run: hostsKnown },
  multicast: { about: "multicast", timeoutMs: 5_000, run: multicastReceived },
  firewall: { about: "the firewall", timeoutMs: 5_000, run: firewall },
  container: { about: "the container", timeoutMs: 5_000, run: container },
  mqtt: { about: "the MQTT broker", timeoutMs: 12_000, run: brokerAnswers },
  devices: { about: "the devices", timeoutMs: 25_000, run: devicesReachable },
  password: { about: "the developer password", timeoutMs: 8_000, run: developerPassword },
};

/** The findings of every check, in order, each as soon as it and those before it are done. `isInside`: it runs in the daemon. */
export function findings(places: Places, isInside = false): AsyncGenerator<readonly NamedFinding[]> {
  return runChecks(checks, examine(places, isInside));
}

/** Runs the checks inside the daemon, whose API is called by `fetch`. */
export async function examineFrom(
  places: Omit<Places, "remarks" | "ask">,
  fetch: (request: Request) => Promise<Response>,
): Promise<Result<"examine">> {
  const call = createCall({ url: "http://zapd/v1", fetch });
  const own: Places = {
    ...places,
    remarks: [],
    async ask(name, given, timeoutMs) {
      const signal = AbortSignal.timeout(Math.ceil(timeoutMs));
      try {
        // Each operation goes with its own arguments, which types cannot follow through a spread.
        const argumentList = [{ ...given, signal }] as unknown as Parameters<Client[typeof name]>;
        return { ok: true, data: (await call(name, ...argumentList)).data };
      } catch (error) {
        if (error instanceof ZapdError) return { ok: false, ...error, message: error.message };
        return { ok: false, code: "internal_error", message: textOf(error) };
      }
    },
  };
  const all: NamedFinding[] = [];
  for await (const found of findings(own, true)) all.push(...found);
  return reportOf(all);
}

/** All findings, and how many are problems and remarks. */
export function reportOf(all: readonly NamedFinding[]): Result<"examine"> {
  const count = (status: NamedFinding["status"]) => all.filter((one) => one.status === status).length;
  const checks = all.map(({ id, status, text, hint = null }) => ({ id, status, text, hint }));
  return { checks, problems: count("fail"), remarks: count("warn") };
}
