import { createHttpServer } from "../http.ts";
import { createListener, type Listener } from "../listeners.ts";
import { type Announcement, announce } from "../mdns.ts";
import { createEventServer, type EventServer } from "./events.ts";
import type { Model, ReceivedCall } from "./model.ts";
import type { KodiSimulatorOptions } from "./options.ts";
import { answerText } from "./rpc.ts";
import { web } from "./web.ts";
import { createWire } from "./wire.ts";

/** Everything by which the player is reachable, all there or all gone. */
export interface Sockets {
  readonly http: Listener;
  readonly tcp: Listener | null;
  readonly events: EventServer | null;
  readonly clients: { readonly websocket: number; readonly tcp: number };
  readonly discoverable: boolean;
  sayGoodbye(): void;
  appear(): Promise<void>;
  vanish(): Promise<void>;
  /** No longer announced; the ports stay. */
  hide(): Promise<void>;
}

export function createSockets(
  model: Model,
  options: KodiSimulatorOptions,
  heard: (call: ReceivedCall) => void,
): Sockets {
  const { host, uuid } = model.identity;
  const crash = () => {
    model.emit({ type: "crash", method: "Player.Open", text: "died of a call, as the real one does" });
    model.leave("ended", "crash");
  };
  const ask = (via: ReceivedCall["via"]) => (body: string) => answerText(model, via, body, heard);
  const wire = createWire(model, ask, crash);
  model.notify = (method, content, sender = "xbmc") =>
    wire.tell(JSON.stringify({ jsonrpc: "2.0", method, params: { data: content, sender } }));
  const http = createListener(host, options.port ?? 0, (track) =>
    createHttpServer(web(model, ask("http"), crash), track),
  );
  const tcp = options.tcpPort === null ? null : createListener(host, options.tcpPort ?? 0, wire.server);
  const { eventPort = null } = options;
  const events =
    eventPort === null
      ? null
      : createEventServer(model, eventPort, (method, params) => heard({ via: "event", method, params, error: null }));
  let announcement: Announcement | null = null;

  const hide = async () => {
    const stopping = announcement;
    announcement = null;
    await stopping?.stop();
  };
  return {
    http,
    tcp,
    events,
    get clients() {
      return wire.clients;
    },
    get discoverable() {
      return announcement !== null;
    },
    sayGoodbye: wire.sayGoodbye,
    hide,
    async appear() {
      // The web server is the last to start (players.md 7.3).
      await events?.open();
      model.eventPort = events?.port ?? null;
      await tcp?.open();
      await http.open();
      model.webPort = http.port;
      if (options.mdns === false) return;
      // Both services are announced with the same texts (players.md 2.3).
      const facts = { name: model.name, txt: { txtvers: "1", uuid } };
      announcement = await announce(host, `kodi-${uuid.slice(0, 8)}`, [
        { ...facts, type: "_xbmc-jsonrpc-h._tcp", port: http.port },
        ...(tcp === null ? [] : [{ ...facts, type: "_xbmc-jsonrpc._tcp", port: tcp.port }]),
        ...(events === null ? [] : [{ ...facts, type: "_xbmc-events._udp", port: events.port }]),
      ]);
      if (announcement === null)
        model.emit({ type: "discovery", on: false, text: "discovery is off: port 5353 is taken" });
    },
    async vanish() {
      await hide();
      await Promise.all([http.close(), tcp?.close(), events?.close()]);
    },
  };
}
