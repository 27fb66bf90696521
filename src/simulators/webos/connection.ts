/** One client of a set: who it is, what it may, what it asks, what it is told. */
import { randomBytes } from "node:crypto";
import type { WebSocket } from "ws";
import { keep } from "../bench/set.ts";
import type { Caller, Reading } from "./endpoints.ts";
import { endpointAt, openTo } from "./endpoints.ts";
import type { Model, OpenPrompt, ReceivedRequest, ShownPrompt, Topic } from "./model.ts";
import { takeFrames } from "./remote.ts";
import { failureOf, isPayload, type Message, type Payload, parseMessage, Refusal, textsIn } from "./wire.ts";

/** The port that a connection came in by. */
export interface Door {
  readonly port: "secure" | "plain";
  url(scheme: "ws" | "http", path: string): string;
}

interface Subscription {
  readonly topic: Topic;
  end(): void;
}

/** One client, from its first message to its last. */
export class Connection {
  /** Open, and answering nothing, pings included: how a set goes to standby (smart-tvs.md 2.2). */
  silent = false;
  readonly #model: Model;
  readonly #socket: WebSocket;
  readonly #door: Door;
  readonly #subscriptions = new Map<string, Subscription>();
  readonly #caller: Caller;
  #granted: ReadonlySet<string> | null = null;
  #leave: () => void = () => {};
  #hungUp = false;

  constructor(model: Model, socket: WebSocket, door: Door) {
    this.#model = model;
    this.#socket = socket;
    this.#door = door;
    this.#caller = {
      url: door.url,
      hangUp: () => {
        this.#hungUp = true;
        socket.terminate();
      },
      subscribed: (topic) => [...this.#subscriptions.values()].some((one) => one.topic === topic),
    };
    this.#keepAlive();
    socket.on("message", (data) => this.#take(data.toString()));
    socket.on("close", () => this.#end());
  }

  get registered(): boolean {
    return this.#granted !== null;
  }

  terminate(): void {
    this.#socket.terminate();
  }

  #keepAlive(): void {
    this.#socket.on("error", () => this.#socket.terminate());
    this.#socket.on("ping", (data) => {
      if (!this.silent) this.#socket.pong(data);
    });
  }

  #end(): void {
    for (const { end } of this.#subscriptions.values()) end();
    this.#subscriptions.clear();
    this.#leave();
  }

  #take(text: string): void {
    const message = parseMessage(text);
    if (message === null) return;
    const { type, uri, payload } = message;
    const request = keep(this.#model.received.requests, {
      ...{ port: this.#door.port, type, uri, payload },
      outcome: this.silent ? "ignored" : "answered",
    });
    if (this.silent) return;
    try {
      this.#handle(message, request);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.#refuse(message, request, error);
    }
  }

  #handle(message: Message, request: ReceivedRequest): void {
    const { id, type, uri } = message;
    if (type === "hello") {
      if (this.#model.firmware.hello === "none") request.outcome = "ignored";
      else this.#send(helloOf(this.#model, id));
    } else if (type === "register") this.#register(message, request);
    else if (type === "unsubscribe") this.#unsubscribe(id);
    else if (type === "subscribe" || type === "request") {
      const open = this.#granted === null ? openTo(this.#model, uri) : null;
      if (open === null) this.#call(message, request);
      else this.#answer(id, open, false);
    }
  }

  #register({ id, payload }: Message, request: ReceivedRequest): void {
    // Right after power-off, and in Quick Start+ as long as it lasts (smart-tvs.md 2.5).
    if (this.#model.power === "standby" && this.#model.behaviour.standby !== "active-standby") {
      request.outcome = "closed";
      return this.#socket.close(1008, "Try Again Later (EWS)");
    }
    register(this.#model, payload, {
      reply: (reply) => this.#send({ id, ...reply }),
      refuse: (refusal) => {
        request.outcome = refusal.message;
        this.#send({ id, ...failureOf(refusal, "error") });
      },
      admit: (granted) => {
        this.#granted = granted;
      },
      onLeave: (leave) => {
        this.#leave = leave;
      },
    });
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
    const { topic } = endpoint;
    const end = this.#model.feeds.add(topic, (detail) => {
      const told = this.#tell(endpoint, detail);
      // The answer to the request that made the change goes first.
      if (told !== null) queueMicrotask(() => this.#answer(id, told, true));
    });
    this.#subscriptions.set(keyOf(id), { topic, end });
  }

  /** Null for what cannot be read just now. */
  #tell(endpoint: Reading, detail: Payload): Payload | null {
    try {
      return endpoint.push?.(this.#model, detail, this.#caller) ?? endpoint.read(this.#model, this.#caller);
    } catch (error) {
      if (error instanceof Refusal) return null;
      throw error;
    }
  }

  #unsubscribe(id: unknown): void {
    this.#subscriptions.get(keyOf(id))?.end();
    this.#subscriptions.delete(keyOf(id));
  }

  #answer(id: unknown, answer: Payload, subscribed: boolean): void {
    const { returnValue, subscribed: saysSubscribed } = this.#model.firmware;
    const payload = {
      ...answer,
      ...(subscribed && saysSubscribed ? { subscribed: true } : {}),
      ...(returnValue ? { returnValue: true } : {}),
    };
    this.#send({ id, type: "response", payload });
  }

  #refuse({ id, uri }: Message, request: ReceivedRequest, refusal: Refusal): void {
    request.outcome = refusal.message;
    this.#model.emit("refused", `refused ${uri}: ${refusal.message}`);
    this.#send({ id, ...failureOf(refusal, this.#model.firmware.failures) });
  }

  #send(message: Payload): void {
    if (!this.silent && this.#socket.readyState === this.#socket.OPEN) this.#socket.send(JSON.stringify(message));
  }
}

/** An id is whatever the client likes. */
function keyOf(id: unknown): string {
  return JSON.stringify(id) ?? "";
}

/** A pointer socket: it takes frames and never says a word (smart-tvs.md 2.4). */
export class PointerConnection {
  silent = false;
  readonly registered = false;
  readonly #socket: WebSocket;

  constructor(model: Model, socket: WebSocket) {
    this.#socket = socket;
    socket.on("error", () => socket.terminate());
    socket.on("ping", (data) => {
      if (!this.silent) socket.pong(data);
    });
    socket.on("message", (data) => {
      if (!this.silent) takeFrames(model, data.toString());
    });
  }

  terminate(): void {
    this.#socket.terminate();
  }
}

/** As a set on release 6.4.0 was logged answering, `deviceOSVersion` 4.1.0 included (home-assistant/core#131981). */
function helloOf({ firmware, identity }: Model, id: unknown): Payload {
  const payload = {
    protocolVersion: 1,
    deviceType: "tv",
    deviceOS: "webOS",
    deviceOSVersion: "4.1.0",
    deviceOSReleaseVersion: firmware.release,
    deviceUUID: identity.uuid,
    pairingTypes: firmware.pairingTypes,
  };
  return { ...(firmware.hello === "with-id" ? { id } : {}), type: "hello", payload };
}

/** The connection that wants to register. */
interface Applicant {
  /** A message under the id of its `register`. */
  reply(message: Payload): void;
  refuse(refusal: Refusal): void;
  admit(granted: ReadonlySet<string>): void;
  /** Called with what to do if it leaves before the prompt is answered. */
  onLeave(leave: () => void): void;
}

/** Never granted for the asking in the outer list (smart-tvs.md 2.3: unsigned loses READ_UPDATE_INFO and settings writes). */
const SIGNED_ONLY = new Set(["READ_UPDATE_INFO", "UPDATE_FROM_REMOTE_APP", "WRITE_SETTINGS", "TEST_SECURE"]);

/** smart-tvs.md 2.3, from step 3 on. */
function register(model: Model, payload: Payload, applicant: Applicant): void {
  const manifest = isPayload(payload["manifest"]) ? payload["manifest"] : {};
  // `signatures` alone pass: lgtv2 2.0.2 pairs in the field with the signed part dropped and them still sent.
  if (model.firmware.signed === "refused" && manifest["signed"] !== undefined)
    return applicant.refuse(new Refusal("403 Pairing rejected: blacklisted certificate detected"));
  const key = payload["client-key"];
  const known = typeof key === "string" ? model.clientKeys.get(key) : undefined;
  if (typeof key === "string" && known !== undefined) return admit(model, applicant, key, known);
  const granted = grantedBy(model, manifest);
  if (model.behaviour.prompting === "none") return admitNew(model, applicant, granted);
  // The words are those a client of others waits for; that they come to a second connection too is in no source.
  if (model.prompt !== null) return applicant.refuse(new Refusal("409 register already in progress"));
  applicant.reply({ type: "response", payload: { pairingType: "PROMPT", returnValue: true } });
  showPrompt(model, textsIn(manifest["permissions"]), applicant, granted);
}

/** A flat list, outside of `manifest`, grants nothing: it registers and gets 401 on all (smart-tvs.md 2.3). */
function grantedBy({ firmware }: Model, manifest: Payload): Set<string> {
  const granted = new Set(textsIn(manifest["permissions"]).filter((one) => !SIGNED_ONLY.has(one)));
  const signed = manifest["signed"];
  if (firmware.signed !== "honoured" || !isPayload(signed)) return granted;
  return new Set([...granted, ...textsIn(signed["permissions"])]);
}

function showPrompt(model: Model, permissions: readonly string[], applicant: Applicant, granted: Set<string>): void {
  const { prompting, promptMs, denial } = model.behaviour;
  const shown: ShownPrompt = keep(model.received.prompts, { permissions, answer: "open" });
  const decide = () => prompt.end(prompting === "deny" ? "denied" : "accepted");
  const timer = prompting === "wait" ? null : setTimeout(decide, promptMs);
  const prompt: OpenPrompt = {
    shown,
    end(answer) {
      if (model.prompt !== prompt) return;
      model.prompt = null;
      if (timer !== null) clearTimeout(timer);
      shown.answer = answer;
      model.emit("prompt-end", `pairing prompt ${answer}`);
      if (answer === "accepted") admitNew(model, applicant, granted);
      else if (answer === "denied") applicant.refuse(new Refusal(denial));
    },
  };
  model.prompt = prompt;
  // Whether a real prompt outlives its connection is in no source.
  applicant.onLeave(() => prompt.end("gone"));
  model.emit("prompt", "pairing prompt shown");
}

function admitNew(model: Model, applicant: Applicant, granted: ReadonlySet<string>): void {
  const key = randomBytes(16).toString("hex");
  model.clientKeys.set(key, granted);
  admit(model, applicant, key, granted);
}

function admit(model: Model, applicant: Applicant, key: string, granted: ReadonlySet<string>): void {
  applicant.admit(granted);
  applicant.reply({ type: "registered", payload: { "client-key": key } });
  model.emit("registered", "a client registered");
}
