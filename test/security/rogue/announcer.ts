/** Answers searches as any host can: over SSDP from an address of its own, over mDNS for any address. */
import dgram from "node:dgram";
import { bind } from "../../../src/simulators/bench/datagrams.ts";
import { labelOf, nameOf, numbers, record } from "../../../src/simulators/bench/mdns.ts";

export interface Announcer {
  /** Announces itself unasked, to everybody. */
  announce(): Promise<void>;
  stop(): Promise<void>;
}

const ssdpGroup = "239.255.255.250";
const mdnsGroup = "224.0.0.251";

export interface SsdpAnnouncement {
  readonly host: string;
  readonly target: string;
  readonly usn: string;
  readonly location: string;
  readonly delayMs?: number;
  /** Answers to one search. Default 1. */
  readonly times?: number;
}

/** Answers searches for a target, with any location, from its own address. */
export async function announceSsdp({
  host,
  target,
  usn,
  location,
  delayMs = 0,
  times = 1,
}: SsdpAnnouncement): Promise<Announcer> {
  const recorder = dgram.createSocket({ type: "udp4", reuseAddr: true });
  const mouth = dgram.createSocket({ type: "udp4", reuseAddr: true });
  await Promise.all([bind(recorder, 1900, "0.0.0.0"), bind(mouth, 1900, host)]);
  recorder.addMembership(ssdpGroup, "127.0.0.1");
  let open = true;
  const lines = [`USN: ${usn}`, `LOCATION: ${location}`, "CACHE-CONTROL: max-age=1800", "", ""];
  const answer = ["HTTP/1.1 200 OK", "EXT:", `ST: ${target}`, ...lines].join("\r\n");
  const say = (text: string, port: number, to: string) =>
    new Promise<void>((resolve) => (open ? mouth.send(text, port, to, () => resolve()) : resolve()));
  recorder.on("message", (bytes, from) => {
    const text = bytes.toString("latin1");
    if (!text.startsWith("M-SEARCH") || !text.toLowerCase().includes(`st: ${target.toLowerCase()}`)) return;
    setTimeout(() => {
      for (let at = 0; at < times; at++) void say(answer, from.port, from.address);
    }, delayMs);
  });
  return {
    async announce() {
      const head = ["NOTIFY * HTTP/1.1", `HOST: ${ssdpGroup}:1900`, "NTS: ssdp:alive", `NT: ${target}`];
      mouth.setMulticastInterface("127.0.0.1");
      await say([...head, ...lines].join("\r\n"), 1900, ssdpGroup);
    },
    async stop() {
      open = false;
      await Promise.all([closed(recorder), closed(mouth)]);
    },
  };
}

export interface MdnsAnnouncement {
  /** The announced address. */
  readonly host: string;
  readonly name: string;
  readonly services: readonly { readonly type: string; readonly port: number }[];
  readonly txt: Readonly<Record<string, string>>;
}

/** Announces services, at any address. */
export async function announceMdns({ host, name, services, txt }: MdnsAnnouncement): Promise<Announcer> {
  const socket = dgram.createSocket({ type: "udp4", reuseAddr: true });
  await bind(socket, 5353, "0.0.0.0");
  socket.addMembership(mdnsGroup, "127.0.0.1");
  socket.setMulticastInterface("127.0.0.1");
  socket.setMulticastLoopback(true);
  let open = true;
  const say = (ttl: number, port = 5353, to = mdnsGroup) =>
    new Promise<void>((resolve) =>
      open ? socket.send(packet({ host, name, services, txt }, ttl), port, to, () => resolve()) : resolve(),
    );
  socket.on("message", (bytes, from) => {
    const isQuestion = bytes.length > 12 && (bytes.readUInt16BE(2) & 0x8000) === 0;
    if (!isQuestion || !services.some(({ type }) => bytes.includes(Buffer.concat(type.split(".").map(labelOf)))))
      return;
    // A question from another port is answered by unicast (RFC 6762, 6.7).
    void (from.port === 5353 ? say(120) : say(120, from.port, from.address));
  });
  await say(120);
  return {
    announce: () => say(120),
    async stop() {
      await say(0);
      open = false;
      await closed(socket);
    },
  };
}

function packet({ host, name, services, txt }: MdnsAnnouncement, ttl: number): Buffer {
  const machine = [`machine-${host.replaceAll(".", "-")}`, "local"];
  const texts = Buffer.concat(Object.entries(txt).map(([key, value]) => labelOf(`${key}=${value}`)));
  const records = services.flatMap(({ type, port }) => {
    const owner = [...type.split("."), "local"];
    const instance = [name, ...owner];
    return [
      record(owner, 12, 1, ttl, nameOf(instance)),
      record(instance, 33, 1, ttl, Buffer.concat([numbers(0, 0, port), nameOf(machine)])),
      record(instance, 16, 1, ttl, texts),
    ];
  });
  records.push(record(machine, 1, 1, ttl, Buffer.from(host.split(".").map(Number))));
  return Buffer.concat([numbers(0, 0x8400, 0, records.length, 0, 0), ...records]);
}

function closed(socket: dgram.Socket): Promise<void> {
  return new Promise((resolve) => socket.close(() => resolve()));
}
