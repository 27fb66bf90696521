/** Calls to a device over kept connections: reads are tried twice, commands sent once, and only to who has proven to be it. */
import { afterAll, describe, expect, test } from "bun:test";
import net from "node:net";
import { ZapdError } from "../../src/api/errors.ts";
import { sleep } from "../../src/system/sleep.ts";
import { bodyText, DeviceHttp, deadline, type Read } from "../../src/transport/http.ts";
import { failureOf } from "../support/failure.ts";
import { answer, type Heard, type HttpDevice, type Saying, startHttpDevice, until } from "../support/http-device.ts";
import { listening } from "../support/listening.ts";
import { passTime, wakeUp } from "../support/test-clock.ts";

const devices: HttpDevice[] = [];
const clients: DeviceHttp[] = [];
afterAll(async () => {
  for (const client of clients.splice(0)) client.close();
  await Promise.all(devices.splice(0).map((device) => device.stop()));
});

const never = new AbortController().signal;

async function device(say: (heard: Heard) => Saying): Promise<HttpDevice> {
  const started = await startHttpDevice(say);
  devices.push(started);
  return started;
}

function client(
  of: Pick<HttpDevice, "address">,
  prove?: (read: Read) => Promise<void>,
  timeout: number | (() => number) = 10_000,
  isOwnListener = false,
): DeviceHttp {
  const requestTimeoutMs = typeof timeout === "number" ? () => timeout : timeout;
  const platformHost = { requestTimeoutMs, isOwnListener: () => isOwnListener };
  const made = new DeviceHttp({ address: of.address, platformHost, ...(prove && { prove }) });
  clients.push(made);
  return made;
}

/** Proves by reading `/who`, which must say `me`. */
async function me(read: Read): Promise<void> {
  if (bodyText(await read("/who")) !== "me")
    throw new ZapdError("device_unreachable", "is not at its address any more");
}

const said = (heard: readonly Heard[]) => heard.map((one) => `${one.connection} ${one.method} ${one.target}`);

describe.concurrent("a read", () => {
  test("keeps its connection for the next", async () => {
    const tv = await device(() => answer(200, "yes"));
    const http = client(tv);
    expect(bodyText(await http.read("/a", never))).toBe("yes");
    await http.read("/b", never);
    expect(said(tv.heard)).toEqual(["1 GET /a", "1 GET /b"]);
  });

  test("that asks for its connection to be closed is the last on it, also where the device leaves it open", async () => {
    const tv = await device(() => answer(200));
    const http = client(tv);
    for (const path of ["/a", "/b"]) await http.read(path, never, { headers: { Connection: "close" } });
    expect(said(tv.heard)).toEqual(["1 GET /a", "2 GET /b"]);
    await until("nothing is left open", () => tv.open === 0);
  });

  test("is tried once more on a new connection when a kept one turns out to be dead", async () => {
    const tv = await device((heard) => (heard.connection === 1 && tv.heard.length > 1 ? "close" : answer(200, "yes")));
    const http = client(tv);
    await http.read("/a", never);
    expect(bodyText(await http.read("/b", never))).toBe("yes");
    expect(said(tv.heard)).toEqual(["1 GET /a", "1 GET /b", "2 GET /b"]);
  });

  test("is tried twice and not more, whether the device closes or resets", async () => {
    for (const saying of ["close", "reset"] as const) {
      const tv = await device(() => saying);
      expect(await failureOf(client(tv).read("/a", never))).toStartWith("device_error: ");
      expect(tv.heard.length).toBe(2);
    }
  });

  test("that was answered with garbage, a refusal or too much is not tried again", async () => {
    const garbage = await device(() => "SSH-2.0\r\n");
    expect(await failureOf(client(garbage).read("/a", never))).toContain("not HTTP");
    const refusal = await device(() => answer(503));
    expect((await client(refusal).read("/a", never)).status).toBe(503);
    const much = await device(() => answer(200, "x".repeat(2_000)));
    expect(await failureOf(client(much).read("/a", never, { maxBytes: 1_024 }))).toContain("more than 1 KiB");
    for (const tv of [garbage, refusal, much]) expect(tv.heard.length).toBe(1);
  });

  test("T5 never follows a redirect", async () => {
    const other = await device(() => answer(200));
    const tv = await device(() => answer(307, "", [`Location: http://127.0.0.1:${other.address.port}/`]));
    expect((await client(tv).read("/a", never)).status).toBe(307);
    expect(other.taken).toBe(0);
  });

  test("ends at the deadline, tries included, and leaves no connection behind", async () => {
    const tv = await device(() => "hang");
    const start = performance.now();
    expect(await failureOf(client(tv, undefined, 500).read("/a", never))).toBe(
      "device_timeout: did not answer within 0.5 s",
    );
    expect(performance.now() - start).toBeLessThan(4_000);
    await until("the connection is closed", () => tv.open === 0);
    expect(tv.heard.length).toBe(1);
  });

  test("ends when the caller leaves", async () => {
    const tv = await device(() => "hang");
    const caller = new AbortController();
    const reading = failureOf(client(tv, undefined, 3_000).read("/a", caller.signal));
    await until("the device is asked", () => tv.heard.length === 1);
    caller.abort(new ZapdError("device_busy", "gone"));
    expect(await reading).toBe("device_busy: gone");
    await until("the connection is closed", () => tv.open === 0);
  });

  test("R3 waits while three others are on their way, but lets a command pass", async () => {
    const tv = await device((heard) => (heard.target === "/slow" ? "hang" : answer(200, "me")));
    let timeoutMs = 1_000;
    const http = client(tv, me, () => timeoutMs);
    const slow = [1, 2, 3].map(() => failureOf(http.read("/slow", never)));
    await until("the device is asked", () => tv.heard.length === 3);
    const caller = new AbortController();
    timeoutMs = 200;
    const next = http.read("/next", never).catch((error: unknown) => error);
    timeoutMs = 1_000;
    const left = failureOf(http.read("/left", caller.signal));
    const gone = new AbortController();
    const [unsaid, late] = [gone.signal, AbortSignal.abort()].map((signal) => failureOf(http.read("/gone", signal)));
    gone.abort();
    for (const one of [unsaid, late]) expect(await one).toStartWith("device_timeout: ");
    await http.command("/press", never);
    caller.abort(new ZapdError("device_busy", "gone"));
    expect(await left).toBe("device_busy: gone");
    expect(tv.heard.map((one) => one.target)).toEqual(["/slow", "/slow", "/slow", "/who", "/press"]);
    for (const one of slow) expect(await one).toStartWith("device_timeout");
    expect(await next).toMatchObject({ code: "device_timeout", phase: "connect", reason: "timeout" });
    expect(tv.heard.length).toBe(5);
  });

  test("T5 never goes to zapd's own door", async () => {
    const tv = await device(() => answer(200));
    const http = client(tv, undefined, 1_000, true);
    expect(await failureOf(http.read("/a", never))).toContain("the address of zapd itself");
    expect(await failureOf(http.command("/a", never))).toContain("the address of zapd itself");
    expect(tv.taken).toBe(0);
  });
});

describe.concurrent("a command", () => {
  const byPath = (paths: Record<string, Saying>) => (heard: Heard) => paths[heard.target] ?? answer(200);

  test("is never sent twice, whatever becomes of its connection", async () => {
    for (const saying of ["close", "reset", "hang", "SSH-2.0\r\n"] as const) {
      const tv = await device(byPath({ "/who": answer(200, "me"), "/press": saying }));
      const http = client(tv, me, 1_500);
      expect(await failureOf(http.command("/press", never))).toMatch(/^device_(error|timeout): /);
      expect(tv.heard.filter((one) => one.target === "/press").length).toBe(1);
    }
  });

  test("is not sent twice over a kept connection that turns out to be dead", async () => {
    let presses = 0;
    const tv = await device((heard) => {
      if (heard.target === "/who") return answer(200, "me");
      return ++presses > 1 ? "close" : answer(200);
    });
    const http = client(tv, me);
    await http.command("/press", never);
    expect(await failureOf(http.command("/press", never))).toStartWith("device_error");
    expect(presses).toBe(2);
  });

  test("has the whole time for its own answer, however long the proof before it has taken", async () => {
    const slow = (heard: Heard): Saying => ({
      answer: "",
      later: answer(200, heard.target === "/who" ? "me" : ""),
      afterMs: 1_200,
    });
    const tv = await device(slow);
    expect((await client(tv, me, 2_000).command("/press", never)).status).toBe(200);
    expect(tv.heard.map((one) => one.target)).toEqual(["/who", "/press"]);
  });

  test("is not sent over a kept connection whose end has come, and is about to be read", async () => {
    const tv = await device((heard) => answer(200, heard.target === "/who" ? "me" : ""));
    const http = client(tv, me);
    for (const path of ["/1", "/2"]) await http.command(path, never);
    tv.hangUp();
    await http.command("/3", never);
    expect(said(tv.heard).slice(2)).toEqual(["1 POST /2", "2 GET /who", "3 POST /3"]);
  });

  test("to a device that proves nothing has a connection of its own, as a kept one may be about to close", async () => {
    const tv = await device(() => answer(200));
    const http = client(tv);
    await http.read("/a", never);
    for (const path of ["/b", "/c"]) await http.command(path, never);
    await http.read("/d", never);
    expect(said(tv.heard)).toEqual(["1 GET /a", "2 POST /b", "3 POST /c", "3 GET /d"]);
  });

  test("is answered by any status, also before its body is here", async () => {
    const tv = await device(byPath({ "/a": answer(404), "/b": "HTTP/1.1 202 Yes\r\n\r\n" }));
    const http = client(tv);
    expect((await http.command("/a", never)).status).toBe(404);
    expect((await http.command("/b", never)).status).toBe(202);
    expect((await http.command("/c", never)).status).toBe(200);
    expect(tv.heard.map((one) => one.method)).toEqual(["POST", "POST", "POST"]);
  });
});

describe.concurrent("connections", () => {
  test("are closed by close, also those in use", async () => {
    const tv = await device((heard) => (heard.target === "/slow" ? "hang" : answer(200)));
    let timeoutMs = 5_000;
    const http = client(tv, undefined, () => timeoutMs);
    await Promise.all(["/1", "/2", "/3"].map((path) => http.read(path, never)));
    timeoutMs = 300;
    const slow = failureOf(http.read("/slow", never));
    http.close();
    await slow;
    timeoutMs = 5_000;
    await until("all are closed", () => tv.open === 0);
    await http.read("/after", never);
    await until("one that was opened afterwards is not kept", () => tv.open === 0);
  });

  test("are kept four at most, and not for ever", async () => {
    const tv = await device(() => answer(200));
    const http = client(tv);
    await Promise.all(Array.from({ length: 10 }, (_, at) => http.command(`/${at}`, never)));
    await until("the others are closed", () => tv.open <= 4);
    expect(tv.open).toBe(4);
  });

  test("are closed, the kept ones too, when the device leaves a request unanswered", async () => {
    const tv = await device(({ target }) => (target === "/slow" ? "hang" : answer(200)));
    let timeoutMs = 5_000;
    const http = client(tv, undefined, () => timeoutMs);
    await Promise.all([http.read("/1", never), http.read("/2", never)]);
    timeoutMs = 100;
    expect(await failureOf(http.read("/slow", never))).toStartWith("device_timeout");
    await until("both are closed", () => tv.open === 0, 2_000);
  });

  test("of a request that cannot be written are kept for the next, and closed by close", async () => {
    const tv = await device(() => answer(200));
    const http = client(tv);
    const unwritable = { headers: { SOAPACTION: '"urn:é:service"' }, body: "<a/>" };
    const refused = "internal_error: A request to a device contained invalid characters";
    expect(await failureOf(http.command("/a", never, unwritable))).toBe(refused);
    expect(await failureOf(http.read("/b", never, unwritable))).toBe(refused);
    await http.read("/c", never);
    expect(said(tv.heard)).toEqual(["1 GET /c"]);
    http.close();
    await until("all are closed", () => tv.open === 0, 2_000);
  });

  test("of an exchange alone are its own, announced as such, and closed", async () => {
    const tv = await device(() => answer(200));
    const http = client(tv);
    await http.read("/kept", never);
    await http.exchangeOnce({ method: "GET", path: "/alone", wanted: "all", maxBytes: 100 }, never);
    expect(tv.heard[1]?.connection).toBe(2);
    expect(tv.heard[1]?.head).toContain("\r\nConnection: close");
    await until("only the kept one is open", () => tv.open === 1);
  });
});

test.concurrent("of a device that serves one connection at a time, the idle ones make way for one that is not answered", async () => {
  const waiting: net.Socket[] = [];
  let served: net.Socket | undefined;
  const serve = () => {
    served ??= waiting.shift()?.on("close", () => {
      served = undefined;
      serve();
    });
    served?.on("data", (bytes) => served?.write(answer(200, String(bytes).split(" ")[1])));
  };
  const server = net.createServer((socket) => {
    waiting.push(socket);
    if (!served) serve();
  });
  const { port, stop } = await listening(server);
  const http = client({ address: { host: "127.0.0.1", port } }, undefined, 5_000);
  const bodies = await Promise.all(["/a", "/b"].map(async (path) => bodyText(await http.read(path, never))));
  expect(bodies).toEqual(["/a", "/b"]);
  http.close();
  await stop();
});

describe.concurrent("waiting", () => {
  test("a deadline says how long it was, and the caller's own end comes first", async () => {
    const late = deadline(20, never);
    await Bun.sleep(60);
    expect(late.reason).toMatchObject({ code: "device_timeout", message: "did not answer within 0 s" });
    const caller = new AbortController();
    const within = deadline(1_000, caller.signal);
    caller.abort("gone");
    expect(within.reason).toBe("gone");
  });

  test("a device that takes no connection is unreachable, however short the time for an answer", async () => {
    // It accepts, but does not speak TLS.
    const { address } = await device(() => "hang");
    const platformHost = { requestTimeoutMs: () => 100, isOwnListener: () => false };
    const read = new DeviceHttp({ address, platformHost, certificate: null }).read("/a", never);
    expect(await failureOf(read)).toMatch(/^device_unreachable: .* \(no answer within 0\.05 s\)$/);
  });

  test("a rest ends with its signal, at once", async () => {
    const caller = new AbortController();
    const resting = sleep(10_000, caller.signal).catch((reason: unknown) => reason);
    caller.abort("gone");
    expect(await resting).toBe("gone");
    expect(await sleep(10_000, AbortSignal.abort("already")).catch((reason: unknown) => reason)).toBe("already");
  });
});

describe.concurrent("proof of who is there", () => {
  const sure = (heard: Heard) => (heard.target === "/who" ? answer(200, "me") : answer(200));

  test("comes before a command on a new connection, and holds on that connection", async () => {
    const tv = await device(sure);
    const http = client(tv, me);
    await http.command("/1", never);
    await http.command("/2", never);
    expect(said(tv.heard)).toEqual(["1 GET /who", "1 POST /1", "1 POST /2"]);
    tv.hangUp();
    await until("the hang-up has arrived", () => tv.open === 0);
    await Bun.sleep(20);
    await http.command("/3", never);
    // It has closed one soon after an answer, and might close this one while the command is on its way.
    expect(said(tv.heard).slice(3)).toEqual(["2 GET /who", "3 POST /3"]);
  });

  test("comes again once the connection has rested", async () => {
    const tv = await device(sure);
    const http = client(tv, me);
    await http.command("/1", never);
    await Bun.sleep(2_100);
    await http.command("/2", never);
    expect(said(tv.heard)).toEqual(["1 GET /who", "1 POST /1", "1 GET /who", "1 POST /2"]);
  });

  test("is not taken from a read", async () => {
    const tv = await device(sure);
    const http = client(tv, me);
    await http.read("/state", never);
    await http.command("/1", never);
    expect(said(tv.heard)).toEqual(["1 GET /state", "1 GET /who", "1 POST /1"]);
  });

  test("is asked of a device that closes after each answer before each command, which follows it at once", async () => {
    const close = (heard: Heard): Saying => ({
      thenClose: sure(heard).replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"),
    });
    const tv = await device(close);
    const http = client(tv, me);
    await http.command("/1", never);
    await http.command("/2", never);
    expect(said(tv.heard)).toEqual(["1 GET /who", "2 POST /1", "3 GET /who", "4 POST /2"]);
  });

  test("is asked of a device that closes after every second answer on a new connection, once a command was lost", async () => {
    const tv = await device((heard) => {
      const answered = tv.heard.filter(({ connection }) => connection === heard.connection).length - 1;
      return answered < 2 ? sure(heard) : "close";
    });
    const http = client(tv, me);
    await http.read("/state", never, { proven: true });
    expect(await failureOf(http.command("/lost", never))).toStartWith("device_error");
    for (const proven of [true, false, true]) {
      await http.read("/state", never, { proven });
      await http.command("/press", never);
    }
    expect(tv.heard.filter(({ method }) => method === "POST").map(({ target }) => target)).toEqual([
      "/lost",
      ...Array(3).fill("/press"),
    ]);
  });

  test("over a kept connection that is dead is asked for again on a new one", async () => {
    let whos = 0;
    const tv = await device((heard) => (heard.target === "/who" && ++whos === 1 ? "close" : sure(heard)));
    const http = client(tv, me);
    await http.read("/state", never);
    await http.command("/1", never);
    expect(said(tv.heard)).toEqual(["1 GET /state", "1 GET /who", "2 GET /who", "2 POST /1"]);
  });

  test("whose caller leaves just after it closes its connection, too", async () => {
    const tv = await device(sure);
    const caller = new AbortController();
    const http = client(tv, (read) => me(read).then(() => caller.abort(new ZapdError("device_error", "left"))));
    expect(await failureOf(http.command("/1", caller.signal))).toBe("device_error: left");
    await until("nothing is left open", () => tv.open === 0, 2_000);
    expect(said(tv.heard)).toEqual(["1 GET /who"]);
  });

  test("that fails lets nothing be sent, and closes its connection", async () => {
    for (const who of [answer(200, "another"), answer(500), "close", "hang", "SSH\r\n"] as const) {
      const tv = await device((heard) => (heard.target === "/who" ? who : answer(200)));
      const http = client(tv, me, 300);
      expect(await failureOf(http.command("/press", never))).not.toBe("none");
      expect(tv.heard.filter((one) => one.method === "POST")).toEqual([]);
      http.close();
      await until(`nothing is left open after ${JSON.stringify(who)}`, () => tv.open === 0);
    }
  });
});

test("a kept connection is not used when it has been idle for long, as the network may be gone: a new one fails sooner", async () => {
  const tv = await device(() => answer(200));
  const http = client(tv);
  for (const idleMs of [0, 3_000, 5_000]) {
    passTime(idleMs);
    await http.read("/a", never);
  }
  expect(said(tv.heard)).toEqual(["1 GET /a", "1 GET /a", "2 GET /a"]);
});

test("a command that is old after a sleep is not sent, and its connection is closed with the others", async () => {
  const tv = await device((heard) => (heard.target === "/who" ? answer(200, "me") : answer(200)));
  const http = client(tv, async (read) => {
    await me(read);
    passTime(60_000);
  });
  expect(await failureOf(http.command("/press", never))).toStartWith("device_busy: did not get the command");
  http.close();
  await until("nothing is left open", () => tv.open === 0, 2_000);
  expect(said(tv.heard)).toEqual(["1 GET /who"]);
  wakeUp();
});
