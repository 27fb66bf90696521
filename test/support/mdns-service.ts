/** Announces a service over mDNS on loopback, under a unique name. */
import { randomUUID } from "node:crypto";
import { Bonjour } from "bonjour-service";

export function announce(type: string, txt: Readonly<Record<string, string>>, port = 4_242) {
  // bonjour-service passes these options on to multicast-dns, without declaring them.
  const options = { interface: "127.0.0.1", bind: "0.0.0.0" } as ConstructorParameters<typeof Bonjour>[0];
  const bonjour = new Bonjour(options, () => {});
  const name = `zapd ${randomUUID().slice(0, 8)}`;
  bonjour.publish({ name, type, port, txt, host: `${randomUUID().slice(0, 8)}.local`, probe: false });
  return {
    name,
    port,
    stop: () => new Promise<void>((resolve) => bonjour.unpublishAll(() => bonjour.destroy(() => resolve()))),
  };
}
