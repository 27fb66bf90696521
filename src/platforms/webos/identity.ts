/** Who an LG set says it is (smart-tvs.md 2.1, 2.3), without registering: nothing is shown on it. */
import { bodyText, DeviceHttp } from "../../transport/http.ts";
import { text } from "../../transport/json.ts";
import { child, childText, readXml } from "../../transport/xml.ts";
import type { Facts, Identified, Lead, Surroundings, Target } from "../platform.ts";
import { endpointsOf, type Hello, nameOf, openFirst, standIn } from "./endpoints.ts";
import { readInputs, readMacs, uris } from "./protocol.ts";
import type { Endpoint, WebosSession } from "./session.ts";

export async function identifyWebos(lead: Lead, surroundings: Surroundings, signal: AbortSignal): Promise<Identified> {
  const endpoints = endpointsOf(lead, {});
  const { session, hello } = await openFirst(endpoints, surroundings, signal);
  try {
    const [told, described, certificate] = await Promise.all([
      modelOf(session, signal),
      description(lead, surroundings, signal),
      session.fingerprint ?? certificateAt(endpoints, hello, surroundings, signal),
    ]);
    const { name } = described;
    const model = told ?? described.model;
    return {
      ...factsOf(hello, standIn(lead), { model, name, macs: [], endpoint: nameOf(session.endpoint) }),
      ...(hello.uuid === null && { provisional: true as const }),
      certificate,
      // The port that is remembered is the one a search or a person gave; by which endpoint it answered is a trait.
      needsPairing: true,
    };
  } finally {
    session.close();
  }
}

/** What the secure port of a set shows whose plain one was faster; `null` where nobody of its uuid answers there. */
async function certificateAt(
  endpoints: readonly Endpoint[],
  { uuid }: Hello,
  surroundings: Surroundings,
  signal: AbortSignal,
): Promise<string | null> {
  const secure = endpoints.filter(({ tls }) => tls);
  const entered = await openFirst(secure, surroundings, signal, { known: uuid !== null }).catch(() => null);
  entered?.session.destroy();
  return entered && entered.hello.uuid === uuid ? entered.session.fingerprint : null;
}

/** What a set says once it lets us in: newer firmware tells its hardware addresses to those it knows alone. */
export async function knownFacts(
  session: WebosSession,
  hello: Hello,
  target: Target,
  signal: AbortSignal,
): Promise<Facts> {
  const [macs, inputs, model] = await Promise.all([
    session.request(uris.network, {}, signal).then(readMacs, () => []),
    session.request(uris.inputs, {}, signal).then(readInputs, () => []),
    // Older firmware tells it to those it knows.
    target.model ?? modelOf(session, signal),
  ]);
  const facts = factsOf(hello, target.identity, { model, name: null, macs, endpoint: nameOf(session.endpoint) });
  return { ...facts, traits: { ...facts.traits, inputs: inputs.join(" ") }, access: "full" };
}

function factsOf(
  { uuid, software }: Hello,
  otherwise: string,
  { model, name, macs, endpoint }: { model: string | null; name: string | null; macs: string[]; endpoint: string },
): Facts {
  return {
    identity: uuid ?? otherwise,
    name,
    kind: "tv",
    manufacturer: "LG",
    model,
    serial: null,
    macs,
    softwareVersion: software,
    access: null,
    traits: { door: endpoint },
  };
}

/** Newer firmware answers this before registration only (2.3), older after it. */
async function modelOf(session: WebosSession, signal: AbortSignal): Promise<string | null> {
  return session.request(uris.systemInfo, {}, signal).then(
    (said) => text(said["modelName"]),
    () => null,
  );
}

interface Described {
  readonly name: string | null;
  readonly model: string | null;
}

/** The name that its user gave it stands in the description alone, at a port that changes (2.1). */
async function description({ host, said }: Lead, surroundings: Surroundings, signal: AbortSignal): Promise<Described> {
  const none = { name: null, model: null };
  const port = Number(said?.["port"]);
  const path = said?.["path"];
  if (!port || path === undefined || !/^\/[\x21-\x7e]*$/.test(path)) return none;
  const http = new DeviceHttp({ address: { host, port }, surroundings });
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
