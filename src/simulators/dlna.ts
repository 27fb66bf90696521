/** A DLNA renderer (UPnP MediaRenderer), as one of the programs that they are built with. */
import { soapAnswer, soapFault } from "./bench/documents.ts";
import { createHttpServer, type RecordedRequest, type Reply, type Request } from "./bench/http.ts";
import { digest, macOf } from "./bench/identity.ts";
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
  /** What had an effect, in order: the action, and what it was given. */
  readonly commands: readonly string[];
  /** What came in: the last thousand. */
  readonly requests: readonly RecordedRequest[];
  readonly #model: Model;
  readonly #http: Listener;
  readonly #subscribers: Subscribers;
  #isOn = true;

  constructor(options: DlnaSimulatorOptions) {
    const model = new Model(options);
    const { host, uuid, stack } = model;
    super({ host, wakeMac: macOf(digest(uuid)), wakePort: undefined, emit: model.emit });
    const requests: RecordedRequest[] = [];
    this.uuid = uuid;
    this.commands = model.commands;
    this.requests = requests;
    this.#model = model;
    this.#subscribers = new Subscribers(model);
    const answer = (request: Request, body: Buffer) => hungUp(this.#answer(request, body), stack.oneCallEach);
    const headers = [["SERVER", stack.server]] as const;
    this.#http = this.addPort(options.port ?? 0, (track) =>
      createHttpServer({ headers, limit: BODY_LIMIT, record: requests, answer }, track),
    );
    if (options.ssdp === false) return;
    const replies = (target: string) => repliesTo(model, this.location, target);
    this.setDiscovery(createResponder({ host, delayMs: options.ssdpDelayMs ?? 0, replies }));
  }

  /** 0 before the first start when a free port was asked for; kept from then on. */
  get port(): number {
    return this.#http.port;
  }

  /** Where its description is. */
  get path(): string {
    return this.#model.stack.descriptionPath(this.uuid);
  }

  get location(): string {
    return `http://${this.host}:${this.port}${this.path}`;
  }

  /** A view of it at one moment. */
  get state() {
    const { transport, media, volume, muted, positionMs } = this.#model;
    return { transport, uri: media?.uri ?? null, volume, muted, positionMs, isOn: this.#isOn };
  }

  /** The ids of those that it tells of its changes. */
  get subscribers(): readonly string[] {
    return this.#subscribers.ids;
  }

  setName(name: string): void {
    this.#model.name = name;
  }

  /** Plays something that somebody else handed to it. */
  play(uri = "http://192.0.2.1/film.mp4"): void {
    this.#model.load({ uri, metadata: "" });
    this.#model.play();
  }

  /** What it plays ends by itself. */
  endMedia(): void {
    this.#model.end();
  }

  /** Its volume as somebody else sets it. */
  setVolume(volume: number): void {
    this.#model.volume = volume;
    this.#model.changed("RenderingControl");
  }

  /** Off at the switch: nothing answers. */
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

  /** No packet wakes it. */
  protected get isAsleep(): boolean {
    return false;
  }

  protected async powerOn(): Promise<void> {
    if (this.#isOn) return;
    this.#isOn = true;
    if (this.isPluggedIn) await this.goOnline();
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

function hungUp(reply: Reply, isAlone: boolean): Reply {
  return isAlone && typeof reply !== "string" ? { ...reply, hangUp: true } : reply;
}

/** The arguments of an action: elements that hold text and nothing else. */
function argsIn(body: string): Args {
  const found = [...body.matchAll(/<(\w+)>([^<]*)<\/\1>/g)].map(([, name = "", text = ""]) => [name, plain(text)]);
  return Object.fromEntries(found);
}

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };
const plain = (text: string) => text.replace(/&(amp|lt|gt|quot|apos);/g, (_, name: string) => ENTITIES[name] ?? "");

function fault(code: number): Reply {
  return { status: 500, headers: [XML], body: soapFault(code, code === 501 ? "Action Failed" : "Not now") };
}

/** The answers to a search: one for each thing that is searched for; a newer version answers for the older ones, too. */
function repliesTo(model: Model, location: string, target: string): readonly (readonly string[])[] {
  const { uuid, stack } = model;
  const device = "urn:schemas-upnp-org:device:MediaRenderer:";
  const own = `${device}${stack.version}`;
  const services = SERVICES.map((service) => typeOf(model, service));
  const all = ["upnp:rootdevice", `uuid:${uuid}`, own, ...services];
  const asked = all.find((one) => one.toLowerCase() === target);
  const version = Number(/^urn:schemas-upnp-org:device:mediarenderer:(\d)$/.exec(target)?.[1] ?? Number.NaN);
  const older = version < stack.version ? [`${device}${version}`] : [];
  const found = target === "ssdp:all" ? all : asked === undefined ? older : [asked];
  return found.map((what) => upnpReply({ location, server: stack.server, target: what, uuid }));
}
