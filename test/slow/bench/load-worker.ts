/** The load client, a process of its own: `Load` is its other end. */
import { createSocket } from "node:dgram";
import { Connection, type Place, requestOf } from "./connection.ts";
import { obey, Worker } from "./worker.ts";

/** What is asked for: one of these after the other, over and over. */
export interface Call {
  readonly method: string;
  readonly path: string;
  readonly body?: string;
}

/** Where to ask, what, and over how many connections. */
export interface Target {
  readonly place: Place;
  readonly calls: readonly Call[];
  readonly connections: number;
}

/** What a load came to. */
export interface LoadResult {
  readonly done: number;
  readonly failed: number;
  readonly wall_ms: number;
}

const orders = { run, burst, pace, unpace, steps, search };
export type LoadOrders = typeof orders;

export function startLoad(): Worker<LoadOrders> {
  return new Worker<LoadOrders>(import.meta.path);
}

const bytesOf = ({ place, calls }: Pick<Target, "place" | "calls">) =>
  calls.map(({ method, path, body }) => requestOf(method, path, `${place.host}:${place.port}`, body));

const openAll = ({ place, connections }: Target) =>
  Promise.all(Array.from({ length: connections }, () => Connection.open(place)));

/** As fast as each connection goes, until the count is done or the time (milliseconds) is over. */
async function run(given: {
  readonly targets: readonly Target[];
  readonly count?: number;
  readonly for_ms?: number;
}): Promise<LoadResult> {
  const lanes = await Promise.all(
    given.targets.map(async (target) => ({ requests: bytesOf(target), connections: await openAll(target) })),
  );
  const began = performance.now();
  const until = began + (given.for_ms ?? Number.POSITIVE_INFINITY);
  const count = given.count ?? Number.POSITIVE_INFINITY;
  let sent = 0;
  let done = 0;
  let failed = 0;
  const drive = (connection: Connection, requests: readonly Uint8Array[], first: number) =>
    new Promise<void>((resolve) => {
      let turn = first;
      const next = () => {
        const request = requests[turn++ % requests.length];
        if (sent >= count || performance.now() >= until || !request) return resolve();
        sent++;
        connection.send(request, ({ status }) => {
          done++;
          if (status < 200 || status > 299) failed++;
          // A broken connection would fail without end.
          if (status === 0) return resolve();
          next();
        });
      };
      next();
    });
  const connections = lanes.flatMap((lane) => lane.connections);
  await Promise.all(
    lanes.flatMap((lane) => lane.connections.map((connection, at) => drive(connection, lane.requests, at))),
  );
  const wall_ms = performance.now() - began;
  for (const connection of connections) connection.close();
  return { done, failed, wall_ms };
}

/**
 * Every target at the same moment, over connections that were open before. Answers with the latency of each that counts,
 * in milliseconds; those that are `left` are hung up on when the others are done.
 */
async function burst(given: { readonly targets: readonly (Target & { readonly left?: boolean })[] }) {
  const opened = await Promise.all(
    given.targets.map(async (target) => ({ target, connections: await openAll(target), request: bytesOf(target)[0] })),
  );
  const answers = opened.flatMap(({ target, connections, request = Buffer.alloc(0) }) =>
    connections.map((connection) => ({ left: target.left === true, answer: connection.exchange(request) })),
  );
  const ended = await Promise.all(answers.filter((one) => !one.left).map((one) => one.answer));
  for (const { connections } of opened) for (const connection of connections) connection.close();
  const failed = ended.filter(({ status }) => status < 200 || status > 299).length;
  return { failed, latencies_ms: ended.map(({ ms }) => ms) };
}

let stopPacing: (() => Promise<{ done: number; failed: number; per_s: number }>) | undefined;

/** A steady rate beside what is measured, until `unpace`. What a connection cannot take in time is sent later, never dropped. */
async function pace(given: Target & { readonly per_s: number }): Promise<void> {
  const requests = bytesOf(given);
  const idle = await openAll(given);
  const all = [...idle];
  const began = performance.now();
  let sent = 0;
  let done = 0;
  let failed = 0;
  const pump = () => {
    const due = Math.floor(((performance.now() - began) * given.per_s) / 1_000);
    for (let connection = idle.pop(); connection; connection = idle.pop()) {
      const request = requests[sent % requests.length];
      if (sent >= due || !request) return void idle.push(connection);
      sent++;
      const used = connection;
      used.send(request, ({ status }) => {
        done++;
        if (status < 200 || status > 299) failed++;
        if (status !== 0) idle.push(used);
      });
    }
  };
  const timer = setInterval(pump, 1);
  stopPacing = async () => {
    clearInterval(timer);
    for (const connection of all) connection.close();
    return { done, failed, per_s: (done / (performance.now() - began)) * 1_000 };
  };
}

async function unpace(_: object): Promise<{ done: number; failed: number; per_s: number } | null> {
  const result = (await stopPacing?.()) ?? null;
  stopPacing = undefined;
  return result;
}

/** The bare timer: one request straight to a set at each step of an absolute schedule, and nothing else in the process. */
async function steps(given: {
  readonly place: Place;
  readonly call: Call;
  readonly steps: number;
  readonly delay_ms: number;
}) {
  const connection = await Connection.open(given.place);
  const [request = Buffer.alloc(0)] = bytesOf({ place: given.place, calls: [given.call] });
  // Its first exchange opens the way at both ends, and is none of the steps.
  await connection.exchange(request);
  const began = performance.now();
  for (let step = 0; step < given.steps; step++) {
    const wait = began + step * given.delay_ms - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    await connection.exchange(request);
  }
  connection.close();
}

/** A search as bare as it can be: milliseconds from the question to the answer of the set with this serial, on loopback. */
function search(given: { readonly serial: string; readonly target: string; readonly within_ms: number }) {
  return new Promise<number>((resolve, reject) => {
    const socket = createSocket("udp4");
    const question = `M-SEARCH * HTTP/1.1\r\nHOST: 239.255.255.250:1900\r\nMAN: "ssdp:discover"\r\nMX: 1\r\nST: ${given.target}\r\n\r\n`;
    const timer = setTimeout(() => {
      socket.close();
      reject(new Error(`the set ${given.serial} did not answer a search`));
    }, given.within_ms);
    socket.bind(0, "127.0.0.1", () => {
      socket.setMulticastInterface("127.0.0.1");
      const began = performance.now();
      socket.on("message", (bytes) => {
        if (!bytes.toString("latin1").includes(given.serial)) return;
        clearTimeout(timer);
        socket.close();
        resolve(performance.now() - began);
      });
      socket.send(question, 1900, "239.255.255.250");
    });
  });
}

if (import.meta.main) obey(orders);
