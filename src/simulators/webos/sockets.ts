import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer as createTcpServer, type Server, type Socket } from "node:net";
import { picture } from "../images.ts";
import { createListener, type Listener } from "../listeners.ts";
import type { Certificate } from "./certificate.ts";
import { Connection, type Door, PointerConnection } from "./connection.ts";
import { createDiscovery, type Discovery } from "./discovery.ts";
import type { Model } from "./model.ts";
import type { WebosSimulatorOptions } from "./options.ts";

/** Everything by which the set is reachable. */
export interface Sockets {
  readonly secure: Listener | null;
  readonly plain: Listener | null;
  readonly discovery: Discovery;
  /** SSAP connections open now, and how many of them have registered. */
  readonly connections: { readonly open: number; readonly registered: number };
  appear(): Promise<void>;
  /** Leaves what is connected open, and answers it no more. */
  fallSilent(): void;
  /** Cuts every connection; the ports stay. */
  cut(): void;
  vanish(): Promise<void>;
}

// Not imports: the binary would hold bytecode of these modules, half a megabyte that only the demo uses.
const { createServer: createHttpServer } = process.getBuiltinModule("node:http");
const { createServer: createHttpsServer } = process.getBuiltinModule("node:https");

const { WebSocketServer } = process.getBuiltinModule("node:module").createRequire(import.meta.url)(
  "ws",
) as typeof import("ws");

type Link = Connection | PointerConnection;

const MAX_MESSAGE = 1024 * 1024;
const ICON = /^\/resources\/[0-9a-f]{40}\/(.+)\.png$/;

export function createSockets(model: Model, options: WebosSimulatorOptions, certificate: Certificate): Sockets {
  const { host } = model.identity;
  const links = new Set<Link>();
  // Pings are answered by hand, for a set that goes silent leaves them unanswered too.
  const upgrades = new WebSocketServer({ noServer: true, autoPong: false, maxPayload: MAX_MESSAGE });

  const serve = (server: Server, door: Door, track: (socket: Socket) => void): Server => {
    server.on("connection", track);
    server.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) => {
      const pointer = model.pointerPaths.has(request.url ?? "");
      if (!pointer && request.url !== "/") return void socket.destroy();
      upgrades.handleUpgrade(request, socket, head, (opened) => {
        const link = pointer ? new PointerConnection(model, opened) : new Connection(model, opened, door);
        links.add(link);
        opened.on("close", () => links.delete(link));
      });
    });
    return server;
  };
  const door = (port: Door["port"], listener: () => Listener | null): Door => ({
    port,
    url: (scheme, path) => `${scheme}${port === "secure" ? "s" : ""}://${host}:${listener()?.port}${path}`,
  });

  const secure: Listener | null =
    options.securePort === null || !model.firmware.secure
      ? null
      : createListener(host, options.securePort ?? 3001, (track) => {
          const server = createHttpsServer({ key: certificate.key, cert: certificate.cert }, answerHttp);
          return serve(
            server,
            door("secure", () => secure),
            track,
          );
        });
  const plain: Listener | null =
    options.plainPort === null || model.firmware.plain === "closed"
      ? null
      : createListener(host, options.plainPort ?? 3000, (track) =>
          model.firmware.plain === "resets"
            ? createTcpServer((socket) => resetUpgrade(socket, track))
            : serve(
                createHttpServer(answerHttp),
                door("plain", () => plain),
                track,
              ),
        );
  const discovery = createDiscovery(model, options.ssdp ?? true, options.ssdpDelayMs ?? 0);
  const ports = [secure, plain].filter((one) => one !== null);
  let open = false;

  return {
    secure,
    plain,
    discovery,
    get connections() {
      const ssap = [...links].filter((link) => link instanceof Connection);
      return { open: ssap.length, registered: ssap.filter(({ registered }) => registered).length };
    },
    async appear() {
      if (!open) for (const port of ports) await port.open();
      open = true;
      await discovery.open();
    },
    fallSilent() {
      for (const link of links) link.silent = true;
    },
    cut() {
      for (const link of links) link.terminate();
    },
    async vanish() {
      open = false;
      for (const link of links) link.terminate();
      await Promise.all([...ports, discovery].map((one) => one.close()));
    },
  };
}

/** Since 2022 the plain port takes TCP and resets whoever asks something (smart-tvs.md 2.2). */
function resetUpgrade(socket: Socket, track: (socket: Socket) => void): void {
  track(socket);
  socket.on("data", () => socket.resetAndDestroy());
}

/** "Hello world" is what a browser sees there (home-assistant/core#11539); icons are drawn. */
function answerHttp(request: IncomingMessage, response: ServerResponse): void {
  const [, app] = ICON.exec(request.url ?? "") ?? [];
  if (app !== undefined) response.writeHead(200, { "Content-Type": "image/png" }).end(picture(app, 80, 80));
  else if (request.url === "/") response.writeHead(200, { "Content-Type": "text/html" }).end("Hello world\n");
  else response.writeHead(404).end();
}
