/**
 * By which port a set is reached (smart-tvs.md 2.2): wss on 3001, which firmware of 2022 on wants and sets of before 2018
 * lack, or ws on 3000. What worked is remembered; on any failure of one the other is tried.
 */
import { ZapdError } from "../../api/errors.ts";
import { sleep } from "../../system/sleep.ts";
import { text } from "../../transport/json.ts";
import { saidNothing } from "../../transport/websocket.ts";
import type { Address, Lead, PlatformHost, Ports, SsdpAnswer } from "../platform.ts";
import { locationOf } from "../query.ts";
import { hungUp, isStranger } from "./failures.ts";
import type { WebosMemory } from "./memory.ts";
import { type Payload, uris } from "./protocol.ts";
import { type Endpoint, WebosSession } from "./session.ts";

export const securePort = 3_001;
export const plainPort = 3_000;

/** The hello is optional (2.3): a set that has not answered it after this is asked something else. */
const helloWithin = 400;

/** An endpoint that has not opened after this does not keep the next one from being tried beside it. */
const headStart = 600;

/** What a set says in its hello (2.3). */
export interface Hello {
  /** `null` when it does not say. */
  readonly uuid: string | null;
  readonly software: string | null;
}

/** The endpoints of a set, the likeliest first; `remembered` is the one at which it answered last. */
export function endpointsOf({ host, port }: Address, ports: Ports, remembered?: WebosMemory["endpoint"]): Endpoint[] {
  const plain = ports["plain"] ?? plainPort;
  const endpoint = (at: number, tls: boolean): Endpoint => ({ host, port: at, tls });
  const usual =
    port === plain
      ? [endpoint(port, false), endpoint(securePort, true)]
      : [endpoint(port, true), endpoint(plain, false)];
  // A port that somebody gave may be of either kind.
  const given = port === securePort || port === plainPort ? [] : [endpoint(port, !usual[0]?.tls)];
  const all = [...usual, ...given];
  const known = all.filter((one) => one.port === remembered?.port && one.tls === remembered.tls);
  return [...known, ...all.filter((one) => !known.includes(one))];
}

/** An endpoint in a word, for the log. */
function nameOf({ port, tls }: Endpoint): string {
  return `${tls ? "wss" : "ws"}:${port}`;
}

/** A set that has answered, and has said who it is. */
export interface Greeted {
  readonly session: WebosSession;
  readonly hello: Hello;
}

export interface GreetOptions {
  /** It is known to say who it is: its word is waited for longer. */
  readonly known?: boolean;
  /** Fails for whoever is not the one that is wanted: the next endpoint is tried then. */
  prove?(greeted: Greeted): void;
}

type GreetHost = Pick<PlatformHost, "isOwnListener" | "requestTimeoutMs" | "debug">;

/**
 * Opens a session at the first endpoint that opens, and has the set say who it is; nothing secret is said. Fails with
 * `device_unreachable` when none opens, and as `prove` does where it fails for all that opened.
 */
export async function openFirst(
  endpoints: readonly Endpoint[],
  platformHost: GreetHost,
  signal: AbortSignal,
  options: GreetOptions = {},
): Promise<Greeted> {
  const won = new AbortController();
  const within = AbortSignal.any([signal, won.signal]);
  const failures: unknown[] = [];
  let before: Promise<unknown> = Promise.resolve();
  const tries = endpoints.map(async (endpoint, at) => {
    const failed = before;
    const turn = at === 0 ? Promise.resolve() : Promise.race([failed, sleep(headStart * at, within).catch(() => {})]);
    const mine = turn.then(() => greet(endpoint, platformHost, within, options));
    before = mine.catch(() => {});
    try {
      return await mine;
    } catch (error) {
      failures.push(error);
      platformHost.debug(
        `${nameOf(endpoint)} at ${endpoint.host}: ${error instanceof Error ? error.message : String(error)}`,
      );
      throw error;
    }
  });
  try {
    const greeted = await Promise.any(tries);
    for (const one of tries)
      void one.then(
        ({ session }) => session !== greeted.session && session.destroy(),
        () => {},
      );
    return greeted;
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw error instanceof AggregateError ? tellingMost(failures) : error;
  } finally {
    won.abort(new ZapdError("device_error", "was reached by another endpoint"));
  }
}

async function greet(
  endpoint: Endpoint,
  platformHost: GreetHost,
  signal: AbortSignal,
  { known = false, prove }: GreetOptions,
): Promise<Greeted> {
  const late = AbortSignal.timeout(platformHost.requestTimeoutMs());
  const within = AbortSignal.any([signal, late]);
  let session: WebosSession | undefined;
  try {
    session = await new WebosSession(endpoint, platformHost).open(within);
    const timeoutMs = known ? Math.max(helloWithin, platformHost.requestTimeoutMs() / 2) : helloWithin;
    const greeted = { session, hello: await helloOf(session, timeoutMs, within) };
    prove?.(greeted);
    return greeted;
  } catch (error) {
    const isOver = session?.alive === false;
    session?.destroy();
    if (signal.aborted) throw signal.reason;
    if (isStranger(error)) throw error;
    if (isOver) throw hungUp();
    throw late.aborted ? saidNothing() : error;
  }
}

async function helloOf(session: WebosSession, timeoutMs: number, signal: AbortSignal): Promise<Hello> {
  const over = new AbortController();
  const within = AbortSignal.any([signal, over.signal]);
  try {
    const asked = session.hello(within).catch((error: unknown) => {
      if (!over.signal.aborted && (signal.aborted || !session.alive)) throw error;
      return null;
    });
    const later = (ms: number) => sleep(ms, within).then(() => null);
    const soon = await Promise.race([asked, later(timeoutMs)]);
    if (soon) return readHello(soon);
    // Whatever it answers, and be it a refusal, it speaks as these sets do.
    await session.request(uris.systemInfo, {}, within).catch((error: unknown) => {
      if (signal.aborted || !session.alive || !(error instanceof ZapdError) || error.code === "device_timeout")
        throw error;
    });
    // One that is slow has said hello before it answered this.
    const said = await Promise.race([asked, later(0)]);
    return said ? readHello(said) : { uuid: null, software: null };
  } finally {
    over.abort();
  }
}

function readHello(said: Payload): Hello {
  // A colon is what tells a stand-in from a uuid.
  const uuid = text(said["deviceUUID"])?.trim().toLowerCase().replaceAll(":", "-") || null;
  return { uuid, software: text(said["deviceOSReleaseVersion"]) ?? text(said["deviceOSVersion"]) };
}

/** Of the failures of all endpoints, one that found a set says more than one that found nothing. */
function tellingMost(failures: readonly unknown[]): unknown {
  const stranger = failures.find(isStranger);
  const spoke = failures.find((one) => one instanceof ZapdError && one.code !== "device_unreachable");
  return stranger ?? spoke ?? failures[0];
}

export const searchTarget = "urn:lge-com:service:webos-second-screen:1";

/** The search's answer (2.1): the set is at the sender, and only the port and path of its description are used. */
export function readSearchAnswer(answer: SsdpAnswer): Lead | null {
  const { headers } = answer;
  if (headers.get("st") !== searchTarget && !headers.get("usn")?.endsWith(searchTarget)) return null;
  const place = locationOf(answer);
  return place && { host: place.host, port: securePort, said: { port: String(place.port), path: place.path } };
}
