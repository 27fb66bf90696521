/** A simulated DLNA renderer (UPnP MediaRenderer), built with one of the usual programs. */
import { soapAnswer, soapFault } from "./bench/documents.ts";
import { createHttpServer, type RecordedRequest, type Reply, type Request } from "./bench/http.ts";
import type { Listener } from "./bench/listeners.ts";
import { SimulatedSet } from "./bench/set.ts";
import { createResponder, upnpReply } from "./bench/ssdp.ts";
import { type Args, performAction } from "./dlna/actions.ts";
import { description, pathsOf, SERVICES, type ServiceName, serviceDescription, typeOf } from "./dlna/documents.ts";
import { Subscribers } from "./dlna/events.ts";
import { type DlnaSimulatorOptions, Model } from "./dlna/model.ts";

export type { DlnaSimulatorOptions } from "./dlna/model.ts";
export type { StackName } from "./dlna/stacks.ts";

const BODY_LIMIT = 64 * 1024;
const XML = ["CONTENT-TYPE", 'text/xml; charset="utf-8"'] as const;

export class DlnaSimulator extends SimulatedSet {
  readonly uuid: string;
  /** The actions that had an effect, in order, with their main arguments. */
  readonly commands: readonly string[];
  /** The last thousand requests. */
  readonly requests: readonly RecordedRequest[];
  readonly #model: Model;
  readonly #http: Listener;
  readonly #subscribers: Subscribers;
  #isOn = true;

  constructor(options: DlnaSimulatorOptions) {
    const model = new Model(options);
    const { stack } = model;
    const { host, uuid, port, ssdp } = model.options;
    super(model.options);
    const requests: RecordedRequest[] = [];
    this.uuid = uuid;
    this.commands = model.commands;
    this.requests = requests;
    this.#model = model;
    this.#subscribers = new Subscribers(model);
    const answer = (request: Request, body: Buffer) => withHangUp(this.#answer(request, body), stack.oneCallEach);
    const headers = [["SERVER", stack.server]] as const;
    this.#http = this.addPort(port, (track) =>
      createHttpServer({ headers, limit: BODY_LIMIT, record: requests, answer }, track),
    );
    if (ssdp) this.setDiscovery(createResponder(host, (wants) => repliesTo(model, this.location, wants)));
  }

  /** 0 before the first start if any free port was asked for. */
  get port(): number {
    return this.#http.port;
  }

  /** The path of its description. */
  get path(): string {
    return this.#model.stack.descriptionPath(this.uuid);
  }

  get location(): string {
    return `http://${this.host}:${this.port}${this.path}`;
  }

  /** A snapshot of the state. */
  get state() {
    const { transport, media, volume, muted, positionMs } = this.#model;
    return { transport, uri: media?.uri ?? null, volume, muted, positionMs, isOn: this.#isOn };
  }

  /** The ids of its subscriptions. */
  get subscribers(): readonly string[] {
    return this.#subscribers.ids;
  }

  setName(name: string): void {
    this.#model.name = name;
  }

  /** Plays something for another controller. */
  play(uri = "http://192.0.2.1/film.mp4"): void {
    this.#model.load({ uri, metadata: "" });
    this.#model.play();
  }

  /** Playback reaches its end. */
  endMedia(): void {
    this.#model.end();
  }

  /** Another controller sets the volume. */
  setVolume(volume: number): void {
    this.#model.volume = volume;
    this.#model.changed("RenderingControl");
  }

  /** Switched off: nothing answers. */
  sleep(): Promise<void> {
    return this.enqueue(async () => {
      this.#isOn = false;
      this.unplug();
      await this.goOffline();
    });
  }

  protected get isReachable(): boolean {
    return this.#isOn;
  }

  /** No magic packet wakes it. */
  protected get isAsleep(): boolean {
    return false;
  }

  protected async powerOn(): Promise<void> {
    if (this.#isOn) return;
    this.#isOn = true;
    await this.goOnline();
  }

  protected unplug(): void {
    this.#model.unplug();
    this.#subscribers.clear();
  }

  #answer(request: Request, body: Buffer): Reply {
    const { method, target } = request;
    if (method === "SUBSCRIBE" || method === "UNSUBSCRIBE") return this.#subscribers.answer(request);
    if (method === "GET" || method === "HEAD") {
      const service = SERVICES.find((one) => pathsOf(one).description === target);
      if (target !== this.path && !service) return { status: 404 };
      const text = service ? serviceDescription(this.#model, service) : description(this.#model);
      return { status: 200, headers: [XML], body: text };
    }
    const service = SERVICES.find((one) => pathsOf(one).control === target);
    return method === "POST" && service ? this.#control(service, request, body.toString()) : { status: 404 };
  }

  #control(service: ServiceName, { headers }: Request, body: string): Reply {
    const [, type, action = ""] = /^"([^"#]+)#(\w+)"$/.exec(headers["soapaction"] ?? "") ?? [];
    if (type !== typeOf(this.#model, service) || !body.includes(`:${action} `)) return fault(401);
    const result = performAction(this.#model, service, action, argsIn(body));
    if (typeof result === "number") this.#model.emit("refused", `${action}: ${result}`);
    if (typeof result === "number") return fault(result);
    return { status: 200, headers: [XML], body: soapAnswer(action, type, result) };
  }
}

export function createDlnaSimulator(options: DlnaSimulatorOptions): DlnaSimulator {
  return new DlnaSimulator(options);
}

function withHangUp(reply: Reply, oneCallEach: boolean): Reply {
  return oneCallEach && typeof reply !== "string" ? { ...reply, hangUp: true } : reply;
}

/** The arguments of an action: elements with only text. Some clients write the type of an argument into an attribute. */
function argsIn(body: string): Args {
  const found = [...body.matchAll(/<(\w+)(?:\s[^<>]*)?>([^<]*)<\/\1>/g)].map(([, name = "", text = ""]) => [
    name,
    plain(text),
  ]);
  return Object.fromEntries(found);
}

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };
const plain = (text: string) => text.replace(/&(amp|lt|gt|quot|apos);/g, (_, name: string) => ENTITIES[name] ?? "");

function fault(code: number): Reply {
  return { status: 500, headers: [XML], body: soapFault(code, code === 501 ? "Action Failed" : "Not now") };
}

/** The replies to a search, one per matching target. A newer version also replies for older ones. */
function repliesTo(model: Model, location: string, wants: (target: string) => boolean) {
  const { stack, options } = model;
  const { uuid } = options;
  const device = "urn:schemas-upnp-org:device:MediaRenderer:";
  const services = SERVICES.map((service) => typeOf(model, service));
  const found = ["upnp:rootdevice", `uuid:${uuid}`, `${device}${stack.version}`, ...services].filter(wants);
  if (found.length === 0) found.push(...[`${device}1`].filter(wants));
  return found.map((target) => upnpReply({ location, server: stack.server, target, uuid }));
}
