/** Whether multicast really comes through an interface. */
import { randomBytes } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { systemCode, textOf } from "../api/errors.ts";
import { type Interface, isThisMachine } from "../discovery/interfaces.ts";
import { searchSsdp } from "../discovery/ssdp.ts";
import { ScanWindow } from "../discovery/window.ts";

const group = "239.255.255.250";
const listenMs = 1_000;
const sendAtMs = [0, 150, 400] as const;

/** What was found on an interface. */
export interface Probe {
  readonly name: string;
  /** Whether a datagram of ours came back. */
  readonly received: boolean;
  /** Addresses of devices that answered a search. */
  readonly answered: readonly string[];
  /** The system's code of what failed, or its words. */
  readonly problem: string | null;
}

/** Sends a datagram of ours to the group, which a second socket receives, and searches as discovery does; one second. */
export async function probeMulticast(one: Interface): Promise<Probe> {
  const answered = new Set<string>();
  const window = new ScanWindow(listenMs, new AbortController().signal);
  let trouble: string | null = null;
  const search = searchSsdp({
    targets: ["ssdp:all"],
    interfaces: [one],
    window,
    onAnswer: ({ source }) => {
      // Programs of this machine answer too, whatever becomes of the network.
      if (one.loopback || !isThisMachine(source)) answered.add(source);
    },
    onTrouble: (problem) => {
      trouble ??= problem;
    },
  });
  const [own] = await Promise.all([receiveOwnDatagram(one), search]);
  return {
    name: one.name,
    received: own === true,
    answered: [...answered],
    problem: own === true ? trouble : (own ?? trouble),
  };
}

/** Sends to the group from one socket and listens on another, on a port of its own; `true` where it came through, or what failed. */
async function receiveOwnDatagram({ address }: Interface): Promise<true | string | null> {
  const token = randomBytes(16);
  const sockets = [createSocket("udp4"), createSocket("udp4")] as const;
  const [receiver, sender] = sockets;
  const timers: ReturnType<typeof setTimeout>[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<true | null>();
  try {
    for (const socket of sockets) socket.on("error", reject);
    receiver.on("message", (bytes) => token.equals(bytes) && resolve(true));
    timers.push(setTimeout(() => resolve(null), listenMs));
    const work = async () => {
      await Promise.all([once(receiver.bind(0), "listening"), once(sender.bind(0, address), "listening")]);
      receiver.addMembership(group, address);
      sender.setMulticastInterface(address);
      sender.setMulticastTTL(1);
      sender.setMulticastLoopback(true);
      const send = () => sender.send(token, receiver.address().port, group, (error) => error && reject(error));
      for (const at of sendAtMs) timers.push(setTimeout(send, at));
    };
    work().catch(reject);
    return await promise;
  } catch (error) {
    return systemCode(error) || textOf(error);
  } finally {
    for (const timer of timers) clearTimeout(timer);
    for (const socket of sockets) socket.close();
  }
}
