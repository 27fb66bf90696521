/** Event subscriptions (UPnP Device Architecture 1.0, section 4). */
import { connect } from "node:net";
import { element, tag } from "../bench/documents.ts";
import type { HttpResponse, Request } from "../bench/http.ts";
import { uuidOf } from "../bench/identity.ts";
import { possibleActions } from "./actions.ts";
import { eventedBy, pathsOf, SERVICES, type ServiceName, SINK } from "./documents.ts";
import type { Model } from "./model.ts";

interface Subscription {
  readonly service: ServiceName;
  readonly callback: URL;
  until: number;
  sequence: number;
}

const CALL_MS = 5_000;

export class Subscribers {
  readonly #model: Model;
  readonly #all = new Map<string, Subscription>();
  #count = 0;

  constructor(model: Model) {
    this.#model = model;
    model.changed = (service) => this.#notifyAll(service);
  }

  get ids(): readonly string[] {
    return [...this.#all.keys()];
  }

  clear(): void {
    this.#all.clear();
  }

  /** Answers SUBSCRIBE and UNSUBSCRIBE. */
  answer({ method, target, headers }: Request): HttpResponse {
    const service = SERVICES.find((one) => pathsOf(one).events === target);
    if (!service || this.#model.options.silent) return { status: 404 };
    const { sid, callback, nt } = headers;
    const found = sid === undefined ? undefined : this.#all.get(sid);
    const known = found && found.until >= Date.now() ? found : undefined;
    if (method === "UNSUBSCRIBE") {
      if (sid !== undefined) this.#all.delete(sid);
      if (known) this.#model.emit("events", `${service}: unsubscribed`);
      return { status: known ? 200 : 412 };
    }
    if (sid !== undefined) {
      if (!known || callback !== undefined) return { status: 412 };
      return this.#confirm(sid, known, headers["timeout"]);
    }
    const url = /^<(http:\/\/[^>]+)>/.exec(callback ?? "")?.[1];
    if (nt !== "upnp:event" || url === undefined || !URL.canParse(url)) return { status: 412 };
    const id = `uuid:${uuidOf(`${this.#model.options.uuid} ${Date.now()} ${this.#count++}`)}`;
    const subscription = { service, callback: new URL(url), until: 0, sequence: 0 };
    this.#all.set(id, subscription);
    this.#model.emit("events", `${service}: ${subscription.callback.host} subscribed`);
    // The first notification may arrive before the response with the subscription id.
    this.#notify(id, subscription);
    return this.#confirm(id, subscription, headers["timeout"]);
  }

  #confirm(sid: string, subscription: Subscription, asked: string | undefined): HttpResponse {
    const seconds = this.#model.stack.timeout ?? Number(/^second-(\d+)$/i.exec(asked ?? "")?.[1] ?? 1_800);
    subscription.until = Date.now() + seconds * 1_000;
    return {
      status: 200,
      headers: [
        ["SID", sid],
        ["TIMEOUT", `Second-${seconds}`],
      ],
    };
  }

  #notifyAll(service: ServiceName): void {
    for (const [id, one] of this.#all) {
      if (one.until < Date.now()) this.#all.delete(id);
      else if (one.service === service) this.#notify(id, one);
    }
  }

  #valueOf(service: ServiceName): string {
    return service === "ConnectionManager" ? SINK : this.#lastChange(service);
  }

  /** The state of a service, as XML within XML. */
  #lastChange(service: ServiceName): string {
    const { stack, transport, volume, muted } = this.#model;
    const value = (name: string, val: string, more = {}) => element(name, { val, ...more });
    const master = { [stack.channel]: "Master" };
    const kind = service === "AVTransport" ? "AVT" : "RCS";
    const values =
      service === "AVTransport"
        ? [
            value("TransportState", transport),
            value("AVTransportURI", this.#model.media?.uri ?? ""),
            value("CurrentTransportActions", possibleActions(this.#model)),
          ]
        : [
            value("Mute", muted ? "1" : "0", master),
            value("Volume", String(stack.hidesVolume && muted ? 0 : volume), master),
          ];
    return element("Event", { xmlns: `urn:schemas-upnp-org:metadata-1-0/${kind}/` }, [
      element("InstanceID", { val: "0" }, values),
    ]);
  }

  #notify(id: string, subscription: Subscription): void {
    const { callback, service } = subscription;
    const body = element("e:propertyset", { "xmlns:e": "urn:schemas-upnp-org:event-1-0" }, [
      tag("e:property", [tag(eventedBy(service), this.#valueOf(service))]),
    ]);
    const head = [
      `NOTIFY ${callback.pathname}${callback.search} HTTP/1.1`,
      `HOST: ${callback.host}`,
      'CONTENT-TYPE: text/xml; charset="utf-8"',
      `CONTENT-LENGTH: ${Buffer.byteLength(body)}`,
      "NT: upnp:event",
      "NTS: upnp:propchange",
      `SID: ${id}`,
      `SEQ: ${subscription.sequence++}`,
      "CONNECTION: close",
      "",
      "",
    ].join("\r\n");
    // Sent from the address of the renderer, because subscribers accept no other.
    const place = {
      host: callback.hostname,
      port: Number(callback.port || 80),
      localAddress: this.#model.options.host,
    };
    const socket = connect(place, () => socket.end(head + body));
    socket.setTimeout(CALL_MS, () => socket.destroy());
    socket.on("data", () => {});
    socket.on("error", () => socket.destroy());
  }
}
