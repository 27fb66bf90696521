/** Announcing services over mDNS (RFC 6762). */
import type { Socket } from "node:dgram";
import { closeQuietly, joinGroup, type Sender } from "./datagrams.ts";
import type { Discovery } from "./set.ts";

const GROUP = "224.0.0.251";
const PORT = 5353;
const IN = 1;
/** With the cache-flush bit, for records that only one host has. */
const IN_FLUSH = 0x8001;
const A = 1;
const PTR = 12;
const TXT = 16;
const SRV = 33;
const ANY = 255;

export interface AnnouncedService {
  /** Such as `_http._tcp`. */
  readonly type: string;
  readonly name: string;
  readonly port: number;
  readonly txt: Readonly<Record<string, string>>;
}

export interface AnnouncerOptions {
  readonly host: string;
  readonly hostName: string;
  services(): readonly AnnouncedService[];
}

/** Announces services at the given address only, and takes them back when it closes. */
export function createAnnouncer({ host, hostName, services }: AnnouncerOptions): Discovery {
  let socket: Socket | null = null;
  const send = (chosen: readonly AnnouncedService[], ttl: number, to = { address: GROUP, port: PORT }) =>
    new Promise<void>((resolve) => {
      if (socket === null) resolve();
      else socket.send(response(host, hostName, chosen, ttl), to.port, to.address, () => resolve());
    });
  const onQuery = (datagram: Buffer, sender: Sender) => {
    const asked = questions(datagram);
    const chosen = services().filter((service) => asked.some((question) => isAbout(question, service, hostName)));
    // A query from another port is answered by unicast, because its sender is not in the group (RFC 6762, 6.7).
    if (chosen.length > 0) void send(chosen, 120, sender.port === PORT ? undefined : sender);
  };
  return {
    get on() {
      return socket !== null;
    },
    async open() {
      if (socket !== null) return;
      [socket = null] = (await joinGroup(GROUP, PORT, host, onQuery, [])) ?? [];
      await send(services(), 120);
    },
    async close() {
      await send(services(), 0);
      if (socket !== null) closeQuietly(socket);
      socket = null;
    },
  };
}

interface Question {
  readonly name: string;
  readonly type: number;
}

function isAbout({ name, type }: Question, service: AnnouncedService, hostName: string): boolean {
  const wanted = (kind: number) => type === kind || type === ANY;
  const asked = name.toLowerCase();
  if (asked === `${service.type}.local`.toLowerCase()) return wanted(PTR);
  if (asked === `${service.name}.${service.type}.local`.toLowerCase()) return wanted(SRV) || wanted(TXT);
  return asked === `${hostName}.local`.toLowerCase() && wanted(A);
}

/** The questions of a query; none if the packet is no query or is malformed. */
function questions(packet: Buffer): Question[] {
  if (packet.length < 12 || (packet.readUInt16BE(2) & 0x8000) !== 0) return [];
  const found: Question[] = [];
  let at = 12;
  for (let left = packet.readUInt16BE(4); left > 0; left -= 1) {
    const labels: string[] = [];
    let end = 0;
    for (let jumps = 0; at < packet.length && packet[at] !== 0 && jumps < 20; ) {
      const length = packet[at] ?? 0;
      if (length >= 0xc0) {
        if (at + 1 >= packet.length) return found;
        end ||= at + 2;
        at = packet.readUInt16BE(at) & 0x3fff;
        jumps += 1;
      } else {
        labels.push(packet.subarray(at + 1, at + 1 + length).toString());
        at += 1 + length;
      }
    }
    at = end || at + 1;
    if (at + 4 > packet.length) return found;
    found.push({ name: labels.join("."), type: packet.readUInt16BE(at) });
    at += 4;
  }
  return found;
}

function response(host: string, hostName: string, services: readonly AnnouncedService[], ttl: number): Buffer {
  const target = [hostName, "local"];
  const records = services.flatMap(({ type, name, port, txt }) => {
    const owner = [...type.split("."), "local"];
    const instance = [name, ...owner];
    const texts = Object.entries(txt).map(([key, value]) => labelOf(`${key}=${value}`));
    return [
      record(owner, PTR, IN, ttl, nameOf(instance)),
      record(instance, SRV, IN_FLUSH, ttl, Buffer.concat([numbers(0, 0, port), nameOf(target)])),
      record(instance, TXT, IN_FLUSH, ttl, Buffer.concat(texts)),
    ];
  });
  records.push(record(target, A, IN_FLUSH, ttl, Buffer.from(host.split(".").map(Number))));
  return Buffer.concat([numbers(0, 0x8400, 0, records.length, 0, 0), ...records]);
}

/** A resource record; `kind` is its class. */
export function record(name: readonly string[], type: number, kind: number, ttl: number, content: Buffer): Buffer {
  return Buffer.concat([nameOf(name), numbers(type, kind, 0, ttl, content.length), content]);
}

export const nameOf = (labels: readonly string[]) => Buffer.concat([...labels.map(labelOf), Buffer.from([0])]);

export function labelOf(text: string): Buffer {
  const bytes = Buffer.from(text).subarray(0, 255);
  return Buffer.concat([Buffer.from([bytes.length]), bytes]);
}

/** Numbers of 16 bits, in network order. */
export function numbers(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 2);
  for (const [at, value] of values.entries()) bytes.writeUInt16BE(value, at * 2);
  return bytes;
}
