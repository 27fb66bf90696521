import { afterEach, expect, test } from "bun:test";
import net from "node:net";
import { kodi } from "../../../src/platforms/kodi/adapter.ts";
import type { KodiMemory, KodiSecret } from "../../../src/platforms/kodi/memory.ts";
import { failureOf } from "../../support/failure.ts";
import { until } from "../../support/http-device.ts";
import { platformHostOf, targetOf } from "../../support/platform-host.ts";
import { startKodi } from "./harness.ts";

const never = new AbortController().signal;
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

test("what happens on the machine itself is told as it happens, each part for itself", async () => {
  const player = await startKodi();
  cleanups.push(() => player.stop());
  const platformHost = platformHostOf();
  const lead = { host: player.host, port: player.port };
  const said = { type: "_xbmc-jsonrpc-h._tcp", uuid: player.uuid };
  const sighting = await kodi.identify({ ...lead, said }, platformHost, never);
  const { target, told } = targetOf<KodiMemory, KodiSecret>(sighting, lead, {
    ports: { websocket: player.ports.tcp ?? 0 },
  });
  const connection = kodi.connect(target, platformHost, told.emit);
  cleanups.push(() => connection.close());
  let level = 0;
  // It is followed from the first reading on, as soon as its socket is open.
  await until("it is told", async () => {
    await connection.state?.read(never);
    player.setVolume(++level, true);
    await Bun.sleep(5);
    return told.states.some(({ volume }) => volume?.level === level);
  });
  expect(told.states.at(-1)).toEqual({ power: "on", volume: { level, muted: true } });
  await player.sleep();
  await until("it is told", () => told.ended.includes("going_off"));
});

/** A port that leads to a player; what the player answers can be kept back for a while. */
async function startGate({ host, port }: { readonly host: string; readonly port: number }) {
  const sockets = new Set<net.Socket>();
  let isOpen = true;
  let kept = "";
  let give = (_: string) => {};
  const server = net.createServer((caller) => {
    const player = net.connect(port, host);
    for (const socket of [caller, player]) {
      sockets.add(socket);
      socket.on("error", () => {}).on("close", () => sockets.delete(socket));
    }
    caller.on("data", (bytes) => player.write(bytes));
    player.on("data", (bytes) => {
      if (isOpen) return void caller.write(bytes);
      kept += bytes.toString("latin1");
      give = (text) => void caller.write(text, "latin1");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  cleanups.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    port: (server.address() as net.AddressInfo).port,
    kept: () => kept,
    shut() {
      isOpen = false;
    },
    open() {
      isOpen = true;
      give(kept);
    },
  };
}

test("an answer that was on its way when it said that it sleeps does not make it awake", async () => {
  const player = await startKodi();
  cleanups.push(() => player.stop());
  const gate = await startGate(player);
  const platformHost = platformHostOf();
  const lead = { host: player.host, port: gate.port };
  const sighting = await kodi.identify(
    { ...lead, said: { type: "_xbmc-jsonrpc-h._tcp", uuid: player.uuid } },
    platformHost,
    never,
  );
  const { target, told } = targetOf<KodiMemory, KodiSecret>(sighting, lead, {
    ports: { websocket: player.ports.tcp ?? 0 },
  });
  const connection = kodi.connect(target, platformHost, told.emit);
  cleanups.push(() => connection.close());
  await until("it is followed", async () => {
    await connection.state?.read(never);
    return player.state.clients.websocket > 0;
  });
  gate.shut();
  const asked = connection.notify?.("Dinner", never);
  await until("the answer is kept back", () => /\r\n\r\n.*\}$/s.test(gate.kept()));
  const asleep = player.sleep();
  await until("it is told", () => told.ended.includes("going_off"));
  gate.open();
  await asked;
  expect(await failureOf(Promise.resolve(connection.notify?.("Dinner", never)))).toBe(
    "device_unreachable: is on its way off",
  );
  await asleep;
});
