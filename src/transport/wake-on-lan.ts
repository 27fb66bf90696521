/** Wake-on-LAN: the magic packet is six bytes of 0xff and sixteen times the hardware address, over UDP. */
import { createSocket, type Socket } from "node:dgram";
import { isIPv4 } from "node:net";
import { DeviceError } from "../api/errors.ts";
import type { Surroundings, Target } from "../platforms/platform.ts";
import { sleep } from "../system/sleep.ts";
import { text } from "./json.ts";

const callEvery = 1_000;
/** A set that refuses while it starts is asked again soon. */
const askEvery = 200;

/** How a device is called until it answers. */
export interface Call {
  readonly target: Target;
  readonly surroundings: Surroundings;
  /** How long it is called, in milliseconds. */
  readonly withinMs: number;
  /** Whether it answers now, found out within `ms`. */
  answers(ms: number): Promise<boolean>;
  /** What a person can do when it does not wake. */
  readonly hint: string;
}

/**
 * Sends magic packets to every known hardware address, on every interface and straight to the device, until it answers.
 * Fails with `device_unreachable`.
 */
export async function callUntilAwake(call: Call, signal: AbortSignal): Promise<void> {
  const { target, surroundings, withinMs, hint } = call;
  if (target.facts.macs.length === 0) {
    const problem = "does not answer, and no network address of its hardware is known to wake it by";
    throw new DeviceError("device_unreachable", problem, { phase: "connect", reason: "timeout", hint });
  }
  const until = performance.now() + withinMs;
  const straight = isIPv4(target.host) ? [target.host] : [];
  const destinations = [...new Set(["255.255.255.255", ...surroundings.broadcasts(), ...straight])];
  for (let left = withinMs; left > 0; left = until - performance.now()) {
    surroundings.debug(`magic packets for ${target.facts.macs.join(", ")} to ${destinations.join(", ")}`);
    await sendMagicPackets(target.facts.macs, destinations, target.ports["wake"] ?? 9);
    const next = Math.min(until, performance.now() + callEvery);
    for (let wait = next - performance.now(); wait > 0; wait = next - performance.now()) {
      if (await call.answers(Math.max(1, wait))) return;
      await sleep(Math.max(0, Math.min(askEvery, next - performance.now())), signal);
    }
  }
  const problem = `did not wake within ${Math.ceil(withinMs / 1000)} s of being called by magic packets`;
  throw new DeviceError("device_unreachable", problem, { phase: "connect", reason: "timeout", hint });
}

/** A hardware address as a device says it, in lower case with colons; `null` where it says none. */
export function readMac(said: unknown): string | null {
  const mac = text(said)?.toLowerCase().replaceAll("-", ":") ?? "";
  return /^([0-9a-f]{2}:){5}[0-9a-f]{2}$/.test(mac) && mac !== "00:00:00:00:00:00" ? mac : null;
}

/** The magic packet for a hardware address written `aa:bb:cc:dd:ee:ff`. */
export function magicPacket(mac: string): Uint8Array {
  const address = Uint8Array.from(mac.split(":"), (part) => Number.parseInt(part, 16));
  const packet = new Uint8Array(102).fill(0xff);
  for (let at = 6; at < packet.length; at += 6) packet.set(address, at);
  return packet;
}

/** Sends the packet for each address to each destination. What cannot be sent is left out: another path may still work. */
export async function sendMagicPackets(
  macs: readonly string[],
  destinations: readonly string[],
  port: number,
): Promise<void> {
  const socket = createSocket("udp4");
  socket.on("error", () => {});
  try {
    await new Promise<void>((resolve) => socket.bind(0, () => resolve()));
    socket.setBroadcast(true);
    const sent = macs.flatMap((mac) => destinations.map((host) => send(socket, magicPacket(mac), port, host)));
    await Promise.all(sent);
  } finally {
    socket.close();
  }
}

function send(socket: Socket, packet: Uint8Array, port: number, host: string): Promise<void> {
  return new Promise((resolve) => {
    try {
      socket.send(packet, port, host, () => resolve());
    } catch {
      resolve();
    }
  });
}
