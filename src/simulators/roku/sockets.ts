import { createServer } from "node:net";
import { createHttpServer, type RecordedRequest } from "../http.ts";
import { createListener, type Listener } from "../listeners.ts";
import type { Responder } from "../ssdp.ts";
import { createConsole } from "./console.ts";
import { ecp } from "./ecp.ts";
import { installer } from "./installer.ts";
import type { Model } from "./model.ts";
import type { DeveloperOptions, RokuSimulatorOptions } from "./options.ts";
import { answerSearches } from "./ssdp.ts";

type Record = (request: RecordedRequest) => void;

/** Everything by which the set is reachable, all there or all gone. */
export interface Sockets {
  readonly ecp: Listener;
  readonly installer: Listener | null;
  readonly console: Listener | null;
  readonly discoverable: boolean;
  appear(): Promise<void>;
  vanish(): Promise<void>;
}

export function createSockets(model: Model, options: RokuSimulatorOptions, record: Record): Sockets {
  const { host, developer } = model.identity;
  const main = createListener(host, options.port ?? 0, (track) => createHttpServer(ecp(model, record), track));
  const developerPorts = developer && openDeveloperPorts(model, developer, record);
  const listeners = [main, ...Object.values(developerPorts ?? {})];
  let responder: Responder | null = null;
  return {
    ecp: main,
    installer: developerPorts?.installer ?? null,
    console: developerPorts?.console ?? null,
    get discoverable() {
      return responder !== null;
    },
    async appear() {
      for (const listener of listeners) await listener.open();
      if (options.ssdp === false) return;
      responder = await answerSearches(model, main.port, options.ssdpDelayMs ?? 0);
      if (responder === null)
        model.emit({ type: "discovery", on: false, text: "discovery is off: port 1900 is taken" });
    },
    async vanish() {
      responder?.stop();
      responder = null;
      await Promise.all(listeners.map((listener) => listener.close()));
    },
  };
}

function openDeveloperPorts(model: Model, developer: DeveloperOptions, record: Record) {
  const { host } = model.identity;
  const attach = createConsole(model.console);
  return {
    installer: createListener(host, developer.installerPort ?? 0, (track) =>
      createHttpServer(installer(model, developer.password, record), track),
    ),
    console: createListener(host, developer.consolePort ?? 0, (track) =>
      createServer((socket) => {
        track(socket);
        attach(socket);
      }),
    ),
  };
}
