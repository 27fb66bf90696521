import { createListener, type Listener } from "../listeners.ts";
import { type Responder, startResponder } from "../ssdp.ts";
import { element, xmlDocument } from "../xml.ts";
import type { Model } from "./model.ts";
import { uuidOf } from "./options.ts";

// Not an import, as in sockets.ts.
const { createServer } = process.getBuiltinModule("node:http");

/** The stacks that a set runs beside each other, each with a UUID and a random port of its own (smart-tvs.md 2.1). */
const STACKS = [
  "urn:lge-com:service:webos-second-screen:1",
  "urn:dial-multiscreen-org:service:dial:1",
  "urn:schemas-upnp-org:device:MediaRenderer:1",
  "urn:lge:device:tv:1",
];

export interface Discovery {
  /** Of the second screen; 0 until the first start. */
  readonly port: number;
  readonly discoverable: boolean;
  open(): Promise<void>;
  close(): Promise<void>;
}

export function createDiscovery(model: Model, wanted: boolean, delayMs: number): Discovery {
  const { host } = model.identity;
  const stacks = STACKS.map((target) => {
    const uuid = uuidOf(`${model.identity.uuid} ${target}`);
    return { target, uuid, listener: describe(model, target, uuid) };
  });
  let responder: Responder | null = null;
  const repliesTo = (asked: string) =>
    stacks
      .filter(({ target }) => asked === "ssdp:all" || asked === target.toLowerCase())
      .map(({ target, uuid, listener }) => [
        "HTTP/1.1 200 OK",
        "CACHE-CONTROL: max-age=1800",
        "EXT:",
        `LOCATION: http://${host}:${listener.port}/`,
        `SERVER: ${serverOf(model)}`,
        `ST: ${target}`,
        `USN: uuid:${uuid}::${target}`,
      ]);
  return {
    get port() {
      return stacks[0]?.listener.port ?? 0;
    },
    get discoverable() {
      return responder !== null;
    },
    async open() {
      if (!wanted || responder !== null) return;
      for (const { listener } of stacks) await listener.open();
      responder = await startResponder(host, delayMs, repliesTo);
      if (responder === null)
        model.emit({ type: "discovery", on: false, text: "discovery is off: port 1900 is taken" });
    },
    async close() {
      responder?.stop();
      responder = null;
      await Promise.all(stacks.map(({ listener }) => listener.close()));
    },
  };
}

/** The webOS version shows here (smart-tvs.md 2.1). */
function serverOf({ firmware }: Model): string {
  return `WebOS/${firmware.release} UPnP/1.0`;
}

function describe(model: Model, target: string, uuid: string): Listener {
  return createListener(model.identity.host, 0, (track) => {
    const server = createServer((_request, response) => {
      response.writeHead(200, { "Content-Type": "text/xml", Server: serverOf(model) });
      response.end(description(model, target, uuid));
    });
    server.on("connection", track);
    return server;
  });
}

function description(model: Model, target: string, uuid: string): string {
  const device = [
    element("deviceType", {}, "urn:schemas-upnp-org:device:Basic:1"),
    element("friendlyName", {}, model.name),
    element("manufacturer", {}, "LG Electronics"),
    element("modelName", {}, model.identity.model),
    element("UDN", {}, `uuid:${uuid}`),
    element("serviceList", {}, [element("service", {}, [element("serviceType", {}, target)])]),
  ];
  const specVersion = element("specVersion", {}, [element("major", {}, "1"), element("minor", {}, "0")]);
  const root = [specVersion, element("device", {}, device)];
  return xmlDocument(element("root", { xmlns: "urn:schemas-upnp-org:device-1-0" }, root));
}
