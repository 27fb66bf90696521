/** Identifies an LG TV (smart-tvs.md 2.1, 2.3) without registering, so that it shows no prompt. */
import { bodyText, DeviceHttp } from "../../transport/http.ts";
import { text } from "../../transport/json.ts";
import { child, childText, readXml } from "../../transport/xml.ts";
import type { Facts, Lead, PlatformHost, Sighting } from "../platform.ts";
import { addressIdentity } from "../query.ts";
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
    const [model, description, certificate] = await Promise.all([
      readModel(session, signal),
      readDescription(lead, platformHost, signal),
      session.fingerprint ?? certificateAt(endpoints, hello, platformHost, signal),
    ]);
    return {
      identity: hello.uuid ?? addressIdentity(lead),
      provisional: hello.uuid === null,
      certificate,
      facts: factsOf(hello, { model: model ?? description.model, name: description.name, macs: [] }),
      // The control port stays the one that the search or the user gave.
      memory: { endpoint: endpointOf(session) },
      pairing: "required",
    };
  } finally {
    session.close();
  }
}

/**
 * The certificate of the secure port, where the plain port answered first; `null` where no TV of this uuid answers
 * there.
 */
async function certificateAt(
  endpoints: readonly Endpoint[],
  { uuid }: Hello,
  platformHost: PlatformHost,
  signal: AbortSignal,
): Promise<string | null> {
  const secure = endpoints.filter(({ tls }) => tls);
  const greeting = await openFirst(secure, platformHost, signal, { tellsUuid: uuid !== null }).catch(() => null);
  greeting?.session.destroy();
  return greeting && greeting.hello.uuid === uuid ? greeting.session.fingerprint : null;
}

/**
 * Reads what a TV reports only to registered clients: newer firmware, its hardware addresses. `inputs` is `null` where it
 * lists none.
 */
export async function readWhenRegistered(
  session: WebosSession,
  hello: Hello,
  target: WebosTarget,
  signal: AbortSignal,
): Promise<{ readonly facts: Facts; readonly memory: WebosMemory; readonly inputs: readonly WebosInput[] | null }> {
  const [macs, inputs, model] = await Promise.all([
    session.request(uris.network, {}, signal).then(readMacs, () => []),
    session.request(uris.inputs, {}, signal).then(readInputs, () => null),
    modelIn(target.facts.model) ?? readModel(session, signal),
  ]);
  const facts: Facts = { ...factsOf(hello, { model, name: null, macs }), access: "full" };
  const ids = inputs?.map(({ id }) => id).filter((id) => /^[A-Za-z0-9_-]{1,32}$/.test(id));
  return { facts, memory: { endpoint: endpointOf(session), ...(ids && { inputs: ids }), prompted: 0 }, inputs };
}

function factsOf({ software }: Hello, facts: Pick<Facts, "model" | "name" | "macs">): Facts {
  return { ...facts, kind: "tv", manufacturer: "LG", serial: null, softwareVersion: software, access: null };
}

function endpointOf({ endpoint: { port, tls } }: WebosSession): WebosMemory["endpoint"] {
  return { port, tls };
}

/** Newer firmware answers this only before registration (2.3), older firmware only after it. */
async function readModel(session: WebosSession, signal: AbortSignal): Promise<string | null> {
  return session.request(uris.systemInfo, {}, signal).then(
    (info) => text(info["modelName"]),
    () => null,
  );
}

/** Many TVs are described by a name that all have, `LG Smart TV` or `LG TV`; a model has digits. */
function modelIn(described: string | null): string | null {
  return described !== null && /\d/.test(described) ? described : null;
}

/** The name that the user gave the TV is only in its UPnP description, at a port that changes (2.1). */
async function readDescription(
  { host, announced }: Lead,
  platformHost: PlatformHost,
  signal: AbortSignal,
): Promise<Pick<Facts, "name" | "model">> {
  const none = { name: null, model: null };
  const { port, path } = announced ?? {};
  if (path === undefined) return none;
  const http = new DeviceHttp({ address: { host, port: Number(port) }, platformHost });
  try {
    const answer = await http.read(path, signal);
    if (answer.status !== 200) return none;
    const device = child(readXml(bodyText(answer)), "device");
    return { name: childText(device, "friendlyName") ?? null, model: modelIn(childText(device, "modelName")) };
  } catch {
    return none;
  } finally {
    http.close();
  }
}
