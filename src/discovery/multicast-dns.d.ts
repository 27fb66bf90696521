/** What is used of multicast-dns, which declares no types. */
declare module "multicast-dns" {
  import type { Socket } from "node:dgram";

  type Named<Type, Data> = { readonly type: Type; readonly name: string; readonly ttl: number; readonly data: Data };
  export type DnsRecord =
    | Named<"PTR" | "A", string>
    | Named<"SRV", { readonly target: string; readonly port: number }>
    | Named<"TXT", readonly Uint8Array[]>;

  export interface Packet {
    readonly answers: readonly DnsRecord[];
    readonly additionals: readonly DnsRecord[];
  }

  export interface MulticastDns {
    on(event: "response", listener: (packet: Packet, from: { readonly address: string }) => void): this;
    on(event: "error", listener: (error: unknown) => void): this;
    query(questions: readonly { readonly name: string; readonly type: DnsRecord["type"] }[]): void;
    destroy(): void;
  }

  /** `bind: false`: it asks from a port of its own. */
  export default function multicastDns(options: {
    socket: Socket;
    interface: string;
    bind: string | false;
  }): MulticastDns;
}
