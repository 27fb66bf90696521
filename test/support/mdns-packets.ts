/** Packets of mDNS, byte by byte (RFC 1035, 4.1). */

/** A name of these labels. */
export function nameOf(...labels: readonly string[]): Buffer {
  const parts = labels.map(textOf);
  return Buffer.concat([...parts, Buffer.of(0)]);
}

/** A label, or a text of a TXT record. */
export function textOf(text: string): Buffer {
  const bytes = Buffer.from(text);
  return Buffer.concat([Buffer.of(bytes.length), bytes]);
}

const types = { PTR: 12, TXT: 16, SRV: 33 } as const;
type Type = keyof typeof types;

export const questionFor = (name: Buffer, type: Type): Buffer => Buffer.concat([name, Buffer.of(0, types[type])]);

/** A record, for two minutes. */
export function record(name: Buffer, type: Type, data: Buffer): Buffer {
  const length = Buffer.of(data.length >> 8, data.length & 255);
  return Buffer.concat([name, Buffer.of(0, types[type], 0, 1, 0, 0, 0, 120), length, data]);
}

/** A service at a port below 256. */
export const serverOf = (port: number, host: Buffer): Buffer => Buffer.concat([Buffer.of(0, 0, 0, 0, 0, port), host]);

export function response(...records: readonly Buffer[]): Buffer {
  return Buffer.concat([Buffer.of(0, 0, 0x84, 0, 0, 0, 0, records.length, 0, 0, 0, 0), ...records]);
}
