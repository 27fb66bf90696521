/** A service announced over mDNS on loopback, under a name that no one else has. */
import { randomUUID } from "node:crypto";
import { Bonjour } from "bonjour-service";

export interface Announced {
  readonly name: string;
  readonly port: number;
  stop(): Promise<void>;
}

export function announce(type: string, txt: Readonly<Record<string, string>>, port = 4_242): Announced {
  // What bonjour-service hands on to multicast-dns, without declaring it.
  const options = { interface: "127.0.0.1", bind: "0.0.0.0" } as ConstructorParameters<typeof Bonjour>[0];
  const bonjour = new Bonjour(options, () => {});
  const name = `zapd ${randomUUID().slice(0, 8)}`;
  bonjour.publish({ name, type, port, txt, host: `${randomUUID().slice(0, 8)}.local`, probe: false });
  return {
    name,
    port,
    stop: () => new Promise((resolve) => bonjour.unpublishAll(() => bonjour.destroy(() => resolve()))),
  };
}
