/**
 * Which port a TV is reached at (smart-tvs.md 2.2): wss on 3001, which firmware since 2022 requires and TVs before 2018
 * lack, or ws on 3000. The one that worked is remembered; when it fails, the other is tried.
 */
import { textOf, ZapdError } from "../../api/errors.ts";
import { sleep } from "../../system/sleep.ts";
import { deadline } from "../../transport/http.ts";
import { text } from "../../transport/json.ts";
import { handshakeTimedOut } from "../../transport/websocket.ts";
import type { Address, Lead, PlatformHost, Ports, SsdpAnswer } from "../platform.ts";
import { turningOffOrStarting } from "../prompts.ts";
import { locationOf } from "../query.ts";
import { failedProof } from "./failures.ts";
import type { WebosMemory } from "./memory.ts";
import { type Payload, uris } from "./protocol.ts";
import { type Endpoint, WebosSession } from "./session.ts";

export const securePort = 3_001;
export const plainPort = 3_000;

/** The hello is optional (2.3): a TV that has not answered it by then gets another request. */
const helloTimeoutMs = 400;

/** When an endpoint has not opened by then, the next one is tried in parallel. */
const nextEndpointAfterMs = 600;

/** What a TV reports about itself in its hello (2.3). */
export interface Hello {
  /** `null` when it reports none. */
  readonly uuid: string | null;
  readonly software: string | null;
}

/** The endpoints of a TV, the likeliest first; `remembered` is the one that worked last. */
export function endpointsOf({ host, port }: Address, ports: Ports, remembered?: WebosMemory["endpoint"]): Endpoint[] {
  const plain = ports["plain"] ?? plainPort;
  const endpoint = (at: number, tls: boolean): Endpoint => ({ host, port: at, tls });
  const usual =
    port === plain
      ? [endpoint(port, false), endpoint(securePort, true)]
      : [endpoint(port, true), endpoint(plain, false)];
  // A port that a user gave may be of either kind.
  const other = port === securePort || port === plainPort ? [] : [endpoint(port, !usual[0]?.tls)];
  const isRemembered = (one: Endpoint) => one.port === remembered?.port && one.tls === remembered.tls;
  return [...usual, ...other].sort((one, next) => Number(isRemembered(next)) - Number(isRemembered(one)));
}

/** A session that is open, and what the TV answered to the hello. */
export interface Greeting {
  readonly session: WebosSession;
  readonly hello: Hello;
}

interface GreetOptions {
  /** The TV is known to report its uuid: zapd waits longer for its hello. */
  readonly tellsUuid?: boolean;
  /** Throws unless this is the TV that is wanted; then the next endpoint is tried. */
  prove?(greeted: Greeting): void;
}

type GreetHost = Pick<PlatformHost, "isOwnListener" | "requestTimeoutMs" | "debug">;

/**
 * Opens a session at the first endpoint that answers, and sends the hello; nothing secret. Fails with
 * `device_unreachable` when none opens, and as `prove` does when it rejects all that opened.
 */
export async function openFirst(
  endpoints: readonly Endpoint[],
  platformHost: GreetHost,
  signal: AbortSignal,
  options: GreetOptions = {},
): Promise<Greeting> {
  const won = new AbortController();
  const within = AbortSignal.any([signal, won.signal]);
  const failures: unknown[] = [];
  let previous: Promise<unknown> = Promise.resolve();
  const tries = endpoints.map(async (endpoint, index) => {
    const delay = sleep(nextEndpointAfterMs * index, within).catch(() => {});
    const attempt = Promise.race([previous, delay]).then(() => greet(endpoint, platformHost, within, options));
    previous = attempt.catch(() => {});
    try {
      return await attempt;
    } catch (error) {
      failures.push(error);
      platformHost.debug(`${endpoint.tls ? "wss" : "ws"}:${endpoint.port} at ${endpoint.host}: ${textOf(error)}`);
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
  } catch {
    if (signal.aborted) throw signal.reason;
    throw mostTelling(failures);
  } finally {
    won.abort(new ZapdError("device_error", "was already reached on another port"));
  }
}

async function greet(
  endpoint: Endpoint,
  platformHost: GreetHost,
  signal: AbortSignal,
  { tellsUuid = false, prove }: GreetOptions,
): Promise<Greeting> {
  const within = deadline(platformHost.requestTimeoutMs(), signal);
  let session: WebosSession | undefined;
  try {
    session = await new WebosSession(endpoint, platformHost).open(within);
    const timeoutMs = tellsUuid ? Math.max(helloTimeoutMs, platformHost.requestTimeoutMs() / 2) : helloTimeoutMs;
    const greeted = { session, hello: await helloOf(session, timeoutMs, within) };
    prove?.(greeted);
    return greeted;
  } catch (error) {
    const isOver = session?.alive === false;
    session?.destroy();
    if (signal.aborted) throw signal.reason;
    if (failedProof(error)) throw error;
    if (isOver) throw turningOffOrStarting();
    throw within.aborted ? handshakeTimedOut() : error;
  }
}

async function helloOf(session: WebosSession, timeoutMs: number, signal: AbortSignal): Promise<Hello> {
  const over = new AbortController();
  const within = AbortSignal.any([signal, over.signal]);
  try {
    const hello = session.hello(within).catch((error: unknown) => {
      if (!over.signal.aborted && (signal.aborted || !session.alive)) throw error;
      return null;
    });
    const after = (ms: number) => sleep(ms, within).then(() => null);
    const answer = await Promise.race([hello, after(timeoutMs)]);
    if (answer) return readHello(answer);
    // Any answer, even an error, shows that it uses this protocol.
    await session.request(uris.systemInfo, {}, within).catch((error: unknown) => {
      if (signal.aborted || !session.alive || !(error instanceof ZapdError) || error.code === "device_timeout")
        throw error;
    });
    // A TV that is only slow has answered the hello before this request.
    const late = await Promise.race([hello, after(0)]);
    return late ? readHello(late) : { uuid: null, software: null };
  } finally {
    over.abort();
  }
}

function readHello(hello: Payload): Hello {
  // A colon marks a stand-in for a uuid.
  const uuid = text(hello["deviceUUID"])?.trim().toLowerCase().replaceAll(":", "-") || null;
  return { uuid, software: text(hello["deviceOSReleaseVersion"]) ?? text(hello["deviceOSVersion"]) };
}

/** The most informative error: of an endpoint where a TV answered, rather than of one where nothing did. */
function mostTelling(failures: readonly unknown[]): unknown {
  const stranger = failures.find(failedProof);
  const spoke = failures.find((one) => one instanceof ZapdError && one.code !== "device_unreachable");
  return stranger ?? spoke ?? failures[0];
}

export const searchTarget = "urn:lge-com:service:webos-second-screen:1";

/** An SSDP answer (2.1). The TV is at the sender; of its LOCATION only port and path are used. */
export function readSearchAnswer(answer: SsdpAnswer): Lead | null {
  const { headers } = answer;
  if (headers.get("st") !== searchTarget && !headers.get("usn")?.endsWith(searchTarget)) return null;
  const place = locationOf(answer);
  return place && { host: place.host, port: securePort, announced: { port: String(place.port), path: place.path } };
}
