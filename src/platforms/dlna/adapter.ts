/**
 * DLNA renderers (UPnP MediaRenderer): found by SSDP, controlled by SOAP, with GENA events. Most are part of a TV that
 * another platform controls as well, and add what that lacks. Facts: protocols/players.md 8.
 */
import { hasCode, protocolError } from "../../api/errors.ts";
import { type Answer, DeviceHttp } from "../../transport/http.ts";
import { documentText } from "../../transport/xml.ts";
import {
  type Capability,
  type Connection,
  type Description,
  type Emit,
  emptySet,
  type Facts,
  keysIn,
  type Lead,
  type Platform,
  type PlatformHost,
  type Sighting,
} from "../platform.ts";
import { playerKeys } from "../player-keys.ts";
import { commandsOf, controlsOf } from "./controls.ts";
import { type DlnaMemory, type DlnaTarget, dlnaMemory } from "./memory.ts";
import {
  type RendererDescription,
  readDescription,
  readRendering,
  readSearchAnswer,
  readTransport,
} from "./protocol.ts";
import { Renderer } from "./renderer.ts";

/** Most devices of a newer version also answer searches for the older ones, but not all. */
const versions = [1, 2, 3] as const;
/**
 * Where a description usually is, for an address without a search: libupnp and others, Platinum, Samsung TVs, Sonos, Sony
 * (the LOCATION of a KDL-32W605A), Panasonic (of a 42AS650, home-assistant/core#23083), Philips (of an AW9000, FHEM), Yamaha
 * (of an R-N602, jellyfin#4919), Denon and Marantz (HEOS).
 */
const usualPaths = [
  "/description.xml",
  "/",
  "/dmr",
  "/xml/device_description.xml",
  "/dmr.xml",
  "/dmr/ddd.xml",
  "/nmrDescription.xml",
  "/MediaRenderer/desc.xml",
  "/upnp/desc/aios_device/aios_device.xml",
] as const;

export const dlna: Platform<DlnaMemory> = {
  name: "dlna",
  // The first port of libupnp. A renderer may use any port; a search answer contains it.
  ports: { control: 49_152 },
  queries: versions.map((version) => ({
    over: "ssdp",
    target: `urn:schemas-upnp-org:device:MediaRenderer:${version}`,
    read: readSearchAnswer,
  })),
  memory: dlnaMemory,
  isAppId: () => false,
  identify,
  describe,
  connect,
};

async function identify(lead: Lead, platformHost: PlatformHost, signal: AbortSignal): Promise<Sighting<DlnaMemory>> {
  const http = new DeviceHttp({ address: lead, platformHost });
  const headers = { Connection: "close" };
  const read = async (path: string) => {
    const answer = await http.read(path, signal, { headers });
    if (answer.status !== 200) throw protocolError("has no UPnP description");
    return answer;
  };
  try {
    const { udn, identity, page, facts, memory, documents } = await findDescription(lead, read);
    // What a service does not report now stays unknown, and is assumed to be as usual.
    const readDocument = async <T extends object>(path: string | null, parse: (document: string) => T) => {
      try {
        return path === null ? {} : parse(documentText(await read(path)));
      } catch {
        return {};
      }
    };
    const [transport, rendering] = [
      memory.transport ? await readDocument(documents.transport, readTransport) : {},
      memory.rendering ? await readDocument(documents.rendering, readRendering) : {},
    ];
    return {
      identity,
      ids: [`upnp:${udn}`, ...(page === null ? [] : [`page:${page}` as const])],
      facts,
      memory: { ...memory, ...transport, ...rendering },
      pairing: "none",
    };
  } finally {
    http.close();
  }
}

/** Reads the description at the path of the search answer or of the memory, or else at the usual paths. */
async function findDescription(lead: Lead, read: (path: string) => Promise<Answer>): Promise<RendererDescription> {
  const known = lead.path ?? dlnaMemory.safeParse(lead.memory).data?.path;
  const paths = known === undefined ? usualPaths : [known];
  let failure: unknown;
  for (const path of paths) {
    try {
      return readDescription(await read(path), lead, path);
    } catch (error) {
      // A device that does not answer at one path does not answer at any.
      if (!hasCode(error, "device_error")) throw error;
      failure ??= error;
    }
  }
  throw failure;
}

function describe(_facts: Facts, memory: DlnaMemory): Description {
  const isRead = memory.path !== undefined;
  const plays = !isRead || memory.transport !== undefined;
  const does = plays ? commandsOf(memory) : new Set();
  const can = { seek: plays && memory.seeks !== false, volume: memory.volume !== null, mute: memory.mutes !== false };
  const keys = keysIn(playerKeys).filter((key) => {
    const what = playerKeys[key];
    if (!what) return false;
    if ("louder" in what) return can.volume;
    if ("mute" in what) return can.mute;
    if ("by" in what) return can.seek;
    return what.tell === "toggle" ? does.has("play") && does.has("pause") : does.has(what.tell);
  });
  const has: Capability[] = ["state"];
  if (keys.length > 0) has.push("keys");
  if (can.volume) has.push("volume");
  if (can.mute) has.push("mute");
  if (can.seek) has.push("seek");
  if (plays) has.push("media", "playback");
  return { has: new Set(has), withheld: emptySet, keys: new Set(keys) };
}

function connect(target: DlnaTarget, platformHost: PlatformHost, emit: Emit<DlnaMemory>): Connection {
  const renderer = new Renderer(target, platformHost, emit);
  return {
    state: renderer,
    ...controlsOf(renderer),
    close: () => renderer.close(),
  };
}
