/** Who an LG set says it is (smart-tvs.md 2.1, 2.3), without registering: nothing is shown on it. */
import { bodyText, DeviceHttp } from "../../transport/http.ts";
import { text } from "../../transport/json.ts";
import { child, childText, readXml } from "../../transport/xml.ts";
import type { Facts, Lead, PlatformHost, Sighting } from "../platform.ts";
import { standIn } from "../query.ts";
import { endpointsOf, type Hello, openFirst } from "./endpoints.ts";
import type { WebosMemory, WebosTarget } from "./memory.ts";
import { readInputs, readMacs, uris, type WebosInput } from "./protocol.ts";
import type { Endpoint, WebosSession } from "./session.ts";

export async function identifyWebos(
  lead: Lead,
  platformHost: PlatformHost,
  signal: AbortSignal,
): Promise<Sighting<WebosMemory>> {
  const endpoints = endpointsOf(lead, {});
  const { session, hello } = await openFirst(endpoints, platformHost, signal);
  try {
    const [told, described, certificate] = await Promise.all([
      modelOf(session, signal),
      description(lead, platformHost, signal),
      session.fingerprint ?? certificateAt(endpoints, hello, platformHost, signal),
    ]);
    return {
      identity: hello.uuid ?? standIn(lead),
      ...(hello.uuid === null && { provisional: true as const }),
      certificate,
      facts: factsOf(hello, { model: told ?? described.model, name: described.name, macs: [] }),
      // The control port stays the one that a search or a person gave.
      memory: { endpoint: endpointOf(session) },
      pairing: "required",
    };
  } finally {
    session.close();
  }
}

/** What the secure port of a set shows whose plain one was faster; `null` where nobody of its uuid answers there. */
async function certificateAt(
  endpoints: readonly Endpoint[],
  { uuid }: Hello,
  platformHost: PlatformHost,
  signal: AbortSignal,
): Promise<string | null> {
  const secure = endpoints.filter(({ tls }) => tls);
  const entered = await openFirst(secure, platformHost, signal, { known: uuid !== null }).catch(() => null);
  entered?.session.destroy();
  return entered && entered.hello.uuid === uuid ? entered.session.fingerprint : null;
}

/** What a set says once it lets us in: newer firmware tells its hardware addresses to those it knows alone. `inputs` is `null` where it does not answer to that. */
export async function toldWhenIn(
  session: WebosSession,
  hello: Hello,
  target: WebosTarget,
  signal: AbortSignal,
): Promise<{ readonly facts: Facts; readonly memory: WebosMemory; readonly inputs: readonly WebosInput[] | null }> {
  const [macs, inputs, model] = await Promise.all([
    session.request(uris.network, {}, signal).then(readMacs, () => []),
    session.request(uris.inputs, {}, signal).then(readInputs, () => null),
    // Older firmware tells it to those it knows.
    target.facts.model ?? modelOf(session, signal),
  ]);
  const facts: Facts = { ...factsOf(hello, { model, name: null, macs }), access: "full" };
  const ids = inputs?.map(({ id }) => id).filter((id) => /^[A-Za-z0-9_-]{1,32}$/.test(id));
  return { facts, memory: { endpoint: endpointOf(session), ...(ids && { inputs: ids }), prompted: 0 }, inputs };
}

function factsOf({ software }: Hello, told: Pick<Facts, "model" | "name" | "macs">): Facts {
  return { ...told, kind: "tv", manufacturer: "LG", serial: null, softwareVersion: software, access: null };
}

function endpointOf({ endpoint: { port, tls } }: WebosSession): WebosMemory["endpoint"] {
  return { port, tls };
}

/** Newer firmware answers this before registration only (2.3), older after it. */
async function modelOf(session: WebosSession, signal: AbortSignal): Promise<string | null> {
  return session.request(uris.systemInfo, {}, signal).then(
    (said) => text(said["modelName"]),
    () => null,
  );
}

/** The name that its user gave it stands in the description alone, at a port that changes (2.1). */
async function description(
  { host, said }: Lead,
  platformHost: PlatformHost,
  signal: AbortSignal,
): Promise<Pick<Facts, "name" | "model">> {
  const none = { name: null, model: null };
  const port = Number(said?.["port"]);
  const path = said?.["path"];
  if (!port || path === undefined || !/^\/[\x21-\x7e]*$/.test(path)) return none;
  const http = new DeviceHttp({ address: { host, port }, platformHost });
  try {
    const answer = await http.read(path, signal);
    if (answer.status !== 200) return none;
    const device = child(readXml(bodyText(answer)), "device");
    return { name: childText(device, "friendlyName") ?? null, model: childText(device, "modelName") ?? null };
  } catch {
    return none;
  } finally {
    http.close();
  }
}
