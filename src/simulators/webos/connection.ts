/** One client connection: registration, permissions, requests and subscriptions. */
import { randomBytes } from "node:crypto";
import type { WebSocket } from "ws";
import { objectIn } from "../bench/json.ts";
import { pushCapped } from "../bench/set.ts";
import { type Caller, endpointAt, publicAnswer, type Reading } from "./endpoints.ts";
import type { Model, OpenPrompt, ReceivedRequest } from "./model.ts";
import { handleFrames } from "./remote.ts";
import { failureOf, type Message, type Payload, parseMessage, Refusal, textsIn } from "./wire.ts";

/** The port of a connection. */
export interface EntryPort {
  readonly port: "secure" | "plain";
  url(scheme: "ws" | "http", path: string): string;
}

/** An open WebSocket that answers pings unless the set is silent. */
export abstract class SocketConnection {
  /** Open but answering nothing, not even pings: how a set goes to standby (smart-tvs.md 2.2). */
  silent = false;
  protected readonly socket: WebSocket;

  constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on("error", () => socket.terminate());
    socket.on("ping", (data) => {
      if (!this.silent) socket.pong(data);
    });
    socket.on("message", (data) => this.handle(data.toString()));
  }

  terminate(): void {
    this.socket.terminate();
  }

  protected abstract handle(text: string): void;
}

/** A pointer socket: it receives frames and never sends anything (smart-tvs.md 2.4). */
export class PointerConnection extends SocketConnection {
  readonly #model: Model;

  constructor(model: Model, socket: WebSocket) {
    super(socket);
    this.#model = model;
  }

  protected handle(text: string): void {
    if (!this.silent) handleFrames(this.#model, text);
  }
}

/** An SSAP connection. */
export class Connection extends SocketConnection {
  readonly #model: Model;
  readonly #entryPort: EntryPort;
  /** The unsubscribe functions, by request id. */
  readonly #subscriptions = new Map<string, () => void>();
  readonly #caller: Caller;
  #granted: ReadonlySet<string> | null = null;
  #prompt: OpenPrompt | null = null;
  #hungUp = false;

  constructor(model: Model, socket: WebSocket, door: EntryPort) {
    super(socket);
    this.#model = model;
    this.#entryPort = door;
    this.#caller = {
      url: door.url,
      hangUp: () => {
        this.#hungUp = true;
        socket.terminate();
      },
    };
    socket.on("close", () => {
      for (const end of this.#subscriptions.values()) end();
      this.#subscriptions.clear();
      // No source says whether a real prompt outlives its connection.
      this.#prompt?.end("cancelled");
    });
  }

  get registered(): boolean {
    return this.#granted !== null;
  }

  protected handle(text: string): void {
    const message = parseMessage(text);
    if (message === null) return;
    const { type, uri, payload } = message;
    const outcome = this.silent ? "ignored" : "answered";
    const request = pushCapped(this.#model.received.requests, {
      port: this.#entryPort.port,
      type,
      uri,
      payload,
      outcome,
    });
    if (this.silent) return;
    try {
      this.#handle(message, request);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      request.outcome = error.message;
      this.#model.emit("refused", `refused ${uri}: ${error.message}`);
      this.#send({ id: message.id, ...failureOf(error) });
    }
  }

  #handle(message: Message, request: ReceivedRequest): void {
    const { id, type, uri } = message;
    if (type === "hello") {
      if (this.#model.firmware.hello === "none") request.outcome = "ignored";
      else this.#send(helloOf(this.#model));
    } else if (type === "register") this.#register(message, request);
    else if (type === "unsubscribe") this.#unsubscribe(id);
    else if (type === "subscribe" || type === "request") {
      const open = this.#granted === null ? publicAnswer(this.#model, uri) : null;
      if (open === null) this.#call(message, request);
      else this.#answer(id, open, false);
    }
  }

  /** Registration: smart-tvs.md 2.3, from step 3 on. */
  #register({ id, payload }: Message, request: ReceivedRequest): void {
    const { power, options, firmware, clientKeys, prompt, prompting } = this.#model;
    const refuse = (reason: string) => {
      request.outcome = reason;
      this.#send({ id, ...failureOf(new Refusal(reason)) });
    };
    // Right after power-off, and in Quick Start+ standby at any time (smart-tvs.md 2.5).
    if (power === "standby" && options.standby !== "active-standby") {
      request.outcome = "closed";
      return this.socket.close(1008, "Try Again Later (EWS)");
    }
    const manifest = objectIn(payload["manifest"]);
    // `signatures` without `signed` pass: lgtv2 2.0.2 sends that and is known to pair.
    if (firmware.signed === "refused" && manifest["signed"] !== undefined)
      return refuse("403 Pairing rejected: blacklisted certificate detected");
    const key = payload["client-key"];
    const known = typeof key === "string" ? clientKeys.get(key) : undefined;
    if (typeof key === "string" && known !== undefined) return this.#admit(id, key, known);
    const admitNew = () => {
      const made = randomBytes(16).toString("hex");
      const granted = grantedBy(this.#model, manifest);
      clientKeys.set(made, granted);
      this.#admit(id, made, granted);
    };
    if (prompting === "none") return admitNew();
    // Another client waits for this text; no source says that a second connection gets it too.
    if (prompt !== null) return refuse("409 register already in progress");
    this.#send({ id, type: "response", payload: { pairingType: "PROMPT", returnValue: true } });
    this.#prompt = showPrompt(this.#model, textsIn(manifest["permissions"]), (answer) => {
      if (answer === "accepted") admitNew();
      else if (answer === "denied") refuse(options.denial);
    });
  }

  #admit(id: unknown, key: string, granted: ReadonlySet<string>): void {
    this.#granted = granted;
    this.#send({ id, type: "registered", payload: { "client-key": key } });
    this.#model.emit("registered", "a client registered");
  }

  #call({ id, type, uri, payload }: Message, request: ReceivedRequest): void {
    const endpoint = endpointAt(this.#model, uri, this.#granted);
    if ("answer" in endpoint) {
      const answer = endpoint.answer(this.#model, payload, this.#caller);
      if (answer !== null) this.#answer(id, answer, false);
      else request.outcome = this.#hungUp ? "closed" : "ignored";
      return;
    }
    if (endpoint.subscribeOnly && type === "request") throw new Refusal("500 Application error");
    const subscribes = type === "subscribe";
    this.#answer(id, endpoint.read(this.#model, this.#caller), subscribes);
    if (subscribes) this.#subscribe(id, endpoint);
  }

  #subscribe(id: unknown, endpoint: Reading): void {
    this.#unsubscribe(id);
    const end = this.#model.feeds.add(endpoint.topic, (detail) => {
      const update = this.#updateOf(endpoint, detail);
      // The response to the request that made the change goes first.
      if (update !== null) queueMicrotask(() => this.#answer(id, update, true));
    });
    this.#subscriptions.set(keyOf(id), end);
  }

  /** Null if the value cannot be read now. */
  #updateOf(endpoint: Reading, detail: Payload): Payload | null {
    try {
      return endpoint.push?.(this.#model, detail) ?? endpoint.read(this.#model, this.#caller);
    } catch (error) {
      if (error instanceof Refusal) return null;
      throw error;
    }
  }

  #unsubscribe(id: unknown): void {
    this.#subscriptions.get(keyOf(id))?.();
    this.#subscriptions.delete(keyOf(id));
  }

  #answer(id: unknown, answer: Payload, subscribed: boolean): void {
    const payload = { ...answer, ...(subscribed && { subscribed }), returnValue: true };
    this.#send({ id, type: "response", payload });
  }

  #send(message: Payload): void {
    if (!this.silent && this.socket.readyState === this.socket.OPEN) this.socket.send(JSON.stringify(message));
  }
}

/** Clients may use any JSON value as id. */
function keyOf(id: unknown): string {
  return JSON.stringify(id) ?? "";
}

/** As logged of a set on release 6.4.0, including `deviceOSVersion` 4.1.0 (home-assistant/core#131981). */
function helloOf({ firmware, options }: Model): Payload {
  const payload = {
    protocolVersion: 1,
    deviceType: "tv",
    deviceOS: "webOS",
    deviceOSVersion: "4.1.0",
    deviceOSReleaseVersion: firmware.release,
    deviceUUID: options.uuid,
    pairingTypes: firmware.pairingTypes,
  };
  return { type: "hello", payload };
}

/** A list outside of `manifest` grants nothing: the client registers and gets 401 for everything (smart-tvs.md 2.3). */
function grantedBy({ firmware }: Model, manifest: Payload): Set<string> {
  const more = firmware.signed === "honoured" ? textsIn(objectIn(manifest["signed"])["permissions"]) : [];
  return new Set([...textsIn(manifest["permissions"]), ...more]);
}

function showPrompt(
  model: Model,
  permissions: readonly string[],
  answered: (answer: "accepted" | "denied" | "cancelled") => void,
): OpenPrompt {
  const { prompting } = model;
  const shown = pushCapped(model.received.prompts, { permissions, answer: "open" });
  const decide = () => prompt.end(prompting === "deny" ? "denied" : "accepted");
  const timer = prompting === "wait" ? undefined : setTimeout(decide, model.options.promptMs);
  const prompt: OpenPrompt = {
    end(answer) {
      if (model.prompt !== prompt) return;
      model.prompt = null;
      clearTimeout(timer);
      shown.answer = answer;
      model.emit("prompt-end", `pairing prompt ${answer}`);
      answered(answer);
    },
  };
  model.prompt = prompt;
  model.emit("prompt", "pairing prompt shown");
  return prompt;
}
