/** Whether multicast really comes through: a datagram of ours to the group, heard by a second socket, and the search of discovery. */
import { randomBytes } from "node:crypto";
import dgram from "node:dgram";
import { connect } from "node:net";
import { systemCode, textOf } from "../../api/errors.ts";
import { type Interface, isThisMachine } from "../../discovery/interfaces.ts";
import { searchSsdp } from "../../discovery/ssdp.ts";
import { ScanWindow } from "../../discovery/window.ts";

const group = "239.255.255.250";
const listensFor = 1_000;
const sendAt = [0, 150, 400] as const;

export interface Probe {
  readonly name: string;
  readonly address: string;
  /** Whether a datagram of ours came back. */
  readonly heard: boolean;
  /** Addresses of devices that answered a search. */
  readonly answered: readonly string[];
  /** The system's code of what failed, or its words. */
  readonly trouble: string | null;
}

/** Whether anything takes a connection there, within a second: a device that sleeps does not. */
export function answersAt(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: listensFor });
    const end = (isThere: boolean) => {
      socket.destroy();
      resolve(isThere);
    };
    socket.on("connect", () => end(true));
    for (const event of ["error", "timeout"]) socket.on(event, () => end(false));
  });
}

/** Asks on each interface at the same time; one second. */
export function probeMulticast(interfaces: readonly Interface[], ms = listensFor): Promise<Probe[]> {
  return Promise.all(interfaces.map((one) => probeOn(one, ms)));
}

async function probeOn(one: Interface, ms: number): Promise<Probe> {
  const answered = new Set<string>();
  const window = new ScanWindow(ms, new AbortController().signal);
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
  const [own] = await Promise.all([hearOwn(one, ms), search]);
  const { name, address } = one;
  return { name, address, heard: own.heard, answered: [...answered], trouble: own.trouble ?? trouble };
}

/** Sends to the group from one socket and listens on another, on a port of its own. */
function hearOwn(one: Interface, ms: number): Promise<{ heard: boolean; trouble: string | null }> {
  const token = randomBytes(16);
  const ear = dgram.createSocket("udp4");
  const mouth = dgram.createSocket("udp4");
  return new Promise((resolve) => {
    const timers: ReturnType<typeof setTimeout>[] = [];
    let open = true;
    const end = (heard: boolean, problem?: unknown) => {
      if (!open) return;
      open = false;
      for (const timer of timers) clearTimeout(timer);
      for (const socket of [ear, mouth]) socket.close();
      resolve({ heard, trouble: problem === undefined ? null : systemCode(problem) || textOf(problem) });
    };
    const attempt = (work: () => void) => {
      try {
        if (open) work();
      } catch (error) {
        end(false, error);
      }
    };
    for (const socket of [ear, mouth]) socket.on("error", (error) => end(false, error));
    ear.on("message", (bytes) => token.equals(bytes) && end(true));
    const speak = () =>
      attempt(() => mouth.send(token, ear.address().port, group, (error) => error && end(false, error)));
    const join = () =>
      attempt(() => {
        ear.addMembership(group, one.address);
        mouth.setMulticastInterface(one.address);
        mouth.setMulticastTTL(1);
        mouth.setMulticastLoopback(true);
        for (const at of sendAt) timers.push(setTimeout(speak, at));
      });
    ear.bind(0, () => attempt(() => mouth.bind(0, one.address, join)));
    timers.push(setTimeout(() => end(false), ms));
  });
}
