/** Answers searches on the loopback interface for one set, from the set's own address, with its own words. */
import dgram from "node:dgram";
import type { FakeRoku } from "./fake-roku.ts";

const group = "239.255.255.250";

export interface SsdpOptions {
  /** How long a set thinks before it answers. */
  readonly delayMs?: number;
  readonly location?: string;
  readonly target?: string;
  readonly usn?: string;
  /** Old firmware: other headers, other case. */
  readonly old?: boolean;
}

export class FakeSsdp {
  searches = 0;
  answers = 0;
  readonly #ear: dgram.Socket;
  readonly #mouth: dgram.Socket;

  private constructor(ear: dgram.Socket, mouth: dgram.Socket) {
    this.#ear = ear;
    this.#mouth = mouth;
  }

  static async start(
    set: Pick<FakeRoku, "host" | "port" | "serial" | "asleep" | "identity">,
    options: SsdpOptions = {},
  ): Promise<FakeSsdp> {
    const ear = dgram.createSocket({ type: "udp4", reuseAddr: true });
    const mouth = dgram.createSocket({ type: "udp4", reuseAddr: true });
    await Promise.all([bound(ear, 1900, "0.0.0.0"), bound(mouth, 1900, set.host)]);
    ear.addMembership(group, "127.0.0.1");
    const ssdp = new FakeSsdp(ear, mouth);
    ear.on("message", (bytes, from) => {
      const text = bytes.toString();
      if (!/^M-SEARCH \* HTTP\/1\.1\r\n/.test(text) || !/\r\nST: *(roku:ecp|ssdp:all)\r\n/i.test(text) || set.asleep)
        return;
      if (!/\r\nMAN: *"ssdp:discover"\r\n/i.test(text) || !text.endsWith("\r\n\r\n")) return;
      ssdp.searches++;
      const answer = Buffer.from(words(set, options));
      setTimeout(() => ssdp.#say(answer, from), options.delayMs ?? 20);
    });
    return ssdp;
  }

  #say(answer: Buffer, to: dgram.RemoteInfo): void {
    this.answers++;
    try {
      this.#mouth.send(answer, to.port, to.address);
    } catch {
      // Stopped meanwhile.
    }
  }

  async stop(): Promise<void> {
    await Promise.all(
      [this.#ear, this.#mouth].map((socket) => new Promise<void>((done) => socket.close(() => done()))),
    );
  }
}

function words(set: Pick<FakeRoku, "host" | "port" | "serial" | "identity">, options: SsdpOptions): string {
  const location = options.location ?? `http://${set.host}:${set.port}/`;
  const target = options.target ?? "roku:ecp";
  const usn = options.usn ?? `uuid:roku:ecp:${set.serial}`;
  const lines = options.old
    ? [
        "HTTP/1.1 200 OK",
        "cache-control: max-age=300",
        `st: ${target}`,
        `location: ${location}`,
        `usn: ${usn}`,
        "server: Roku UPnP/1.0 MiniUPnPd/1.4",
        "ext:",
      ]
    : [
        ...[
          "HTTP/1.1 200 OK",
          "Cache-Control: max-age=3600",
          `ST: ${target}`,
          `USN: ${usn}`,
          "BOOTID.UPNP.ORG: 7",
          "Ext: ",
        ],
        ...[
          "Server: Roku/14.6.4 UPnP/1.0 Roku/14.6.4",
          `LOCATION: ${location}`,
          "device-group.roku.com: 0A1B2C3D4E5F60718293",
        ],
        `WAKEUP: MAC=${set.identity.mac};Timeout=10`,
      ];
  return `${lines.join("\r\n")}\r\n\r\n`;
}

function bound(socket: dgram.Socket, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once("error", reject);
    socket.bind(port, host, () => resolve());
  });
}
