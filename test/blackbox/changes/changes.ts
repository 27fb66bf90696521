/**
 * Ten kinds of change in a house, with sets of each platform: afterwards the right set is driven, or an error says why not.
 * No other set is ever driven, and no command that reached nobody succeeds.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { type Announcer, announceMdns, announceSsdp } from "../../security/rogue/announcer.ts";
import { reasons, Scene, startHouse, type Tried } from "../../security/rogue/house.ts";
import { Recorder } from "../../security/rogue/recorder.ts";
import {
  type AnyPlatform,
  freeAddress,
  openPlatforms,
  plugIn,
  type RealOptions,
  type RealSet,
  searchedAtUsualPort,
} from "../../security/rogue/sets.ts";
import type { TestDaemon } from "../../support/daemon.ts";
import { until } from "../../support/http-device.ts";
import { isQuick } from "../../support/whole.ts";

const described = ({ what, outcome, message, hint }: Tried) => `${what}: ${outcome}: ${message} (${hint})`;

/** Errors that the user can mend, with a command that the hint names. */
const mendable: ReadonlySet<string> = new Set(["device_unproven", "device_elsewhere", "pairing_required"]);

const all: readonly AnyPlatform[] = ["roku", "kodi", "webos", "samsung", "cast", "dlna"];

export function changesOn(platform: AnyPlatform): void {
  const password = `dev-${randomBytes(8).toString("hex")}`;
  let daemon: TestDaemon;
  beforeAll(async () => {
    daemon = await startHouse({
      config: {
        // Ten scenes run at once: a busy machine takes longer to answer.
        devices: { request_timeout_ms: 4_000 },
        ...(platform === "roku" && { dev: { vendor_password: password } }),
      },
    });
  });
  afterAll(() => daemon.dispose());

  const plug = (options: RealOptions = {}) => plugIn(platform, { password, ...options });
  /** Runs a scene with some sets that are known and paired, and removes them at its end. */
  const withSets = async (options: readonly RealOptions[], play: (...scenes: Scene[]) => Promise<void>) => {
    const scenes: Scene[] = [];
    try {
      for (const one of options) {
        const scene = new Scene(daemon, await plug(one));
        scenes.push(scene);
        await scene.know();
      }
      await play(...scenes);
      for (const scene of scenes) expect(scene.leaks()).toEqual([]);
    } finally {
      for (const scene of scenes) await scene.end();
    }
  };
  /** Sets of this platform get no secret, and take no text. */
  const takesNoSecret = openPlatforms.some((one) => one === platform);
  const can = (what: Tried["what"]) => what !== "text" || !takesNoSecret;
  /** Whether it needs no pairing. */
  const isOpen = platform === "roku" || takesNoSecret;
  const drives = async (scene: Scene, ...whats: Tried["what"][]) => {
    for (const what of whats.filter(can)) {
      const tried = await scene.driven(what);
      expect(tried.outcome, described(tried)).toBe("real");
    }
  };
  /** The right set is driven, or an error says what to do. */
  const drivesOrSays = async (scene: Scene, ...whats: Tried["what"][]) => {
    for (const what of whats.filter(can)) {
      const tried = await scene.try(what);
      expect(["real", ...reasons], described(tried)).toContain(tried.outcome);
      if (tried.outcome !== "real") expect(tried.message, described(tried)).not.toBe("");
      if (mendable.has(tried.outcome)) expect(tried.hint, described(tried)).toContain("zapd ");
    }
  };
  /** A set that has moved, and of which zapd has a secret, gets none before the user trusts it. */
  const trust = async (scene: Scene) => {
    const { status, body } = await scene.api("POST", `/devices/${scene.id}/trust`);
    expect([status, body.error]).toEqual([200, undefined]);
  };
  const nameOf = async (scene: Scene): Promise<string> => (await scene.device())?.name;
  /** Scans until a set is known where it is: on a busy machine it may answer after a scan. */
  const find = (scene: Scene) =>
    until("it is found there", async () => {
      await scene.scan();
      return (await scene.device())?.host === scene.real.host;
    });

  describe.concurrent(`what changes in a house: ${platform}`, () => {
    let kinds = Math.max(0, all.indexOf(platform));
    /** The usual run plays every other kind, the next platform the others; other runtimes play all. */
    const change = (title: string, play: () => Promise<void>) => {
      if (!isQuick || kinds++ % 2 === 0) test(title, play, 60_000);
    };

    change("the address: a set that moved is found by a scan and driven, and gets text once its user trusts it", () =>
      withSets([{}], async (scene) => {
        const { real } = scene;
        await real.off();
        await real.on(freeAddress());
        await find(scene);
        await drives(scene, "key");
        await drivesOrSays(scene, "text");
        await trust(scene);
        await drives(scene, "key", "text", "state");
        // And back again.
        await real.off();
        await real.on(freeAddress());
        await find(scene);
        await drives(scene, "key");
      }),
    );

    change("the address, without a scan: the first command finds the set, or says how to find it", () =>
      withSets([{}], async (scene) => {
        await drives(scene, "key");
        await scene.real.off();
        await scene.real.on(freeAddress());
        await drivesOrSays(scene, "key");
        await find(scene);
        await drives(scene, "key");
      }),
    );

    change("the name: one given at the set is taken over, one given by the user stays", () =>
      withSets([{}], async (scene) => {
        const { real, id } = scene;
        const before = real.name;
        await scene.api("DELETE", `/devices/${id}`);
        await find(scene);
        // A name given at the set.
        await real.off();
        real.rename(`${before} new`);
        await real.on();
        await until("the name has come", async () => {
          await scene.scan();
          return (await nameOf(scene)) === `${before} new`;
        });
        await scene.shareSecrets();
        await drives(scene, "key");
        await scene.api("PATCH", `/devices/${id}`, { name: `${before} mine` });
        await real.off();
        real.rename(`${before} newer`);
        await real.on();
        await scene.scan();
        expect(await nameOf(scene)).toBe(`${before} mine`);
        await drives(scene, "key");
        const byName = await scene.api("POST", `/devices/${encodeURIComponent(`${before} mine`)}/remote/key`, {
          key: scene.key,
        });
        expect(byName.status).toBe(200);
      }),
    );

    change("a swap: two sets at each other's address are each driven under their own name, or not at all", () =>
      withSets([{}, {}], async (one, other) => {
        await drives(one, "key");
        await drives(other, "key");
        const [left, right] = [one.real.host, other.real.host];
        await Promise.all([one.real.off(), other.real.off()]);
        await Promise.all([one.real.on(right), other.real.on(left)]);
        const taken = () => [one.real.presses, other.real.presses];
        for (const [at, scene] of [one, other].entries()) {
          const before = taken();
          await drivesOrSays(scene, "key", "text");
          // The other set got nothing of it.
          expect(taken()[1 - at]).toBe(before[1 - at] ?? -1);
        }
        for (const scene of [one, other]) await find(scene);
        for (const scene of [one, other]) {
          const before = taken();
          await drivesOrSays(scene, "key");
          await trust(scene);
          await drives(scene, "key", "text");
          const at = scene === one ? 1 : 0;
          expect(taken()[at]).toBe(before[at] ?? -1);
        }
      }),
    );

    change(
      "two interfaces: a set that answers at two addresses is one device, driven at either when the other fails",
      () =>
        withSets([], async () => {
          const real = await plug({ announces: false });
          const scene = new Scene(daemon, real);
          // An LG set names its own address for the socket of its buttons.
          if (platform === "webos") scene.key = "volume-up";
          const [wired, wireless] = [await reachAt(real, freeAddress()), await reachAt(real, freeAddress())];
          try {
            const addresses = [wired.host, wireless.host];
            let own: { id: string; host: string }[] = [];
            await until("it is found", async () => {
              await scene.scan();
              const { body } = await scene.api("GET", "/devices");
              own = body.data.filter((one: { host: string }) => addresses.includes(one.host));
              return own.length > 0;
            });
            const [{ id, host }] = own as [{ id: string; host: string }];
            expect(own).toHaveLength(1);
            scene.id = id;
            // Where two addresses answer, secrets go to the one that the user chose.
            if (platform === "roku") await scene.api("PATCH", `/devices/${scene.id}`, { ports: real.place.ports });
            else if (!isOpen) expect((await scene.pair({ host })).status).toBe(200);
            await drives(scene, "key");
            await drivesOrSays(scene, "text");
            for (let round = 0; round < 2; round++) {
              await scene.scan();
              await drives(scene, "key");
            }
            const [used, left] = host === wired.host ? [wired, wireless] : [wireless, wired];
            await used.stop();
            await until("it is driven at the other", async () => {
              await scene.scan();
              return (await scene.device()).host === left.host;
            });
            // As far as zapd can tell it has moved: the rest needs the user's trust.
            await drivesOrSays(scene, "key", "text");
            await trust(scene);
            await drives(scene, "key", "text");
          } finally {
            await Promise.all([wired.stop(), wireless.stop()]);
            await scene.end();
          }
        }),
    );

    change("sleep: a set that sleeps is shown as off or is woken, and no lost key counts as pressed", () =>
      withSets([{}], async (scene) => {
        const { real, id } = scene;
        await drives(scene, "key", "state");
        const off = await scene.api("POST", `/devices/${id}/remote/key`, { key: "power-off" });
        if (off.status !== 200) await real.sleep();
        await until("it says that it is off", async () => {
          const { status, body } = await scene.api("GET", `/devices/${id}/state`);
          return status !== 200 || body.data.state.power !== "on";
        });
        await drivesOrSays(scene, "key");
        await real.wake();
        await until("it is driven again", async () => (await scene.try("key")).outcome === "real");
        await drives(scene, "text");
      }),
    );

    change("a restart: a set that comes back at its address is driven at once, though open connections are dead", () =>
      withSets([{}], async (scene) => {
        for (let round = 0; round < 3; round++) {
          await drives(scene, "key", "state");
          await scene.real.off();
          await scene.real.on();
        }
        await drives(scene, "key", "text");
      }),
    );

    change("a second instance on one machine: two sets, each with its own ports, name and state", () => {
      const host = freeAddress();
      return withSets([{ host }, { host, portsBy: 10 }], async (one, other) => {
        expect(one.id).not.toBe(other.id);
        for (const scene of [one, other, one, other]) {
          const before = [one.real.presses, other.real.presses];
          await drives(scene, "key", "text");
          expect([one.real.presses, other.real.presses]).toEqual(
            before.map((count, at) => count + ([one, other][at] === scene ? 1 : 0)),
          );
        }
        // A search finds only the usual port of an LG or Samsung set.
        if (!searchedAtUsualPort.has(platform)) {
          await one.scan();
          for (const scene of [one, other]) {
            const { host: at, port, name } = await scene.device();
            expect([at, port, name]).toEqual([host, scene.real.place.port, scene.real.name]);
            await drives(scene, "key", "text", "state");
          }
        }
        // One ends: the other is not driven in its place.
        await one.real.off();
        const before = other.real.presses;
        const start = performance.now();
        await drivesOrSays(one, "key");
        expect(other.real.presses).toBe(before);
        // Its machine refuses connections, so it is not asleep, and is not woken for half a minute.
        expect(performance.now() - start).toBeLessThan(12_000);
        await drives(other, "key", "text");
        await one.real.on();
        await drives(one, "key");
      });
    });

    change(
      "the same name: two sets of one name are two devices with two names, and keep them apart when they move",
      async () => {
        const name = `Twin ${randomBytes(3).toString("hex")}`;
        const sets = [await plug({ name }), await plug({ name })];
        const scenes = sets.map((real) => new Scene(daemon, real));
        try {
          await scenes[0]?.scan();
          const { body } = await daemon.api("GET", "/devices");
          for (const scene of scenes) {
            const found = body.data.find((one: { host: string }) => one.host === scene.real.host);
            // Where announcements are known by their names, two of one name are one: the other set is added by its address.
            scene.id = found?.id ?? (await scene.add(scene.real.place));
            await scene.shareSecrets();
          }
          const names = await Promise.all(scenes.map(nameOf));
          expect(new Set(names).size).toBe(2);
          for (const scene of scenes) await drives(scene, "key");
          for (const { real } of scenes) await real.off();
          const hosts = sets.map((real) => real.host).reverse();
          for (const [at, { real }] of scenes.entries()) await real.on(hosts[at]);
          await scenes[0]?.scan();
          for (const scene of scenes) await drivesOrSays(scene, "key", "text");
          // Neither has the other's name.
          const after = await Promise.all(scenes.map(nameOf));
          expect([new Set(after).size, after[0] === names[1], after[1] === names[0]]).toEqual([2, false, false]);
        } finally {
          for (const scene of scenes) await scene.end();
        }
      },
    );

    change("removed and added: it is the same device, and must be paired again", () =>
      withSets([{}], async (scene) => {
        const { id, real } = scene;
        await drives(scene, "key");
        await scene.api("DELETE", `/devices/${id}`);
        // A scan of another test may have found it again meanwhile.
        const gone = (await scene.try("key")).outcome;
        expect(["device_not_found", isOpen ? "real" : "pairing_required"]).toContain(gone);
        await scene.know({ secrets: false });
        expect(scene.id).toBe(id);
        if (!isOpen) {
          const tried = await scene.try("key");
          expect(tried.outcome, described(tried)).toBe("pairing_required");
          expect(tried.hint).toContain("zapd pair");
        }
        await scene.shareSecrets();
        await drives(scene, "key", "text");
        // A scan finds a removed set, too.
        await scene.api("DELETE", `/devices/${id}`);
        await until("it is found", async () => {
          await scene.scan();
          return (await scene.device())?.host === real.host;
        });
        await scene.shareSecrets();
        await drives(scene, "key");
      }),
    );
  });
}

/** A second address that leads to a set, and is announced as the set. */
async function reachAt(real: RealSet, host: string): Promise<{ host: string; stop(): Promise<void> }> {
  const recorder = new Recorder();
  const { port, ports } = real.place;
  const lead = (at: number) => recorder.tcp({ host, port: at, to: { host: real.host, port: at } });
  for (const at of [port, ...Object.entries(ports).flatMap(([word, one]) => (word === "wake" ? [] : [one]))])
    await lead(at);
  const announcers = [await shoutFor(real, host)];
  // It may be stopped twice.
  return {
    host,
    stop: async () => void (await Promise.all([recorder, ...announcers.splice(0)].map((one) => one.stop()))),
  };
}

/** Announces a set at another address, as its platform is searched for. */
function shoutFor(real: RealSet, host: string): Promise<Announcer> {
  const { port, ports } = real.place;
  const mdns = (name: string, txt: Readonly<Record<string, string>>, ...services: { type: string; port: number }[]) =>
    announceMdns({ host, name, txt, services });
  const ssdp = (target: string, usn: string, location = `http://${host}:${port}/`) =>
    announceSsdp({ host, target, usn, location });
  switch (real.platform) {
    case "kodi":
      return mdns(
        `${real.name} ${host}`,
        { txtvers: "1", uuid: real.identity },
        { type: "_xbmc-jsonrpc-h._tcp", port },
        { type: "_xbmc-jsonrpc._tcp", port: ports["websocket"] ?? 0 },
      );
    case "cast":
      return mdns(
        host,
        { id: real.identity, fn: real.name, md: "Chromecast", ca: "5" },
        { type: "_googlecast._tcp", port },
      );
    case "androidtv":
      return mdns(real.name, {}, { type: "_androidtvremote2._tcp", port });
    case "dlna": {
      const target = "urn:schemas-upnp-org:device:MediaRenderer:1";
      return ssdp(target, `uuid:${real.identity}::${target}`, `http://${host}:${port}/dmr`);
    }
    case "roku":
      return ssdp("roku:ecp", `uuid:roku:ecp:${real.identity}`);
    case "samsung":
      return ssdp("urn:samsung.com:device:RemoteControlReceiver:1", "uuid:x");
    default:
      return ssdp("urn:lge-com:service:webos-second-screen:1", "uuid:x", `http://${host}:${port + 40}/`);
  }
}
