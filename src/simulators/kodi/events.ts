/**
 * The event server on UDP: datagrams of a head of 32 bytes and a payload, of which nothing is answered. Form of the packets:
 * Kodi's own clients (Debian's kodi-eventclients, ran against this and against Kodi 20.1).
 */
import { UdpPort } from "../bench/datagrams.ts";
import { changeVolume, quit } from "./methods/application.ts";
import { act, press } from "./methods/input.ts";
import type { Model } from "./model.ts";
import { hear } from "./rpc.ts";
import { go, WINDOWS } from "./windows.ts";

const HEAD = 32;
const SIGNATURE = "XBMC";
const TYPES: Readonly<Record<number, string>> = {
  1: "HELO",
  2: "BYE",
  3: "BUTTON",
  4: "MOUSE",
  5: "PING",
  7: "NOTIFICATION",
  8: "BLOB",
  9: "LOG",
  10: "ACTION",
};
const BY_NAME = 0x01;
const RELEASED = 0x04;
const BUILTIN = 1;

export function createEventServer(model: Model, wanted: number): UdpPort {
  /** The pieces of a message that came in several packets, by their sender. */
  const pieces = new Map<string, { type: number; parts: Buffer[] }>();
  return new UdpPort(model.identity.host, wanted, (packet, { address, port }) => {
    const from = `${address}:${port}`;
    const head = headOf(packet);
    if (head === null || model.power !== "on") return;
    const payload = packet.subarray(HEAD, HEAD + head.size);
    if (head.of <= 1) return take(model, head.type, payload);
    const begun = head.at === 1 ? { type: head.type, parts: [] } : pieces.get(from);
    if (!begun || begun.parts.length !== head.at - 1 || head.of > 1_000) return void pieces.delete(from);
    begun.parts.push(payload);
    pieces.set(from, begun);
    if (begun.parts.length < head.of) return;
    pieces.delete(from);
    take(model, begun.type, Buffer.concat(begun.parts));
  });
}

function headOf(packet: Buffer) {
  if (packet.length < HEAD || packet.subarray(0, 4).toString("latin1") !== SIGNATURE || packet[4] !== 2) return null;
  const size = packet.readUInt16BE(16);
  if (packet.length < HEAD + size) return null;
  return { type: packet.readUInt16BE(6), at: packet.readUInt32BE(8), of: packet.readUInt32BE(12), size };
}

function take(model: Model, type: number, payload: Buffer): void {
  const name = TYPES[type];
  if (name === undefined) return;
  const said = read(name, payload);
  hear(model, { via: "event", method: name, params: said, error: null });
  if (name === "BUTTON" && !said["released"]) press(model, String(said["button"]));
  if (name === "ACTION") {
    if (said["kind"] === BUILTIN) builtin(model, String(said["action"]));
    else act(model, String(said["action"]));
  }
}

function read(name: string, payload: Buffer): Readonly<Record<string, unknown>> {
  const texts = (from: number) => payload.subarray(from).toString("utf8").split("\0");
  switch (name) {
    case "HELO":
      return { device: texts(0)[0] ?? "" };
    case "BUTTON": {
      if (payload.length < 6) return { button: "", map: "", released: true };
      const flags = payload.readUInt16BE(2);
      const [map = "", button = ""] = texts(6);
      const named = (flags & BY_NAME) !== 0;
      return { map, button: named ? button : payload.readUInt16BE(0), released: (flags & RELEASED) !== 0 };
    }
    case "NOTIFICATION": {
      const [title = "", message = ""] = texts(0);
      return { title, message };
    }
    case "ACTION":
      return { kind: payload[0] ?? 0, action: texts(1)[0] ?? "" };
    case "LOG":
      return { text: texts(1)[0] ?? "" };
    default:
      return {};
  }
}

/** The built-in functions that are simulated; of others nothing comes, and nothing is said (Kodi 20.1, ran). */
function builtin(model: Model, text: string): void {
  const [, name = "", given = ""] = /^\s*([\w.]+)\s*(?:\((.*)\))?\s*$/.exec(text) ?? [];
  const [first = ""] = given.split(",").map((word) => word.trim().replace(/^"|"$/g, ""));
  switch (name.toLowerCase()) {
    case "action":
      return act(model, first.toLowerCase());
    case "activatewindow": {
      const window = WINDOWS[first.toLowerCase()];
      if (window && model.dialog === null) go(model, window);
      return;
    }
    case "playercontrol":
      return act(model, { play: "playpause", stop: "stop", forward: "fastforward" }[first.toLowerCase()] ?? "noop");
    case "setvolume":
      return changeVolume(model, Math.round(Number(first) || 0));
    case "mute":
      return act(model, "mute");
    case "quit":
      return quit(model);
    default:
  }
}
