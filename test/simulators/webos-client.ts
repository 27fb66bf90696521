/** A raw SSAP client. */
import { WebSocket } from "ws";
import type { WebosSimulator } from "../../src/simulators/webos.ts";
import { until } from "../support/http-device.ts";

type Message = Record<string, unknown> & { payload?: Record<string, unknown> };

type RawClient = Awaited<ReturnType<typeof openClient>>;

/** A client that sends what a test gives it and keeps every message. */
async function openClient(url: string) {
  const socket = new WebSocket(url, { rejectUnauthorized: false });
  const heard: Message[] = [];
  const taken = new Set<Message>();
  let closed: { code: number; reason: string } | null = null;
  let count = 0;
  socket.on("message", (data) => heard.push(JSON.parse(data.toString()) as Message));
  socket.on("close", (code, reason) => {
    closed = { code, reason: reason.toString() };
  });
  await new Promise<void>((resolve, reject) => {
    socket.once("open", () => resolve());
    socket.on("error", reject);
  });

  /** The next message that matches, received before or later, but never the same one twice. */
  const next = async (wanted: (message: Message) => boolean): Promise<Message> => {
    const find = () => heard.find((message) => !taken.has(message) && wanted(message));
    await until("a message matches", () => find() !== undefined, 20_000, 2);
    const found = find() ?? {};
    taken.add(found);
    return found;
  };
  const send = (message: unknown) => socket.send(JSON.stringify(message));
  /** Sends a request and returns its response message. */
  const ask = async (type: string, uri: string, payload?: unknown): Promise<Message> => {
    count += 1;
    const id = `${type}_${count}`;
    send({ id, type, uri, payload });
    return await next((message) => message["id"] === id);
  };
  return {
    socket,
    heard,
    next,
    send,
    ask,
    get closed(): { code: number; reason: string } | null {
      return closed;
    },
    /** The payload of the response to a request. */
    request: async (path: string, payload?: unknown) => (await ask("request", `ssap://${path}`, payload)).payload,
    /** Subscribes; resolves with the id after the first response. */
    async subscribe(path: string) {
      const answer = await ask("subscribe", `ssap://${path}`);
      if (answer["type"] !== "response") throw new Error(JSON.stringify(answer));
      return String(answer["id"]);
    },
    /** The payload of the next push of a subscription. */
    pushed: async (id: string) => (await next((message) => message["id"] === id)).payload,
  };
}

/** An open connection that has sent nothing yet. */
export async function connect(simulator: WebosSimulator, port: "secure" | "plain" = "secure"): Promise<RawClient> {
  return await openClient(urlOf(simulator, port));
}

export function urlOf({ host, ports }: WebosSimulator, port: "secure" | "plain" = "secure"): string {
  return port === "secure" ? `wss://${host}:${ports.secure}/` : `ws://${host}:${ports.plain}/`;
}

/** A registered connection with the given permissions, or with all that an unsigned manifest may ask for. */
export async function paired(simulator: WebosSimulator, permissions: readonly string[] = EVERYTHING) {
  const client = await connect(simulator, simulator.ports.secure === null ? "plain" : "secure");
  client.send({ id: "register_0", type: "register", payload: manifest(permissions) });
  await client.next((message) => message["type"] === "registered");
  return client;
}

export function manifest(permissions: readonly string[] = EVERYTHING) {
  return {
    forcePairing: false,
    pairingType: "PROMPT",
    manifest: { manifestVersion: 1, appVersion: "1.1", permissions },
  };
}

/** The outer permission list of smart-tvs.md 2.3. */
export const EVERYTHING: readonly string[] = `
  LAUNCH LAUNCH_WEBAPP APP_TO_APP CLOSE CONTROL_AUDIO CONTROL_DISPLAY CONTROL_POWER
  CONTROL_TV_SCREEN CONTROL_INPUT_TV CONTROL_INPUT_MEDIA_PLAYBACK CONTROL_INPUT_JOYSTICK
  CONTROL_INPUT_TEXT CONTROL_MOUSE_AND_KEYBOARD READ_INSTALLED_APPS READ_RUNNING_APPS
  READ_APP_STATUS READ_INPUT_DEVICE_LIST READ_NETWORK_STATE READ_POWER_STATE READ_CURRENT_CHANNEL
  READ_TV_CHANNEL_LIST READ_SETTINGS READ_COUNTRY_INFO WRITE_NOTIFICATION_TOAST
`
  .trim()
  .split(/\s+/);
