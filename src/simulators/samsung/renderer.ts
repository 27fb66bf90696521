/** The UPnP renderer of a set: its description and its volume (smart-tvs.md 3.3). */
import type { IncomingMessage, ServerResponse } from "node:http";
import { soapAnswer, soapFault, tag, upnpDescription } from "../bench/documents.ts";
import { uuidOf } from "../bench/identity.ts";
import { pushCapped } from "../bench/set.ts";
import { describeService } from "../dlna/documents.ts";
import type { Model } from "./model.ts";

const SERVICE = "urn:schemas-upnp-org:service:RenderingControl:1";
const CONTROL = "/upnp/control/RenderingControl1";
const SCPD = "/RenderingControl_1.xml";

/** The renderer has a UUID of its own. */
export const rendererUuid = ({ options }: Model) => uuidOf(`${options.duid} renderer`);

export function answerRenderer(model: Model, request: IncomingMessage, body: string, response: ServerResponse): void {
  const { method = "GET", url = "/", headers } = request;
  pushCapped(model.received.requests, `${method} ${url} ${String(headers["soapaction"] ?? "")}`.trim());
  const send = (status: number, text: string) => response.writeHead(status, { "Content-Type": "text/xml" }).end(text);
  if (url === "/dmr" && method === "GET") return void send(200, description(model));
  if (url === SCPD && method === "GET")
    return void send(200, describeService("RenderingControl", ["GetVolume", "SetVolume", "GetMute", "SetMute"], 100));
  if (url !== CONTROL || method !== "POST") return void send(404, "");
  const [, action = ""] =
    /^"urn:schemas-upnp-org:service:RenderingControl:1#(\w+)"$/.exec(String(headers["soapaction"])) ?? [];
  const given = (name: string) => new RegExp(`<${name}>([^<]*)</${name}>`).exec(body)?.[1];
  if (!body.includes(`<u:${action} `) || given("InstanceID") !== "0" || given("Channel") !== "Master")
    return void send(500, soapFault(402, "Invalid Args"));
  const answers = answersOf(model, action, given);
  if (typeof answers === "number") send(500, soapFault(answers, answers === 401 ? "Invalid Action" : "Invalid Args"));
  else send(200, soapAnswer(action, SERVICE, answers));
}

/** The result of an action; a number is the code of a fault. */
function answersOf(
  model: Model,
  action: string,
  given: (name: string) => string | undefined,
): Readonly<Record<string, string>> | number {
  if (action === "GetVolume") return { CurrentVolume: String(model.volume) };
  if (action === "GetMute") return { CurrentMute: model.muted ? "1" : "0" };
  if (action === "SetVolume") {
    const wanted = Number(given("DesiredVolume") ?? Number.NaN);
    if (!Number.isInteger(wanted) || wanted < 0 || wanted > 100) return 402;
    model.volume = wanted;
    model.emit("volume", `volume ${wanted}`);
    return {};
  }
  if (action === "SetMute") {
    const wanted = given("DesiredMute");
    if (wanted !== "0" && wanted !== "1") return 402;
    model.muted = wanted === "1";
    model.emit("volume", model.muted ? "muted" : "unmuted");
    return {};
  }
  return 401;
}

function description(model: Model): string {
  const service = {
    serviceType: SERVICE,
    serviceId: "urn:upnp-org:serviceId:RenderingControl",
    SCPDURL: SCPD,
    controlURL: CONTROL,
  };
  return upnpDescription(
    {
      deviceType: "urn:schemas-upnp-org:device:MediaRenderer:1",
      friendlyName: `[TV] ${model.name}`,
      manufacturer: "Samsung Electronics",
      modelName: model.options.model,
      UDN: `uuid:${rendererUuid(model)}`,
    },
    [tag("service", service)],
  );
}
