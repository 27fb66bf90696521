import { WebSocket } from "ws";

type Message = Record<string, unknown> & { payload?: Record<string, unknown> };

/** A client that says what it is told to and keeps all it hears: it knows nothing of what is right. */
export interface RawClient {
  readonly socket: WebSocket;
  readonly heard: readonly Message[];
  readonly closed: { code: number; reason: string } | null;
  send(message: unknown): void;
  /** The next message for which this holds, heard before or not, but never the same one twice. */
  next(wanted: (message: Message) => boolean): Promise<Message>;
  /** Sends, and returns the message that answers it. */
  ask(type: string, uri: string, payload?: unknown): Promise<Message>;
  /** The payload of the answer to a request. */
  request(path: string, payload?: unknown): Promise<Record<string, unknown> | undefined>;
  /** The id of a subscription, once its first answer is there. */
  subscribe(path: string): Promise<string>;
  /** The payload of the next push of a subscription. */
  pushed(id: string): Promise<Record<string, unknown> | undefined>;
}

export async function openClient(url: string): Promise<RawClient> {
  const socket = new WebSocket(url, { rejectUnauthorized: false });
  const heard: Message[] = [];
  const taken = new Set<Message>();
  let closed: RawClient["closed"] = null;
  let count = 0;
  socket.on("message", (data) => heard.push(JSON.parse(data.toString()) as Message));
  socket.on("close", (code, reason) => {
    closed = { code, reason: reason.toString() };
  });
  await new Promise<void>((resolve, reject) => {
    socket.once("open", () => resolve());
    socket.on("error", reject);
  });

  const next: RawClient["next"] = async (wanted) => {
    const deadline = Date.now() + 5000;
    for (;;) {
      const found = heard.find((message) => !taken.has(message) && wanted(message));
      if (found !== undefined) {
        taken.add(found);
        return found;
      }
      if (Date.now() > deadline) throw new Error(`nothing of the kind within 5 s among ${JSON.stringify(heard)}`);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  };
  const send = (message: unknown) => socket.send(JSON.stringify(message));
  const ask: RawClient["ask"] = async (type, uri, payload) => {
    count += 1;
    const id = `${type}_${count}`;
    send({ id, type, uri, payload });
    return await next((message) => message["id"] === id);
  };
  return {
    ...{ socket, heard, next, send, ask },
    get closed() {
      return closed;
    },
    request: async (path, payload) => (await ask("request", `ssap://${path}`, payload)).payload,
    async subscribe(path) {
      const answer = await ask("subscribe", `ssap://${path}`);
      if (answer["type"] !== "response") throw new Error(JSON.stringify(answer));
      return String(answer["id"]);
    },
    pushed: async (id) => (await next((message) => message["id"] === id)).payload,
  };
}
