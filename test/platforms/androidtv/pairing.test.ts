/** Pairing by a code: what the set is told of it, what it is not, and whose certificate is shown to whom. */
import { describe, expect, test } from "bun:test";
import { connect, createServer } from "node:net";
import { androidtv } from "../../../src/platforms/androidtv/adapter.ts";
import type { AndroidSecret } from "../../../src/platforms/androidtv/memory.ts";
import type { Pairing } from "../../../src/platforms/platform.ts";
import { until } from "../../support/http-device.ts";
import { listening } from "../../support/listening.ts";
import { keptSecret, platformHostOf } from "../../support/platform-host.ts";
import { cleanups, failure, never, tidy } from "../harness.ts";
import { line, ours, startAndroid } from "./harness.ts";

tidy();

const enter = (pairing: Pairing, code: string) => (pairing.step === "code" ? pairing.enter(code) : Promise.reject());

describe("a code", () => {
  test("that is right pairs a new certificate, which is kept when pairing again", async () => {
    const one = await line({ paired: [] }, null);
    expect(androidtv.describe(one.target.facts, one.target.memory, false).withheld.has("keys")).toBe(true);
    const pairing = await one.begin();
    expect([pairing.step, pairing.expiresMs]).toEqual(["code", 120_000]);
    expect(one.set.state.code).toMatch(/^[0-9A-F]{6}$/);
    const { secret, facts } = await enter(pairing, one.set.state.code ?? "");
    expect(facts?.access).toBe("full");
    const given = androidtv.secret?.parse(secret);
    expect(given?.certificate).toBe(one.set.fingerprint);
    // One line each, so that a log in which one stood would be without it.
    for (const value of Object.values(given ?? {})) expect(value).toMatch(/^[\w+/=]{64,2000}$/);
    await one.target.secret.keep({ cert: "", key: "", certificate: "", ...given });
    await one.connection.keys?.press("home", never);
    await until("it has come", () => one.set.keys.length === 1);
    const again = await one.begin();
    const second = androidtv.secret?.parse((await enter(again, one.set.state.code ?? "")).secret);
    expect([second?.cert, one.set.state.paired]).toEqual([given?.cert, 1]);
    const anew = await one.begin(true);
    const third = androidtv.secret?.parse((await enter(anew, one.set.state.code ?? "")).secret);
    expect(third?.cert).not.toBe(given?.cert);
  });

  test("that the TV refuses ends the pairing, with or without an answer", async () => {
    // A code that proves something for another set: its first byte is right, and it is not the one that is shown.
    const right = async (pairing: Pairing, shown: string) => {
      for (let rest = 0; rest < 65_536; rest++) {
        const code = rest.toString(16).padStart(4, "0").toUpperCase();
        if (shown.endsWith(code)) continue;
        for (let first = 1; first < 256; first++) {
          const whole = first.toString(16).padStart(2, "0").toUpperCase() + code;
          const error = await failure(enter(pairing, whole));
          if (error.message !== "shows a different code") return error;
        }
      }
      throw new Error("no code is right");
    };
    const says = await line({ paired: [] }, null);
    const pairing = await says.begin();
    expect(await right(pairing, says.set.state.code ?? "")).toMatchObject({ code: "pairing_failed", reason: "wrong" });
    expect([says.set.state.wrongSecrets, says.set.state.code]).toEqual([1, null]);
    if (pairing.step !== "code") throw new Error("it wants no code");
    expect(await failure(pairing.ended ?? Promise.resolve())).toMatchObject({ reason: "wrong" });
  });

  test("that is shown for another client: the TV refuses the second", async () => {
    const one = await line({ paired: [] }, null);
    await one.begin();
    expect(await failure(one.begin())).toMatchObject({ code: "pairing_failed", reason: "denied" });
  });
});

test("zapd's certificate is not shown to another TV", async () => {
  const one = await line();
  await one.connection.state?.read(never);
  const other = await startAndroid({ name: "Other", paired: [] });
  cleanups.push(() => other.stop());
  const elsewhere = { ...one.target, port: other.ports.remote, ports: { pairing: other.ports.pairing } };
  const wrong = androidtv.pair?.(elsewhere, platformHostOf(), never);
  expect(await failure(wrong ?? Promise.resolve())).toMatchObject({ reason: "wrong_device" });
});

test("a TV that takes the place of one that has just shown who it is gets no message", async () => {
  const one = await line({ paired: [ours] });
  const other = await startAndroid({ name: "Other", paired: [ours] });
  cleanups.push(() => other.stop());
  const changing = async (which: "remote" | "pairing") => {
    let taken = 0;
    const server = createServer((client) => {
      const device = connect((taken++ === 0 ? one.set : other).ports[which], one.set.host);
      for (const socket of [client, device]) socket.on("error", () => {});
      client.pipe(device).pipe(client);
    });
    const { port, stop } = await listening(server, one.set.host);
    cleanups.push(stop);
    return port;
  };
  const moved = { ...one.target, port: await changing("remote") };
  const connection = androidtv.connect(moved, platformHostOf(), () => {});
  cleanups.push(() => connection.close());
  const pressed = connection.keys?.press("home", never) ?? Promise.resolve();
  expect(await failure(pressed)).toMatchObject({ code: "device_unproven", reason: "wrong_device" });
  const pairing = androidtv.pair?.(
    { ...one.target, secret: keptSecret<AndroidSecret>(), ports: { pairing: await changing("pairing") } },
    platformHostOf(),
    never,
  );
  expect((await failure(pairing ?? Promise.resolve())).message).toBe(
    "showed a certificate that cannot be used for pairing",
  );
  expect([other.keys, other.state.code]).toEqual([[], null]);
});
