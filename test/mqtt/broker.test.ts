/** A connection to a broker: why it fails, who takes it over, and which packets it refuses. */
import { afterAll, beforeAll, describe, expect, spyOn, test } from "bun:test";
import { chmodSync, symlinkSync, writeFileSync } from "node:fs";
import net from "node:net";
import { join } from "node:path";
import { configOf } from "../../src/config/schema.ts";
import { type Broker, connectBus } from "../../src/mqtt/broker.ts";
import { type Bus, BusError } from "../../src/mqtt/bus.ts";
import { brokerOf, caOf, type MqttSettings } from "../../src/mqtt/settings.ts";
import { testFolder } from "../support/folder.ts";
import { until } from "../support/http-device.ts";
import { listening } from "../support/listening.ts";
import { Mosquitto, noMosquitto } from "../support/mosquitto.ts";

const plainAt = (port: number): Broker => ({ host: "127.0.0.1", port, secure: false, url: `mqtt://127.0.0.1:${port}` });

/** Why there is no connection. */
async function failure(connecting: Promise<Bus>): Promise<BusError> {
  const error = await connecting.then(() => null).catch((why: unknown) => why);
  if (!(error instanceof BusError)) throw new Error(`it should have failed: ${error}`);
  return error;
}

/** Whatever answers at a port of its own. */
async function answering(answer: (socket: net.Socket) => void) {
  const { port, stop } = await listening(net.createServer(answer));
  return { broker: plainAt(port), [Symbol.dispose]: () => void stop() };
}

const folder = testFolder();

describe("files of the settings", () => {
  const settings = (given: Partial<MqttSettings>) => configOf({ mqtt: { url: "mqtts://broker.lan", ...given } }).mqtt;
  const why = (given: Partial<MqttSettings>) => {
    try {
      return brokerOf(settings(given), {});
    } catch (error) {
      if (error instanceof BusError) return { reason: error.reason, message: error.message, hint: error.hint };
      throw error;
    }
  };

  test("only its owner may read a password file, and the environment takes precedence", () => {
    const path = join(folder, "a password");
    writeFileSync(path, "open sesame\n", { mode: 0o644 });
    chmodSync(path, 0o644);
    expect(why({ password_file: path })).toMatchObject({
      reason: "settings",
      message: `Other users can read the file of mqtt.password_file, ${path}`,
      hint: `Run chmod 600 "${path}"`,
    });
    chmodSync(path, 0o600);
    const username = "lab";
    expect(why({ username, password_file: path })).toMatchObject({ password: "open sesame", port: 8883, secure: true });
    expect(brokerOf(settings({ username, password_file: path }), { ZAPD_MQTT_PASSWORD: "other" }).password).toBe(
      "other",
    );
    expect(why({ password_file: path })).toMatchObject({
      reason: "settings",
      hint: expect.stringContaining("zapd config set mqtt.username NAME"),
    });
    const plain = brokerOf(settings({ url: "mqtt://[::1]" }), {});
    expect(plain).toMatchObject({ host: "::1", port: 1883, secure: false, username: undefined, password: undefined });
    // Anyone may read a certificate, but not a key.
    const cert = join(folder, "anyone.pem");
    writeFileSync(cert, "anyone", { mode: 0o644 });
    const files = { url: "mqtts://broker.lan:1234", username, ca: cert, cert, key: path };
    expect(brokerOf(settings(files), {})).toEqual({
      host: "broker.lan",
      port: 1234,
      secure: true,
      url: "mqtts://broker.lan:1234",
      username,
      password: undefined,
      ca: "anyone",
      cert: "anyone",
      key: "open sesame\n",
    });
    expect(why({ ...files, key: cert })).toMatchObject({ reason: "settings", hint: `Run chmod 600 ${cert}` });
    chmodSync(cert, 0o666);
    expect(why(files)).toMatchObject({ reason: "settings", hint: expect.stringContaining("chmod") });
  });

  test("a file that is not one of a password alone is not sent, nor is the token of /mcp", () => {
    const path = join(folder, "other");
    const given = { username: "lab", password_file: path };
    for (const text of ["", "\n"]) {
      writeFileSync(path, text, { mode: 0o600 });
      expect(why(given)).toMatchObject({ message: `The file of mqtt.password_file, ${path}, is empty` });
    }
    for (const text of [
      '{\n "version": 1,\n "credentials": {}\n}\n',
      '[dev]\nvendor_password = "a"',
      "a\tb",
      "a\n\n",
    ]) {
      writeFileSync(path, text);
      expect(why(given)).toMatchObject({
        reason: "settings",
        message: `The file of mqtt.password_file, ${path}, is not one of a password alone`,
      });
    }
    for (const text of ["open sesame\r\n", "\ufeffopen sesame\n"]) {
      writeFileSync(path, text);
      expect(why(given)).toMatchObject({ password: "open sesame" });
    }
    writeFileSync(path, Buffer.from("\ufeffopen sesame\n", "utf16le"));
    expect(why(given)).toMatchObject({ message: "The file of mqtt.password_file cannot be used: it is not UTF-8" });
    const token = join(folder, "mcp.token");
    writeFileSync(token, `${"t".repeat(43)}\n`, { mode: 0o600 });
    symlinkSync(token, join(folder, "link"));
    writeFileSync(join(folder, "MCP.token"), "t\n", { mode: 0o600 });
    for (const file of [token, join(folder, "link"), join(folder, "MCP.token")])
      expect(why({ ...given, password_file: file })).toMatchObject({ reason: "settings" });
  });

  test("a missing file is reported with its setting", () => {
    expect(why({ ca: join(folder, "none.pem") })).toMatchObject({ message: expect.stringContaining("mqtt.ca") });
    expect(why({ cert: join(folder, "none.pem") })).toMatchObject({
      hint: "Set both for a client certificate, or neither",
    });
    const forPackages = () => caOf(settings({ ca: join(folder, "none.pem") }));
    expect(forPackages).toThrow(expect.objectContaining({ code: "config_invalid", hint: expect.any(String) }));
    expect(why({ password_file: folder })).toMatchObject({ reason: "settings" });
  });
});

describe("what answers is not a broker, or a broker that breaks the limits", () => {
  test("nothing, another program, one that hangs up", async () => {
    using page = await answering((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
    using silent = await answering((socket) => socket.destroy());
    expect((await failure(connectBus(page.broker, { clientId: "a" }))).reason).toMatch(/protocol|closed/);
    expect((await failure(connectBus(silent.broker, { clientId: "a" }))).reason).toMatch(/closed|unreachable/);
    expect((await failure(connectBus(plainAt(1), { clientId: "a" }))).reason).toBe("unreachable");
    const { hint } = await failure(connectBus({ ...page.broker, secure: true }, { clientId: "a" }));
    expect(hint).toContain("TLS port");
  });

  test("a broker with only MQTT 3.1.1 is used with that, and refuses a login with that", async () => {
    const levels: (number | string)[] = [];
    let answer = 0;
    using old = await answering((socket) =>
      socket.once("data", (bytes) => {
        // The level stands behind the header of two bytes and the name of the protocol.
        const level = bytes[8] ?? 0;
        levels.push(level);
        socket.write(Buffer.from(level === 4 ? [0x20, 2, 0, answer] : [0x20, 2, 0, 1]));
      }),
    );
    const bus = await connectBus(old.broker, { clientId: "a" });
    expect(levels).toEqual([5, 4]);
    await bus.close();
    answer = 5;
    expect((await failure(connectBus(old.broker, { clientId: "a" }))).reason).toBe("login");
  });

  test("a broker that reports another client with our id", async () => {
    using busy = await answering((socket) =>
      socket.once("data", () => socket.write(Buffer.from([0x20, 3, 0, 0, 0, 0xe0, 2, 0x8e, 0]))),
    );
    const { reason, hint } = await (await connectBus(busy.broker, { clientId: "a" })).ended;
    expect([reason, hint]).toEqual([
      "taken_over",
      "Give each daemon its own site: zapd config set mqtt.site NAME. Then run zapd config reload",
    ]);
  });

  test("a sent message leaves no listener for the end of the connection", async () => {
    using any = await answering((socket) => socket.once("data", () => socket.write(Buffer.from([0x20, 3, 0, 0, 0]))));
    const bus = await connectBus(any.broker, { clientId: "a" });
    const waiting = spyOn(bus.ended, "then");
    for (const topic of ["a", "b", "c"]) await bus.publish(topic, "{}");
    expect(waiting).not.toHaveBeenCalled();
    await bus.close();
  });

  test("a broker with small limits is sent no more at a time", async () => {
    let publishes = 0;
    using small = await answering((socket) => {
      socket.once("data", () => {
        // Two messages in flight, packets of 200 bytes.
        socket.write(Buffer.from([0x20, 11, 0, 0, 8, 0x21, 0, 2, 0x27, 0, 0, 0, 200]));
        socket.on("data", (bytes) => {
          publishes += bytes.toString("latin1").split("one of five").length - 1;
        });
      });
    });
    const bus = await connectBus(small.broker, { clientId: "a" });
    const five = Promise.allSettled(Array.from({ length: 5 }, () => bus.publish("t", "one of five", { qos: 1 })));
    expect(await bus.publish("t", "x".repeat(200)).catch((why: BusError) => [why.reason, why.hint])).toEqual([
      "too_large",
      expect.stringContaining("max_packet_size"),
    ]);
    await until("two are in flight", () => publishes >= 2);
    await Bun.sleep(50);
    expect(publishes).toBe(2);
    await bus.close();
    await five;
  });

  test("a broker that answers no ping is reported as silent", async () => {
    // It sets a keep-alive of one second.
    const connack = Buffer.from([0x20, 6, 0, 0, 3, 0x13, 0, 1]);
    using mute = await answering((socket) => socket.once("data", () => socket.write(connack)));
    const bus = await connectBus(mute.broker, { clientId: "a" });
    expect(await bus.ended).toMatchObject({
      reason: "unreachable",
      hint: "Check the broker, and the network between it and zapd",
    });
  });

  test("a broker that closes the connection for a subscription has ended it, and is asked to allow zapd's topics", async () => {
    using strict = await answering((socket) =>
      socket.once("data", () => {
        socket.write(Buffer.from([0x20, 3, 0, 0, 0]));
        socket.once("data", () => socket.end(Buffer.from([0xe0, 2, 0x87, 0])));
      }),
    );
    const bus = await connectBus(strict.broker, { clientId: "a" });
    await expect(bus.subscribe(["t"], () => {})).rejects.toMatchObject({ reason: "closed" });
    expect(await bus.ended).toMatchObject({ reason: "closed", hint: expect.stringContaining("ACL") });
  });

  test("a subscription of which the broker forbids a part is left", async () => {
    const packets: number[] = [];
    using strict = await answering((socket) =>
      socket.once("data", () => {
        socket.write(Buffer.from([0x20, 3, 0, 0, 0]));
        socket.on("data", ([type = 0, , ...rest]: Buffer) => {
          packets.push(type);
          const id = rest.slice(0, 2);
          if (type === 0x82) socket.write(Buffer.from([0x90, 5, ...id, 0, 0x87, 1]));
          if (type === 0xa2) socket.write(Buffer.from([0xb0, 5, ...id, 0, 0, 0]));
        });
      }),
    );
    const bus = await connectBus(strict.broker, { clientId: "a" });
    await expect(bus.subscribe(["a", "b"], () => {})).rejects.toMatchObject({ reason: "forbidden" });
    expect(packets).toEqual([0x82, 0xa2]);
    await bus.close();
  });

  test("a request that the broker does not acknowledge ends in time, and with its signal", async () => {
    using slow = await answering((socket) =>
      socket.once("data", () => {
        socket.write(Buffer.from([0x20, 3, 0, 0, 0]));
        socket.on("data", ([type, , ...rest]: Buffer) => {
          if (type === 0x82) socket.write(Buffer.from([0x90, 4, ...rest.slice(0, 2), 0, 1]));
        });
      }),
    );
    const bus = await connectBus(slow.broker, { clientId: "a" });
    const ask = (timeoutMs: number, signal?: AbortSignal) =>
      bus.request("t", {}, { replyTo: "r", timeoutMs, signal }).catch((error: unknown) => error);
    expect(await ask(50)).toMatchObject({ reason: "timeout" });
    const gone = new BusError("left", "gone");
    expect(await ask(60_000, AbortSignal.abort(gone))).toBe(gone);
    await bus.close();
  });

  test("an accepted connection that is lost is the network's; one that the broker closes is in its log", async () => {
    for (const [end, reason, hint] of [
      ["resetAndDestroy", "unreachable", "Check the broker, and the network between it and zapd"],
      ["end", "closed", "See the broker's own log for the reason"],
    ] as const) {
      using lost = await answering((socket) =>
        socket.once("data", () => {
          socket.write(Buffer.from([0x20, 3, 0, 0, 0]));
          socket.once("data", () => socket[end]());
        }),
      );
      const bus = await connectBus(lost.broker, { clientId: "a" });
      await bus.publish("t", "x");
      expect(await bus.ended).toMatchObject({ reason, hint });
    }
  });

  test("a broker that sends garbage is disconnected", async () => {
    using odd = await answering((socket) => {
      socket.once("data", () => {
        socket.write(Buffer.from([0x20, 3, 0, 0, 0]));
        // An acknowledgement for a reason that it cannot have: a packet that is too large.
        socket.once("data", (bytes: Buffer) => socket.write(Buffer.from([0x40, 3, ...bytes.subarray(5, 7), 0x95])));
      });
    });
    const bus = await connectBus(odd.broker, { clientId: "a" });
    await expect(bus.publish("t", "x", { qos: 1 })).rejects.toMatchObject({ reason: "protocol" });
    expect(await bus.ended).toMatchObject({ reason: "protocol", hint: expect.stringContaining("message_size_limit") });
  });

  test("a broker that sends an endless packet is disconnected before the packet is in memory", async () => {
    let sent = 0;
    using huge = await answering((socket) => {
      socket.once("data", () => {
        socket.write(Buffer.from([0x20, 3, 0, 0, 0]));
        // A message of 256 MB.
        socket.write(Buffer.from([0x30, 0xff, 0xff, 0xff, 0x7f]));
        const more = () => {
          sent += 65_536;
          if (!socket.destroyed && sent < 64 * 1024 * 1024) socket.write(Buffer.alloc(65_536), () => more());
        };
        more();
      });
    });
    const { reason, message, hint } = await (await connectBus(huge.broker, { clientId: "a" })).ended;
    expect(reason).toBe("protocol");
    expect(message).toContain("sent a packet of more than 262144 bytes, so zapd closed the connection");
    expect(hint).toContain("max_packet_size 262144");
    expect(sent).toBeLessThan(16 * 1024 * 1024);
  });

  test("a broker that floods leaves time for other work", async () => {
    const messages = Buffer.concat(Array.from({ length: 50_000 }, () => Buffer.from([0x30, 5, 0, 1, 0x74, 0, 0x78])));
    using flooding = await answering((socket) => {
      socket.once("data", () => {
        socket.write(Buffer.from([0x20, 3, 0, 0, 0]));
        socket.once("data", (bytes: Buffer) => {
          socket.write(Buffer.from([0x90, 4, bytes[2] ?? 0, bytes[3] ?? 0, 0, 1]));
          socket.write(messages);
        });
      });
    });
    const bus = await connectBus(flooding.broker, { clientId: "a" });
    let taken = 0;
    let takenAtTimer = 0;
    await bus.subscribe(["t"], () => {
      if (++taken !== 1) return;
      setTimeout(() => {
        takenAtTimer = taken;
      });
    });
    await until("a timer runs", () => takenAtTimer > 0);
    expect(takenAtTimer).toBeLessThan(5_000);
    await bus.close();
  });

  test("a broker that sends with QoS 2, or does not read, is disconnected", async () => {
    using twice = await answering((socket) =>
      socket.once("data", () => socket.write(Buffer.from([0x20, 3, 0, 0, 0, 0x34, 7, 0, 1, 0x74, 0, 1, 0, 0x78]))),
    );
    const { reason, message } = await (await connectBus(twice.broker, { clientId: "a" })).ended;
    expect([reason, message]).toEqual(["protocol", expect.stringContaining("sent a message with QoS 2")]);

    using deaf = await answering((socket) =>
      socket.once("data", () => socket.pause().write(Buffer.from([0x20, 3, 0, 0, 0]))),
    );
    const bus = await connectBus(deaf.broker, { clientId: "a" });
    const sent = Array.from({ length: 100 }, () => bus.publish("t", "x".repeat(200_000)).catch(() => {}));
    expect((await bus.ended).reason).toBe("closed");
    await Promise.all(sent);
  });
});

describe.skipIf(noMosquitto !== null)(`a broker${noMosquitto === null ? "" : ` (skipped: ${noMosquitto})`}`, () => {
  let broker: Mosquitto;
  beforeAll(async () => {
    broker = await Mosquitto.start();
  });
  afterAll(() => broker.dispose());

  test("another client with our id takes over", async () => {
    const first = await connectBus(plainAt(broker.port), { clientId: "zapd-one" });
    const second = await connectBus(plainAt(broker.port), { clientId: "zapd-one" });
    // Mosquitto 2.0 hangs up without a word; from 2.1 on it says why.
    const why = await first.ended;
    expect(why.reason).toMatch(/^(taken_over|closed)$/);
    await expect(first.publish("a", "b")).rejects.toBe(why);
    await second.close();
    expect((await second.ended).reason).toBe("left");
  });

  test("a request ends with its answer, its timeout, or the connection", async () => {
    const [one, other] = await Promise.all(
      ["one", "other"].map((clientId) => connectBus(plainAt(broker.port), { clientId })),
    );
    if (!one || !other) throw new Error("both are there");
    await other.subscribe(["ask/+"], ({ topic, payload, replyTo, correlation }) => {
      const { n, reply_to, transaction } = JSON.parse(Buffer.from(payload).toString());
      if (topic === "ask/double" && replyTo)
        void other.publish(replyTo, JSON.stringify({ n: 2 * n }), { qos: 1, correlation });
      // One over MQTT 3.1.1 sees neither a response topic nor correlation data.
      if (topic === "ask/older") void other.publish(reply_to, JSON.stringify({ n: 2 * n, transaction }), { qos: 1 });
    });
    const ask = (topic: string, n: number, timeoutMs: number) =>
      one.request(topic, { n }, { replyTo: "answers/one", timeoutMs });
    const many = Array.from({ length: 100 }, (_, n) => ask("ask/double", n, 20_000));
    expect(await Promise.all(many)).toEqual(many.map((_, n) => ({ n: 2 * n })));
    expect(await ask("ask/older", 4, 20_000)).toMatchObject({ n: 8 });
    await expect(ask("ask/nobody", 1, 20)).rejects.toMatchObject({ reason: "timeout" });
    const left = ask("ask/nobody", 1, 20_000);
    left.catch(() => {});
    await one.close();
    await expect(left).rejects.toBeInstanceOf(BusError);
    await other.close();
  });

  test("one that is set to keep nothing, or to take no QoS 1, is told by its setting", async () => {
    const will = { topic: "status", payload: "{}" };
    for (const [line, setting] of [
      ["retain_available false", "retain_available true"],
      ["max_qos 0", "max_qos 1"],
    ] as const) {
      const limited = await Mosquitto.start(() => ["allow_anonymous true", line]);
      try {
        const hint = expect.stringContaining(setting);
        expect(await failure(connectBus(plainAt(limited.port), { clientId: "a", will }))).toMatchObject({ hint });
        // As `zapd doctor` connects, without a will.
        const bus = await connectBus(plainAt(limited.port), { clientId: "a" });
        await bus.publish("t", "x", { retain: true, qos: 1 }).catch(() => {});
        expect(await bus.ended).toMatchObject({ hint });
      } finally {
        await limited.dispose();
      }
    }
  });
});

describe.skipIf(noMosquitto !== null || Bun.which("openssl") === null)(
  "a broker with a login, TLS and a list of who may what",
  () => {
    let broker: Mosquitto;
    let secure: Broker;
    const openssl = (...words: readonly string[]) => {
      const { exitCode, stderr } = Bun.spawnSync(["openssl", ...words], { cwd: folder });
      if (exitCode !== 0) throw new Error(stderr.toString());
    };
    const text = (name: string) => Bun.file(join(folder, name)).text();

    beforeAll(async () => {
      const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
      openssl("req", "-x509", ...key, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=ca");
      const signed = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2"];
      for (const [name, subject, alt] of [
        ["server", "/CN=broker", "IP:127.0.0.1"],
        ["client", "/CN=lab", "DNS:lab"],
      ] as const) {
        openssl("req", ...key, "-keyout", `${name}.key`, "-out", `${name}.csr`, "-subj", subject);
        writeFileSync(join(folder, `${name}.ext`), `subjectAltName=${alt}\n`);
        openssl("x509", "-req", "-in", `${name}.csr`, ...signed, "-out", `${name}.pem`, "-extfile", `${name}.ext`);
      }
      writeFileSync(join(folder, "acl"), "user lab\ntopic readwrite zapd/1/lab/#\n");
      const { exitCode } = Bun.spawnSync(["mosquitto_passwd", "-b", "-c", join(folder, "users"), "lab", "right"]);
      if (exitCode !== 0) throw new Error("mosquitto_passwd failed");
      broker = await Mosquitto.start(() => [
        "allow_anonymous false",
        `password_file ${join(folder, "users")}`,
        `acl_file ${join(folder, "acl")}`,
        ...["cafile ca.pem", "certfile server.pem", "keyfile server.key"].map((line) =>
          line.replace(" ", ` ${folder}/`),
        ),
        "require_certificate true",
      ]);
      secure = {
        ...plainAt(broker.port),
        secure: true,
        url: `mqtts://127.0.0.1:${broker.port}`,
        username: "lab",
        password: "right",
        ca: await text("ca.pem"),
        cert: await text("client.pem"),
        key: await text("client.key"),
      };
    });
    afterAll(() => broker.dispose());

    test("with everything right, only what the ACL allows", async () => {
      const bus = await connectBus(secure, { clientId: "zapd-lab" });
      await bus.publish("zapd/1/lab/status", "{}", { qos: 1 });
      await expect(bus.publish("zapd/1/other/status", "{}", { qos: 1 })).rejects.toMatchObject({
        reason: "forbidden",
        hint: "Allow it in the broker's ACL: src/mqtt/README.md has one to copy",
      });
      await bus.close();
    });

    test("each mistake has its own reason and hint", async () => {
      const why = async (given: Partial<Broker>) => {
        const { reason, hint = "" } = await failure(connectBus({ ...secure, ...given }, { clientId: "zapd-lab" }));
        return [reason, hint];
      };
      const [login, mendsLogin] = await why({ password: "wrong" });
      expect([login, mendsLogin]).toEqual(["login", expect.stringContaining("mqtt.password_file")]);
      expect((await why({ username: undefined, password: undefined }))[0]).toBe("login");
      const [stranger, mendsTrust] = await why({ ca: undefined });
      expect([stranger, mendsTrust]).toEqual(["tls", expect.stringContaining("mqtt.ca")]);
      const [unknown, mendsCert] = await why({ cert: undefined, key: undefined });
      expect(unknown).toMatch(/tls|closed|unreachable/);
      expect(mendsCert).toContain("mqtt.cert");
      for (const [setting, given] of [
        ["mqtt.ca", { ca: "nonsense" }],
        ["mqtt.cert", { cert: "nonsense" }],
        ["mqtt.key", { key: "nonsense" }],
        ["mqtt.key does not belong", { key: await text("server.key") }],
      ] as const) {
        const told = await failure(connectBus({ ...secure, ...given }, { clientId: "zapd-lab" }));
        expect([told.reason, told.message]).toEqual(["settings", expect.stringContaining(setting)]);
      }
      const [plain, mendsPlain] = await why({ secure: false, url: "mqtt://127.0.0.1" });
      expect(plain).toMatch(/closed|unreachable|protocol/);
      expect(mendsPlain).toContain("mqtts://");
    });
  },
);
