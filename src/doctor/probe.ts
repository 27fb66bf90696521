/** Tests whether multicast works on an interface. */
import { randomBytes } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { systemCode, textOf } from "../api/errors.ts";
import { type Interface, isThisMachine } from "../discovery/interfaces.ts";
import { searchSsdp } from "../discovery/ssdp.ts";
import { ScanWindow } from "../discovery/window.ts";
import { neverAborted } from "../system/never-aborted.ts";

const group = "239.255.255.250";
const listenMs = 1_000;
const sendAtMs = [0, 150, 400] as const;

/** The result for an interface. */
export interface Probe {
  readonly name: string;
  /** Whether our own datagram was received. */
  readonly received: boolean;
  /** Addresses of the devices that answered a search. */
  readonly answered: readonly string[];
  /** The system's code of a failure, or its message. */
  readonly problem: string | null;
}

/** Sends a datagram to the group, which a second socket should receive, and searches as discovery does. Takes one second. */
export async function probeMulticast(one: Interface): Promise<Probe> {
  const answered = new Set<string>();
  const window = new ScanWindow(listenMs, neverAborted);
  let searchProblem: string | null = null;
  const search = searchSsdp({
    targets: ["ssdp:all"],
    interfaces: [one],
    window,
    onAnswer: ({ source }) => {
      // Programs on this machine answer even where the network is broken.
      if (one.loopback || !isThisMachine(source)) answered.add(source);
    },
    onTrouble: (problem) => {
      searchProblem ??= problem;
    },
  });
  const [ownDatagram] = await Promise.all([receiveOwnDatagram(one), search]);
  return {
    name: one.name,
    received: ownDatagram === true,
    answered: [...answered],
    problem: ownDatagram === true ? searchProblem : (ownDatagram ?? searchProblem),
  };
}

/** Sends to the group from one socket and receives on another: `true` when received, `null` when not, or what failed. */
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
