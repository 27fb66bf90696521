import type { Endpoint, Endpoints } from "./endpoint.ts";
import { apps } from "./endpoints/apps.ts";
import { audio } from "./endpoints/audio.ts";
import { inputs } from "./endpoints/inputs.ts";
import { media } from "./endpoints/media.ts";
import { power } from "./endpoints/power.ts";
import { SYSTEM_INFO, system, systemInfo } from "./endpoints/system.ts";
import { text } from "./endpoints/text.ts";
import type { Model } from "./model.ts";
import { noPermission, noSuchMethod, notRegistered, type Payload } from "./wire.ts";

const SCHEME = "ssap://";
const ENDPOINTS: Endpoints = { ...apps, ...audio, ...inputs, ...media, ...power, ...system, ...text };

/** What is at the uri, for someone with these permissions; null is someone who has not registered. */
export function endpointAt(model: Model, uri: string, granted: ReadonlySet<string> | null): Endpoint {
  const path = uri.startsWith(SCHEME) ? uri.slice(SCHEME.length) : "";
  const endpoint = Object.hasOwn(ENDPOINTS, path) ? ENDPOINTS[path] : undefined;
  if (granted === null) throw notRegistered();
  if (endpoint === undefined || endpoint.exists?.(model) === false) throw noSuchMethod();
  if (path === SYSTEM_INFO && model.firmware.systemInfo === "before-registration") throw noPermission();
  // Whoever was granted nothing gets 401 from everything (smart-tvs.md 2.3).
  if (granted.size === 0 || (endpoint.permission !== null && !granted.has(endpoint.permission))) throw noPermission();
  return endpoint;
}

/** Answered before registration; null for every other uri. */
export function openTo(model: Model, uri: string): Payload | null {
  return uri === `${SCHEME}${SYSTEM_INFO}` ? systemInfo(model) : null;
}
