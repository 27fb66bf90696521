/** The REST API of a set, with and without TLS (smart-tvs.md 3.1, 3.3). */
import type { IncomingMessage, ServerResponse } from "node:http";
import { decoded } from "../bench/http.ts";
import { pushCapped } from "../bench/set.ts";
import type { Model } from "./model.ts";
import { APPS } from "./options.ts";

export function answerRest(model: Model, request: IncomingMessage, _body: string, response: ServerResponse): void {
  const { method = "GET", url = "/" } = request;
  pushCapped(model.received.requests, `${method} ${url}`);
  const send = (status: number, body: object) =>
    response.writeHead(status, { "Content-Type": "application/json; charset=utf-8" }).end(JSON.stringify(body));
  if (url.replace(/\/$/, "") === "/api/v2") return void send(200, infoOf(model));
  const [, id = ""] = /^\/api\/v2\/applications\/([^/?]+)\/?$/.exec(url) ?? [];
  const app = APPS.find((one) => one.id === decoded(id));
  // Apps of type 4 have no state (3.3).
  const status = model.options.traits.missingApp;
  if (!app || app.type === 4) return void send(status, { code: status, message: "Not found", status });
  if (method === "POST" && !model.launch(app.id, "rest"))
    return void send(500, { code: 500, message: "Internal error", status: 500 });
  if (method === "DELETE") model.stop(app.id);
  if (method === "POST" || method === "DELETE") return void send(200, { ok: true });
  const isFront = model.power === "on" && model.front === app.id;
  send(200, { id: app.id, name: app.name, running: isFront, version: app.version, visible: isFront });
}

function infoOf(model: Model): object {
  const { duid, model: modelName, year, network, wifiMac, host, traits } = model.options;
  const name = `[TV] ${model.name}`;
  const who = { duid: `uuid:${duid}`, id: `uuid:${duid}`, udn: `uuid:${duid}`, type: "Samsung SmartTV" };
  const device = {
    FrameTVSupport: String(model.options.frame),
    OS: "Tizen",
    ...(traits.reportsPower && { PowerState: model.power }),
    TokenAuthSupport: String(traits.tokens),
    countryCode: "DE",
    description: "Samsung DTV RCR",
    firmwareVersion: "Unknown",
    ip: host,
    ...(!traits.hidesIdentity && { ...who, model: `${year % 100}_KANTM2_QTV` }),
    modelName,
    name,
    networkType: network,
    resolution: "3840x2160",
    smartHubAgreement: "true",
    wifiMac,
  };
  return {
    device,
    ...(!traits.hidesIdentity && { id: `uuid:${duid}` }),
    // JSON as a text within JSON, as on real sets.
    isSupport: JSON.stringify({
      FrameTVSupport: String(model.options.frame),
      TokenAuthSupport: String(traits.tokens),
      remote_available: "true",
    }),
    name,
    remote: "1.0",
    type: "Samsung SmartTV",
    uri: `http://${host}:8001/api/v2/`,
    version: "2.0.25",
  };
}
