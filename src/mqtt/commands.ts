/**
 * Commands from the bus: plain values for one field of a device, and calls of API operations. They run as those of any client.
 * An outdated command is not run, but reported.
 */
import { ApiError, type ClientOptions, createCall, createStream, type ValueName } from "../api/client.ts";
import { volumeIn } from "../api/client-words.ts";
import { errorBody, textOf, toZapdError, ZapdError } from "../api/errors.ts";
import { type Groupable, groupable, type OperationName, type OperationRoute, operationRoutes } from "../api/routes.ts";
import { isObject } from "../system/json.ts";
import type { Log } from "../system/log.ts";
import { shellQuote, withHint } from "../system/text.ts";
import { type Bus, BusError, type Message } from "./bus.ts";
import { type ArtifactSettings, Sideload } from "./sideload.ts";
import { isReplyTopic, partsOf, type SiteTopics, settable } from "./topics.ts";

/** The operations that each value of `mqtt.commands` allows. Pairing, names and settings are for a person at the machine. */
const allowed = {
  control: [
    ...(["listDevices", "getDevice", "getState", "listApps", "listInputs", "listChannels", "health"] as const),
    ...(["launchApp", "stopApp", "refreshApps", "pressKey", "pressKeys", "setVolume", "controlPlayback"] as const),
    ...(["playMedia", "selectInput", "selectChannel", "notify", "takeLease", "freeLease", "runScene"] as const),
  ],
  developer: ["reloadPackage", "removePackage", "readLogs"],
} as const satisfies Record<string, readonly ValueName[]>;
/** A package is not uploaded over the bus: the call has its URL. */
const installOp = "dev_install";
type Allowed = (typeof allowed)[keyof typeof allowed][number];

const limits = {
  /** Bytes of a plain value (a text may have 1,024 characters), and of a call. */
  valueBytes: 8 * 1024,
  callBytes: 64 * 1024,
  depth: 16,
  /** Commands at a time, per second, and at once after a pause. */
  concurrent: 64,
  perSecond: 100,
  burst: 200,
  /** Calls that wait for a lease at a time. */
  waiting: 256,
} as const;
/** The oldest command that is run; it allows for different clocks of two machines. */
const maxAgeMs = 60_000;
/** The broker drops an answer after this time. */
const answerExpiryS = 30;
/** Refusals that are reported per second. */
const refusalsPerSecond = 10;
/** Log lines that are published per second; the others are only counted. */
const linesPerSecond = 50;

export interface CommandsOptions {
  readonly topics: SiteTopics;
  readonly level: keyof typeof allowed;
  /** How to call the API of this daemon. */
  readonly api: ClientOptions;
  readonly log: Log;
  /** The allowed origins of packages. */
  readonly artifacts: ArtifactSettings;
  /** Publishes an event of the site. */
  publish(event: object): void;
}

/** A call of an operation, with the arguments of the typed client. */
interface Call {
  readonly name: OperationName;
  readonly args: {
    readonly id?: string;
    readonly group?: string;
    readonly scene?: string;
    readonly body?: unknown;
    readonly query?: Record<string, string | string[]>;
    readonly lease?: string | undefined;
    readonly signal?: AbortSignal;
  };
}

type AnyCall = (name: OperationName, args: Call["args"]) => Promise<{ readonly text: string; readonly data: unknown }>;

export class Commands {
  readonly #options: CommandsOptions;
  readonly #call: AnyCall;
  readonly #mayRun = bucketOf(limits.perSecond, limits.burst);
  readonly #mayReport = bucketOf(refusalsPerSecond, 2 * refusalsPerSecond);
  readonly #sideload: Sideload;
  readonly #closing = new AbortController();
  /** Aborts with the connection: who waits for a lease could no longer be told its token. */
  #connection = new AbortController();
  #running = 0;
  /** Calls that wait for a lease: they are not among those that run, or its holder could not free it. */
  #waiting = 0;
  /** Logs that are followed, by the devices' ids, each with the token of its lease. */
  readonly #logs = new Map<string, { readonly token: string; readonly stop: AbortController }>();

  constructor(options: CommandsOptions) {
    this.#options = options;
    // The types of each operation are in the table, which types cannot follow from a text.
    this.#call = createCall(options.api) as unknown as AnyCall;
    this.#sideload = new Sideload(options);
  }

  /** The topics of commands. */
  get filters(): readonly string[] {
    const { topics } = this.#options;
    return [topics.rpc, `${topics.device("+")}/set/+`];
  }

  /** Handles a message of one of these topics. */
  handle(message: Message, bus: Bus): void {
    const { topics } = this.#options;
    // An empty message clears a retained command.
    if (message.payload.length === 0) return;
    this.#run(message, bus).catch((error: unknown) => {
      const { topic, replyTo, correlation } = message;
      this.#refuse(message, error);
      // Its caller need not wait. With QoS 1 the answers to a flood would be kept until the broker has acknowledged them.
      if (topic === topics.rpc && replyTo !== null && isReplyTopic(topics, replyTo))
        bus.publish(replyTo, envelopeOf(error), { expiresInS: answerExpiryS, correlation }).catch(() => {});
    });
  }

  /** Stops publishing the log of a device whose lease has ended, and fetching packages for it. */
  leaseEnded(deviceId: string): void {
    this.#logs.get(deviceId)?.stop.abort();
    this.#sideload.leaseEnded(deviceId);
  }

  /** Stops publishing logs and waiting for leases, since the connection has ended. */
  detach(): void {
    for (const { stop } of this.#logs.values()) stop.abort();
    this.#connection.abort(new ZapdError("device_error", "The connection to the broker has ended"));
    this.#connection = new AbortController();
  }

  end(): void {
    const reason = new ZapdError("device_error", "zapd is disconnecting from the broker");
    this.#closing.abort(reason);
    this.#connection.abort(reason);
  }

  async #run(message: Message, bus: Bus): Promise<void> {
    const { topics } = this.#options;
    checkFresh(message);
    if (!this.#mayRun()) throw tooMany(`more than ${limits.perSecond} commands a second arrive from the broker`);
    if (this.#running >= limits.concurrent)
      throw tooMany(`${limits.concurrent} commands from the broker are running already`);
    this.#running++;
    try {
      if (message.topic === topics.rpc) await this.#answer(message, bus);
      else {
        const [id = "", , field = ""] = partsOf(topics, message.topic) ?? [];
        const { name, args } = callForValue(id, field, textIn(message, limits.valueBytes));
        await this.#call(name, args);
      }
    } finally {
      this.#running--;
    }
  }

  /** Runs a call, and answers in the envelope of the API. Without a reply topic only a failure is reported. */
  async #answer(message: Message, bus: Bus): Promise<void> {
    const { topics, log } = this.#options;
    const isAllowed = (topic: unknown): topic is string => typeof topic === "string" && isReplyTopic(topics, topic);
    let call: Readonly<Record<string, unknown>> = {};
    let replyTo: unknown = message.replyTo;
    let envelope: string;
    let given: TakenLease | undefined;
    try {
      call = callIn(textIn(message, limits.callBytes));
      replyTo ??= call["reply_to"];
      if (replyTo !== undefined && !isAllowed(replyTo))
        throw invalid(
          "The answer cannot be sent to that topic",
          `Use a topic of your own, or one below ${topics.reply("")}`,
        );
      checkAge(call["sent_at"]);
      ({ text: envelope, given } = await this.#runCall(call, bus, replyTo !== undefined));
    } catch (error) {
      if (!(error instanceof ZapdError)) log.error(`MQTT: ${error instanceof Error ? error.stack : textOf(error)}`);
      if (!isAllowed(replyTo)) throw error;
      envelope = envelopeOf(error);
    }
    const free = async () => {
      if (!given) return;
      const { device, token } = given;
      await this.#call("freeLease", { id: device.id, lease: token }).catch((error: unknown) =>
        log.debug(`MQTT: a lease that nobody was told of could not be freed: ${textOf(error)}`),
      );
    };
    if (!isAllowed(replyTo)) return free();
    const { transaction } = call;
    const prefix = transaction === undefined ? "" : `"transaction":${JSON.stringify(transaction)},`;
    // As a constant it stays a text within the function.
    const to = replyTo;
    const answer = (text: string) =>
      bus.publish(to, `{${prefix}${text.slice(1)}`, {
        qos: 1,
        expiresInS: answerExpiryS,
        correlation: message.correlation,
      });
    await answer(envelope).catch(async (error: unknown) => {
      log.debug(`MQTT: an answer could not be sent: ${textOf(error)}`);
      const tooLarge = new ZapdError("payload_too_large", "The answer is too large for one message", {
        hint: "Read the retained documents of the devices at the broker: they contain the same in parts",
      });
      await free();
      await answer(envelopeOf(tooLarge)).catch(() => {});
    });
  }

  async #runCall(call: Readonly<Record<string, unknown>>, bus: Bus, isAnswered: boolean): Promise<Answered> {
    const { op, args = {}, lease, ...rest } = call;
    const unknown = Object.keys(rest).filter((key) => !["reply_to", "transaction", "sent_at"].includes(key));
    if (unknown.length > 0) throw invalid(`Unknown in a call: ${unknown.map(quoted).join(", ")}`);
    if (!isObject(args)) throw invalid("args must be an object");
    // It is sent in a header, which not every character may be in.
    if (lease !== undefined && (typeof lease !== "string" || /[^ -~]/.test(lease)))
      throw invalid("lease must be the token of a lease");
    if (op === installOp) {
      if (this.#options.level !== "developer") throw notAllowed(op);
      return { text: await this.#sideload.install(args, lease, this.#closing.signal) };
    }
    const name = this.#nameOf(op);
    if (name === "readLogs" && String(args["follow"]) === "true")
      throw invalid(
        "read_logs has one answer, so it cannot follow the log",
        'Lines are published as they come after take_lease with "log":true',
      );
    const { log, ...ownArgs } = args;
    const follows = name === "takeLease" && log === true;
    if (follows && this.#options.level !== "developer") throw notAllowed("take_lease with log");
    if (name !== "takeLease") {
      const operation = callOf(name, args, lease);
      return { text: (await this.#call(operation.name, operation.args)).text };
    }
    // Who renews a lease knows its token.
    if (!isAnswered && lease === undefined)
      throw invalid("take_lease needs a topic for its answer, which has the token of the lease");
    const operation = callOf(name, ownArgs, lease);
    if (this.#waiting >= limits.waiting)
      throw tooMany(`${limits.waiting} calls from the broker wait for a lease already`);
    this.#waiting++;
    this.#running--;
    try {
      const { text, data } = await this.#call(name, { ...operation.args, signal: this.#connection.signal });
      const taken = data as TakenLease;
      if (follows) this.#followLog(taken, bus);
      return lease?.includes(taken.token) ? { text } : { text, given: taken };
    } finally {
      this.#waiting--;
      this.#running++;
    }
  }

  #nameOf(op: unknown): Allowed {
    const { level } = this.#options;
    if (typeof op !== "string") throw invalid('A call needs "op", such as {"op":"press_key","args":{"key":"home"}}');
    const name = op.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    const names: readonly Allowed[] = [...allowed.control, ...(level === "developer" ? allowed.developer : [])];
    const known = names.find((one) => one === name);
    if (known) return known;
    if (Object.hasOwn(operationRoutes, name)) throw notAllowed(op);
    const ops = [...names, ...(level === "developer" ? [installOp] : [])].map(snake);
    throw invalid(`Unknown operation ${quoted(op)}`, `The operations are: ${ops.join(", ")}`);
  }

  /** Publishes the log of a device for as long as its lease lasts. */
  #followLog({ device, token }: TakenLease, bus: Bus): void {
    const { topics, api, log } = this.#options;
    const followed = this.#logs.get(device.id);
    // The lease was renewed.
    if (followed?.token === token && !followed.stop.signal.aborted) return;
    followed?.stop.abort();
    const stop = new AbortController();
    this.#logs.set(device.id, { token, stop });
    const mayPublish = bucketOf(linesPerSecond, linesPerSecond);
    let dropped = 0;
    const follow = async () => {
      const args = { id: device.id, query: { follow: "true" }, lease: token, signal: stop.signal };
      const passes = () => true;
      for await (const batch of createStream<LogLines>({ ...api, passes }, "readLogs", args)) {
        dropped += batch.dropped ?? 0;
        const lines = batch.lines.filter(mayPublish);
        dropped += batch.lines.length - lines.length;
        if (lines.length === 0) continue;
        const json = JSON.stringify({ lines, ...(dropped > 0 && { dropped }) });
        const lost = dropped + lines.length;
        dropped = 0;
        await bus.publish(topics.log(device.id), json, { expiresInS: answerExpiryS }).catch((error: unknown) => {
          if (!(error instanceof BusError) || error.reason !== "too_large") throw error;
          dropped = lost;
        });
      }
    };
    follow()
      .catch((error: unknown) => log.debug(`MQTT: the log of ${device.id} is no longer published: ${textOf(error)}`))
      .finally(() => this.#logs.get(device.id)?.stop === stop && this.#logs.delete(device.id));
  }

  /** Reports a command that was not run in an event and in the log, without its content. */
  #refuse({ topic, payload }: Message, thrown: unknown): void {
    if (!this.#mayReport()) return;
    const { topics, log, publish } = this.#options;
    const isTyped = partsOf(topics, topic)?.[2] === "text" || Buffer.from(payload).includes("literal:");
    const { code, message, hint } = errorBody(toZapdError(thrown));
    const error = isTyped ? { code, message: "The text was not typed" } : { code, message, hint };
    publish({ type: "command.refused", at: new Date().toISOString(), topic, error });
    log.warn(`MQTT: ${topic}: ${withHint(error.message, error.hint)}`);
  }
}

interface TakenLease {
  readonly device: { readonly id: string };
  readonly token: string;
}

interface Answered {
  readonly text: string;
  /** A new lease, whose token is only in this answer: where that reaches nobody, nobody could free it. */
  readonly given?: TakenLease;
}

interface LogLines {
  readonly id: string;
  readonly lines: readonly string[];
  readonly dropped?: number;
}

/** Refuses an outdated command: one that was retained, has expired, or was sent too long ago. */
function checkFresh({ topic, retained, expiresInS, sentAt }: Message): void {
  if (retained)
    throw invalid(
      "A retained command is not run: it would run again with every new connection",
      `Send it without the retain flag, and clear the retained message: mosquitto_pub -r -n -t ${shellQuote(topic)}`,
    );
  if (expiresInS === 0) throw outdated(null);
  checkAge(sentAt ?? undefined);
}

function checkAge(sentAt: unknown): void {
  if (sentAt === undefined) return;
  const at = typeof sentAt === "string" ? Date.parse(sentAt) : Number.NaN;
  if (Number.isNaN(at)) throw invalid("sent_at must be a time such as 2026-11-22T10:00:00Z");
  const age = Date.now() - at;
  if (Math.abs(age) > maxAgeMs) throw outdated(age);
}

function outdated(ageMs: number | null): ZapdError {
  const hint = "Send it again if you still want it, and check that the clocks of both machines are right";
  if (ageMs === null) return new ZapdError("device_busy", "The command was not run: it has expired", { hint });
  const seconds = Math.round(Math.abs(ageMs) / 1_000);
  const when = ageMs > 0 ? `was sent ${seconds} s ago` : `was sent ${seconds} s in the future, by its sent_at`;
  return new ZapdError("device_busy", `The command was not run: it ${when}`, { hint });
}

function tooMany(what: string): ZapdError {
  return new ZapdError("device_busy", `The command was not run: ${what}`, { hint: "Send fewer at a time" });
}

function notAllowed(op: string): ZapdError {
  return new ZapdError("unsupported_operation", `${quoted(op)} is not accepted from the broker`, {
    hint: "mqtt.commands sets what is accepted: control is what a remote can do, developer adds the log and the sideloaded package. For pairing, names and settings run zapd on that machine",
  });
}

function invalid(message: string, hint?: string): ZapdError {
  return new ZapdError("invalid_payload", message, { hint });
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

function textIn({ payload }: Message, most: number): string {
  if (payload.length > most) {
    const message = `The message has ${payload.length} bytes, and at most ${most} are accepted`;
    throw new ZapdError("payload_too_large", message);
  }
  try {
    return utf8.decode(payload);
  } catch (cause) {
    throw new ZapdError("invalid_payload", "The message is not UTF-8", { cause });
  }
}

/** Parses a call. The depth is checked before, since deep nesting overflows the stack. */
function callIn(text: string): Readonly<Record<string, unknown>> {
  if (isDeep(text)) throw invalid(`The call is nested deeper than ${limits.depth} levels`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new ZapdError("invalid_payload", "The call is not JSON", {
      hint: 'Such as {"op":"press_key","args":{"key":"home"}}',
      cause,
    });
  }
  if (!isObject(value)) throw invalid("The call must be a JSON object");
  return value;
}

function isDeep(text: string): boolean {
  let depth = 0;
  // A string without an end is one match too: otherwise every quote in it would be tried as the beginning of another.
  for (const { 0: found } of text.matchAll(/"(?:[^"\\]|\\.)*"?|[[\]{}]/g)) {
    if (found === "[" || found === "{") depth++;
    else if (found === "]" || found === "}") depth--;
    if (depth > limits.depth) return true;
  }
  return false;
}

/** The call for a plain value of one field of a device. */
function callForValue(id: string, field: string, text: string): Call {
  if (id === "") throw invalid("The topic names no device: its id belongs between devices/ and /set");
  const word = text.trim();
  const lower = word.toLowerCase();
  const args = (body: object) => ({ id, body });
  switch (field) {
    case "power": {
      const keys: Readonly<Record<string, string>> = { on: "power-on", off: "power-off", toggle: "power" };
      return { name: "pressKey", args: args({ key: oneOf(keys, lower, field) }) };
    }
    case "mute": {
      const words: Readonly<Record<string, boolean>> = { on: true, off: false, true: true, false: false };
      return { name: "setVolume", args: args({ muted: oneOf(words, lower, field) }) };
    }
    case "volume": {
      const change = volumeIn(word);
      if (!change) throw invalid("volume must be 0 to 100, or a step such as +5 or -5");
      return { name: "setVolume", args: args(change) };
    }
    case "app":
      return lower === "none" ? { name: "stopApp", args: { id } } : { name: "launchApp", args: args({ app: word }) };
    case "input":
      return { name: "selectInput", args: args({ input: word }) };
    case "key":
      return { name: "pressKey", args: args({ key: word }) };
    case "text":
      return { name: "pressKey", args: args({ key: `literal:${text}` }) };
    case "notify":
      return { name: "notify", args: args({ message: text }) };
    default:
      throw invalid(`${quoted(field)} cannot be set`, `The fields that can be set are: ${settable.join(", ")}`);
  }
}

function oneOf<T>(words: Readonly<Record<string, T>>, word: string, field: string): T {
  const meant = Object.hasOwn(words, word) ? words[word] : undefined;
  if (meant === undefined) throw invalid(`${field} must be one of ${Object.keys(words).join(", ")}`);
  return meant;
}

/** A call of an operation. Beside `device`, `group` or `scene`, the arguments are the fields of its body or query. */
function callOf(name: Allowed, args: Readonly<Record<string, unknown>>, lease: string | undefined): Call {
  const route: OperationRoute = operationRoutes[name];
  const { device, group, ...rest } = args;
  const named = [device, group].filter((one) => one !== undefined);
  if (route.path.includes("/:scene")) {
    const { scene, ...content } = args;
    if (typeof scene !== "string" || scene === "")
      throw invalid(`${snake(name)} needs "scene", such as {"scene":"movie-night"}`);
    return { name, args: { scene, lease, ...contentOf(route, name, content) } };
  }
  if (!route.path.includes("/:id")) {
    if (named.length > 0) throw invalid(`${snake(name)} is not for a device or a group`);
    return { name, args: { lease, ...contentOf(route, name, rest) } };
  }
  if (named.length > 1) throw invalid("A call is for a device or for a group, not for both");
  if (named.some((one) => typeof one !== "string" || one === ""))
    throw invalid("device and group must be non-empty texts");
  const content = contentOf(route, name, rest);
  if (group === undefined)
    return { name, args: { id: typeof device === "string" ? device : "default", lease, ...content } };
  const ofGroup: Groupable | undefined = groupable.find((one) => one === name);
  if (!ofGroup) throw invalid(`${snake(name)} is for one device, not for a group`);
  return { name: `${ofGroup}OfGroup`, args: { group: String(group), lease, ...content } };
}

function contentOf(
  { takes, optionalBody }: OperationRoute,
  name: string,
  rest: Readonly<Record<string, unknown>>,
): Pick<Call["args"], "body" | "query"> {
  const keys = Object.keys(rest);
  if (takes === "json") return keys.length === 0 && optionalBody ? {} : { body: rest };
  if (keys.length === 0) return {};
  if (takes !== "query") throw invalid(`Unknown argument of ${snake(name)}: ${keys.map(quoted).join(", ")}`);
  if (
    Object.values(rest)
      .flat()
      .some((value) => typeof value === "object")
  )
    throw invalid(`The arguments of ${snake(name)} must be plain values, or lists of them`);
  const textIn = (value: unknown) => (Array.isArray(value) ? value.map(String) : String(value));
  return { query: Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, textIn(value)])) };
}

function snake(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 64));
}

function envelopeOf(thrown: unknown): string {
  if (thrown instanceof ApiError) return thrown.text;
  return JSON.stringify({ ok: false, error: errorBody(toZapdError(thrown)) });
}

/** A token bucket: returns whether one more may be taken now. */
function bucketOf(perSecond: number, most: number): () => boolean {
  let left = most;
  let at = performance.now();
  return () => {
    const now = performance.now();
    left = Math.min(most, left + ((now - at) / 1_000) * perSecond);
    at = now;
    if (left < 1) return false;
    left--;
    return true;
  };
}
