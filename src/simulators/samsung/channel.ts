/** One connection of the remote-control channel: the set speaks first and does not confirm keys (smart-tvs.md 3.2 to 3.4). */
import type { WebSocket } from "ws";
import { type JsonObject, objectIn, parseObject } from "../bench/json.ts";
import { pushCapped } from "../bench/set.ts";
import type { Model, OpenPrompt, ReceivedKey } from "./model.ts";
import { APPS } from "./options.ts";

interface ChannelRequest {
  readonly secure: boolean;
  readonly query: URLSearchParams;
}

const KEY_COMMANDS: readonly string[] = ["Click", "Press", "Release"];

export class Channel {
  readonly #model: Model;
  readonly #socket: WebSocket;
  readonly #request: ChannelRequest;
  /** The name of the client, shown in the prompt. */
  readonly #name: string;
  #isAdmitted = false;
  #prompt: OpenPrompt | null = null;
  #keys = 0;

  constructor(model: Model, socket: WebSocket, asked: ChannelRequest) {
    this.#model = model;
    this.#socket = socket;
    this.#request = asked;
    this.#name = Buffer.from(asked.query.get("name") ?? "", "base64").toString() || "a remote";
    socket.on("error", () => socket.terminate());
    socket.on("ping", (data) => {
      if (model.options.traits.answersPings && !model.silent) socket.pong(data);
    });
    socket.on("message", (data) => this.#handle(data.toString()));
    // No source says whether a real prompt outlives its connection.
    socket.on("close", () => this.#prompt?.end("cancelled"));
  }

  /** Admits or refuses the client by its token, or shows a prompt. */
  open(): void {
    const { options, tokens, received } = this.#model;
    const { traits, asks } = options;
    const given = this.#request.query.get("token");
    pushCapped(received.tokens, given);
    // Clients without a token send these as well (NickWaterton/samsung-tv-ws-api#3).
    const token = given === "" || given === "None" ? null : given;
    if (traits.socketWakes) setTimeout(() => this.#wake(), traits.socketWakesMs);
    if (traits.silent) return;
    if (traits.knowsNoKeys === "from the start") return this.#send({ event: "ms.error", data: {} });
    if (traits.sendsOtherEventsFirst) {
      this.#send({ event: "ed.edenTV.update", from: "host", data: { update_type: "ed.edenApp.update" } });
      this.#send({ event: "ms.voiceApp.hide", from: "host" });
    }
    if (traits.tokens && !this.#request.secure && !traits.tokensInPlain) return this.#refuse();
    if (asks === "never") return this.#admit(traits.tokens && token === null ? this.#model.newToken() : null);
    const isKnown = traits.tokens ? token !== null && tokens.has(token) : tokens.has(this.#name);
    if (isKnown && asks === "first") this.#admit(null);
    else if (token !== null && !isKnown) this.#refuse();
    else if (this.#model.power === "on") this.#showPrompt();
  }

  #wake(): void {
    if (this.#model.power === "standby") this.#model.togglePower();
  }

  /** Closes a connection beyond the limit with code 1005, which a close frame must not carry (3.4). */
  closeAsExcess(): void {
    const raw = (this.#socket as unknown as { readonly _socket: { write(bytes: Uint8Array): void } })._socket;
    raw.write(Uint8Array.of(0x88, 0x02, 1005 >> 8, 1005 & 0xff));
    setTimeout(() => this.#socket.terminate(), 20);
  }

  announceFocus(): void {
    if (!this.#isAdmitted) return;
    this.#send({ event: this.#model.focused ? "ms.remote.imeStart" : "ms.remote.imeEnd", data: "text" });
  }

  terminate(): void {
    this.#socket.terminate();
  }

  #showPrompt(): void {
    const model = this.#model;
    const { prompting } = model;
    const { promptMs, promptEndsMs } = model.options;
    if (prompting === "unshown") return this.#timeOut();
    // Only one prompt is shown at a time.
    if (model.prompt) return this.#refuse();
    const wait = (ms: number, answer: "allowed" | "denied" | "over") => setTimeout(() => prompt.end(answer), ms);
    const timer =
      prompting === "wait" ? wait(promptEndsMs, "over") : wait(promptMs, prompting === "accept" ? "allowed" : "denied");
    const prompt: OpenPrompt = {
      end: (answer) => {
        if (model.prompt !== prompt) return;
        clearTimeout(timer);
        model.prompt = null;
        this.#prompt = null;
        pushCapped(model.received.prompts, answer);
        model.emit("prompt-end", `the request of ${this.#name} is ${answer}`);
        if (answer === "allowed") this.#admit(model.options.traits.tokens ? model.newToken() : this.#name);
        else if (answer === "denied") this.#refuse();
        else if (answer === "over") this.#timeOut();
      },
    };
    model.prompt = prompt;
    this.#prompt = prompt;
    model.emit("prompt", `asks whether ${this.#name} may drive it`);
  }

  #admit(grant: string | null): void {
    const { tokens } = this.#model;
    const { traits } = this.#model.options;
    if (grant !== null) tokens.add(grant);
    this.#isAdmitted = true;
    const token = grant ?? (traits.newTokens ? this.#model.newToken() : null);
    const tokenField = token === null || !traits.tokens ? {} : { token: traits.numericToken ? Number(token) : token };
    const { query } = this.#request;
    const name = query.get("name");
    // What the client gave is repeated, as it gave it (home-assistant/core#67127).
    const client = {
      attributes: { name, token: query.get("token") ?? undefined },
      connectTime: Date.now(),
      deviceName: name ?? "Smart Device",
      id: "1",
      isHost: false,
    };
    this.#send({ event: "ms.channel.connect", data: { clients: [client], id: client.id, ...tokenField } });
    if (this.#model.focused && traits.announcesFocus) this.announceFocus();
  }

  #refuse(): void {
    this.#send({ event: "ms.channel.unauthorized" });
    this.#socket.close();
  }

  #timeOut(): void {
    this.#send({ event: "ms.channel.timeOut" });
    this.#socket.close();
  }

  #send(message: object): void {
    this.#socket.send(JSON.stringify(message));
  }

  #handle(text: string): void {
    if (this.#model.silent) return;
    const message = parseObject(text);
    const params = objectIn(message["params"]);
    if (message["method"] === "ms.remote.control") this.#handleControl(params);
    else if (message["method"] === "ms.channel.emit" && this.#isAdmitted) this.#handleEvent(params);
  }

  #handleControl(params: JsonObject): void {
    const model = this.#model;
    const { Cmd, DataOfCmd, TypeOfRemote } = params;
    if (model.options.traits.knowsNoKeys)
      return this.#send({ event: "ms.error", data: { message: "unrecognized method value : ms.remote.control" } });
    if (!this.#isAdmitted || model.options.traits.refusesKeys) {
      if (TypeOfRemote === "SendRemoteKey")
        pushCapped(model.received.keys, { code: String(DataOfCmd), how: "Click", outcome: "refused" });
      // The channel accepted the client, and refuses after its first key (3.4).
      if (this.#isAdmitted && this.#keys++ === 0) this.#refuse();
      return;
    }
    if (TypeOfRemote === "SendRemoteKey" && typeof DataOfCmd === "string" && KEY_COMMANDS.includes(String(Cmd))) {
      if (/^KEY_(HDMI\d|AV1)$/.test(DataOfCmd) && !model.options.traits.hdmiKeys) return;
      model.receiveKey(DataOfCmd, Cmd as ReceivedKey["how"]);
    }
    // Without a focused field the text is lost, without a response (3.3).
    if (TypeOfRemote === "SendInputString" && DataOfCmd === "base64" && model.focused) {
      model.text = Buffer.from(String(Cmd), "base64").toString();
      pushCapped(model.received.texts, model.text);
      model.emit("text", `typed ${JSON.stringify(model.text)}`);
    }
    if (TypeOfRemote === "SendInputEnd" && model.focused) {
      model.focused = false;
      this.announceFocus();
    }
  }

  #handleEvent({ event, data, to }: JsonObject): void {
    if (to !== "host") return;
    const model = this.#model;
    if (model.options.traits.refusesApps) return this.#refuse();
    if (event === "ed.installedApp.get" && model.options.traits.listsApps) {
      const listed = model.options.traits.listsApps === "empty" ? [] : APPS;
      const list = listed.map(({ id, name, type = 2 }) => ({
        appId: id,
        app_type: type,
        icon: "",
        is_lock: 0,
        name,
      }));
      this.#send({ event, from: "host", data: { data: list } });
    }
    if (event === "ed.apps.launch") {
      const { appId, metaTag } = objectIn(data);
      const isThere = model.launch(String(appId), "channel", typeof metaTag === "string" ? metaTag : "");
      this.#send({ event, from: "host", data: isThere ? model.options.traits.launchStatus : 404 });
    }
  }
}
