/**
 * The orders of events of SECURITY.md 2.4, as data: what happens to the real set, when and where a stranger comes, and how zapd
 * finds it. Each is played on each platform, with each manner of stranger that makes a difference.
 */
import { expect } from "bun:test";
import { reasons, type Scene, type Tried, told } from "./house.ts";
import { freeAddress, lockedPlatforms, type PlatformName, platforms } from "./sets.ts";
import { manners, type Stranger, startStranger } from "./strangers.ts";

export interface Order {
  /** Unique; shown in the README. */
  readonly title: string;
  /** What happens to the real set. */
  readonly real: "up" | "off" | "returning" | "moved" | "replaced" | "removed";
  /** When the stranger comes. */
  readonly stranger: "before" | "during" | "after" | "none";
  readonly seenBy: "scan" | "add" | "announcement" | "address" | "nobody";
  readonly where: "same address" | "other address" | "both" | "none";
  readonly secrets: boolean;
  /** With every manner of stranger, or only with the one that copies the whole public identity. */
  readonly manners: "all" | "copy" | "none";
  readonly platforms?: readonly PlatformName[];
  /** The accepted risk of SECURITY.md 2.4 with a manner, by its number in the README. */
  readonly accepted?: (platform: PlatformName, manner: string) => Accepted | null;
  play(round: Round): Promise<void>;
}

/** What stays possible. */
export interface Accepted {
  readonly reason: keyof typeof acceptedReasons;
  /** How accepted results of `leaksIn` begin. */
  readonly leaks: readonly string[];
}

/** What SECURITY.md 2.4 says stays possible, as the orders meet it. */
export const acceptedReasons = {
  1: "A stranger has the address at which the device was paired, and shows its whole public identity (on LG and Samsung also the certificate, whose key is in every LG TV; on Kodi its realm, and the announcement of its id): it gets keys, typed text, and what authenticates zapd to the device. Only its hardware address would differ, and loopback has none.",
  2: "A device for which zapd has no secrets is silent, and a stranger at another address shows its whole identity: zapd follows it as a device that has moved, with keys and typed text, and on Roku with a digest for the stored realm and qop.",
} as const;

/** One order as it is played: with a real set, and with strangers of one manner. */
export class Round {
  readonly scene: Scene<PlatformName>;
  readonly manner: string;
  readonly home: string;

  constructor(scene: Scene<PlatformName>, manner: string) {
    this.scene = scene;
    this.manner = manner;
    this.home = scene.real.host;
  }

  get platform(): PlatformName {
    return this.scene.real.platform;
  }

  /** Starts a stranger: at the address of the real set, or elsewhere. */
  async stranger(where: "same" | "other", more: { manner?: string; announces?: boolean } = {}): Promise<Stranger> {
    const { real, strangers } = this.scene;
    const host = where === "same" ? this.home : freeAddress();
    const one = await startStranger({
      of: real,
      host,
      manner: more.manner ?? this.manner,
      announces: more.announces ?? true,
    });
    strangers.push(one);
    return one;
  }

  /** Starts a stranger, and scans. */
  async scannedStranger(where: "same" | "other"): Promise<Stranger> {
    const stranger = await this.stranger(where);
    await this.scan();
    return stranger;
  }

  async isKnownAndOff(how: { secrets?: boolean } = {}): Promise<void> {
    await this.scene.know(how);
    await this.scene.real.off();
  }

  /** The real set comes back, and a scan follows; a second one where the first has missed it, as on a busy machine. */
  async isBack(): Promise<void> {
    const { scene } = this;
    await scene.real.on();
    for (let tries = 0; tries < 4; tries++) {
      await this.scan();
      const { body } = await scene.api("GET", `/devices/${scene.id}`);
      if (body.data?.host === scene.real.place.host) return;
    }
  }

  /** The real set comes back at another address, after the scans that have met it at the former one. */
  async moves(): Promise<void> {
    await this.scan();
    await this.scene.real.on(freeAddress());
  }

  scan(): Promise<unknown> {
    return this.scene.scan();
  }

  /** Adds a device by a stranger's address. */
  async addedAt(stranger: Stranger): Promise<{ status: number; code: string; id: string; hint: string }> {
    const { status, body } = await this.scene.api("POST", "/devices", stranger.place);
    return { status, code: body.error?.code ?? "", id: body.data?.id ?? "", hint: body.error?.hint ?? "" };
  }

  /** Whether the set lets zapd in at all: an LG or Samsung set that was never paired does not. */
  get isOpen(): boolean {
    return !lockedPlatforms.has(this.platform) || this.scene.real.secrets.length > 0;
  }

  /** The real set, and nobody else, is driven. */
  async drives(...whats: Tried["what"][]): Promise<void> {
    for (const what of whats) {
      let tried = await this.scene.driven(what);
      // A refused login is not sent again for a second.
      if (tried.outcome === "pairing_required" && this.manner === "kodi-realm") {
        await Bun.sleep(1_100);
        tried = await this.scene.driven(what);
      }
      const wanted = this.isOpen || what === "install" ? ["real"] : ["pairing_required"];
      expect(wanted, told(tried)).toContain(tried.outcome);
    }
  }

  drivesOrExplains(...whats: Tried["what"][]): Promise<Tried[]> {
    return this.scene.drivesOrExplains(...whats);
  }

  /** The real set takes keys; it takes everything else too, or an error says why not. */
  async drivesAll(): Promise<void> {
    await this.drives("key");
    await this.drivesOrExplains(...this.all);
  }

  /** As `drivesOrExplains`, but a stranger may take it: SECURITY.md 2.4 says so. */
  async mayReachStranger(...whats: Tried["what"][]): Promise<void> {
    for (const what of whats) {
      const tried = await this.scene.try(what);
      expect(["real", "stranger", ...reasons], told(tried)).toContain(tried.outcome);
    }
  }

  /** Everything that can be tried on a device without a rival. */
  get all(): Tried["what"][] {
    return this.platform === "roku" ? ["key", "text", "install"] : ["key", "text"];
  }

  /** The warnings of `GET /health` name the device. */
  async warnsOfRival(): Promise<void> {
    const warnings = await this.scene.health();
    expect(warnings.filter((one) => one.includes(this.scene.real.name))).not.toEqual([]);
  }
}

/** Manners that show the identity of the set. */
const claims = (platform: PlatformName, manner: string) =>
  manner === "copy" ||
  (platform === "roku" && manner !== "other-serial") ||
  (platform === "kodi" && manner === "open-copy");

/** At the address of the set. */
const sameAddress = (platform: PlatformName, manner: string): Accepted | null => {
  if (!claims(platform, manner) && manner !== "kodi-realm") return null;
  if (manner === "copy" || manner === "kodi-realm")
    return { reason: 1, leaks: ["a key", "a login", "a password", "typed text"] };
  return { reason: 1, leaks: ["typed text"] };
};

/** At the address of the set, without announcing itself: a Kodi that is known by its announcement gets no more than keys then. */
const silentThere = (platform: PlatformName, manner: string): Accepted | null =>
  platform === "kodi" ? null : sameAddress(platform, manner);

/** Elsewhere, while the set itself is silent and zapd has no secrets of it. */
const followed = (platform: PlatformName, manner: string): Accepted | null => {
  if (!claims(platform, manner)) return null;
  const digest = platform === "roku" && manner === "copy" ? ["a login"] : [];
  return { reason: 2, leaks: ["typed text", ...digest] };
};
/** zapd has no secrets of a Roku: the developer password is one for all. */
const withSecrets = (platform: PlatformName, manner: string) =>
  platform === "roku" ? followed(platform, manner) : null;

type When = Partial<Order> & Pick<Order, "real" | "stranger" | "seenBy" | "where">;

/** By default zapd has secrets of the set, and every manner of stranger is played. */
const order = (title: string, when: When, play: Order["play"]): Order => ({
  secrets: true,
  manners: "all",
  ...when,
  title,
  play,
});

export const orders: readonly Order[] = [
  order(
    "up; a stranger answers the same scan elsewhere",
    { real: "up", stranger: "during", seenBy: "scan", where: "other address" },
    async (round) => {
      await round.scene.know();
      await round.scannedStranger("other");
      await round.drivesAll();
      await round.drives("state");
    },
  ),
  order(
    "up; a stranger is added by its address",
    { real: "up", stranger: "during", seenBy: "add", where: "other address" },
    async (round) => {
      await round.scene.know();
      const stranger = await round.stranger("other", { announces: round.platform === "kodi" });
      const added = await round.addedAt(stranger);
      // A stranger that claims to be the set is refused, with both addresses; any other is a device of its own, or none.
      if (added.status === 200) expect(added.id).not.toBe(round.scene.id);
      if (added.code === "device_elsewhere") {
        expect(added.hint).toContain(round.home);
        expect(added.hint).toContain(stranger.host);
      }
      await round.drivesAll();
      if (added.status === 200) await round.scene.api("DELETE", `/devices/${added.id}`);
    },
  ),
  order(
    "up; a stranger announces itself unasked, during and between scans",
    { real: "up", stranger: "during", seenBy: "announcement", where: "other address", manners: "copy" },
    async (round) => {
      await round.scene.know();
      const stranger = await round.stranger("other");
      await stranger.announce();
      const scanning = round.scan();
      for (let at = 0; at < 5; at++) {
        await stranger.announce();
        await Bun.sleep(60);
      }
      await scanning;
      await stranger.announce();
      await round.drivesAll();
    },
  ),
  order(
    "off; a stranger at its address, without a scan",
    { real: "off", stranger: "during", seenBy: "address", where: "same address", accepted: silentThere },
    async (round) => {
      await round.scene.know();
      await round.drives("key");
      await round.scene.real.off();
      const stranger = await round.stranger("same", { announces: false });
      if (round.platform === "kodi" && sameAddress(round.platform, round.manner)) {
        await round.mayReachStranger("key", "state");
        await round.drivesOrExplains("text");
        const paired = await round.scene.pair({});
        expect(paired.status).not.toBe(200);
      } else if (sameAddress(round.platform, round.manner)) await round.mayReachStranger(...round.all, "state");
      else await round.drivesOrExplains(...round.all);
      await stranger.off();
      await round.scene.real.on();
      await round.drives(...round.all);
    },
  ),
  order(
    "off; a stranger at its address, scanned; the set comes back elsewhere",
    { real: "returning", stranger: "during", seenBy: "scan", where: "same address", accepted: sameAddress },
    async (round) => {
      await round.isKnownAndOff();
      await round.scannedStranger("same");
      if (sameAddress(round.platform, round.manner)) await round.mayReachStranger("key", "text");
      else await round.drivesOrExplains("key", "text");
      await round.moves();
      await round.scan();
      if (sameAddress(round.platform, round.manner)) await round.mayReachStranger(...round.all);
      else await round.drivesOrExplains(...round.all);
    },
  ),
  order(
    "off; a stranger elsewhere, scanned; the set returns to its address, scanned",
    { real: "returning", stranger: "during", seenBy: "scan", where: "other address", accepted: withSecrets },
    async (round) => {
      await round.isKnownAndOff();
      await round.scannedStranger("other");
      if (claims(round.platform, round.manner) || lockedPlatforms.has(round.platform))
        await round.mayReachStranger("key");
      if (withSecrets(round.platform, round.manner)) await round.mayReachStranger(...round.all);
      else if (claims(round.platform, round.manner)) await round.drivesOrExplains("text");
      await round.isBack();
      await round.drivesAll();
    },
  ),
  order(
    "off; a stranger elsewhere, scanned; the set returns to its address and answers no search",
    {
      real: "returning",
      stranger: "during",
      seenBy: "scan",
      where: "other address",
      manners: "copy",
      accepted: withSecrets,
    },
    async (round) => {
      await round.isKnownAndOff();
      await round.scannedStranger("other");
      await round.mayReachStranger("key");
      // It is found only by a probe of its former address.
      round.scene.real.hush();
      await round.isBack();
      // A stranger with another certificate is no rival, and causes no warning.
      if (round.platform !== "androidtv") await round.warnsOfRival();
      await round.drivesAll();
    },
  ),
  order(
    "off, without secrets; a stranger elsewhere is followed; the set returns to its address, scanned",
    {
      real: "returning",
      stranger: "during",
      seenBy: "scan",
      where: "other address",
      secrets: false,
      accepted: followed,
    },
    async (round) => {
      await round.isKnownAndOff({ secrets: false });
      await round.scannedStranger("other");
      if (claims(round.platform, round.manner)) await round.mayReachStranger(...round.all);
      await round.isBack();
      await round.drivesAll();
    },
  ),
  order(
    "off; a stranger elsewhere is added by its address; the set returns",
    { real: "returning", stranger: "during", seenBy: "add", where: "other address", accepted: withSecrets },
    async (round) => {
      const { scene } = round;
      await round.isKnownAndOff();
      const stranger = await round.stranger("other");
      const added = await round.addedAt(stranger);
      const claimed = claims(round.platform, round.manner);
      // A silent set with secrets is not moved. Where a concurrent scan has met the stranger before, it is on probation there
      // already.
      if (claimed && round.platform !== "roku" && added.code !== "device_elsewhere")
        expect((await scene.try("text")).outcome).toBe("device_unproven");
      if (added.id === scene.id && round.platform === "roku") await round.mayReachStranger(...round.all);
      await round.isBack();
      await round.drivesAll();
    },
  ),
  order(
    "off, without secrets; a stranger elsewhere is added by its address; the set returns",
    {
      real: "returning",
      stranger: "during",
      seenBy: "add",
      where: "other address",
      secrets: false,
      manners: "copy",
      accepted: followed,
    },
    async (round) => {
      await round.isKnownAndOff({ secrets: false });
      await round.addedAt(await round.stranger("other"));
      await round.mayReachStranger(...round.all);
      await round.isBack();
      await round.drivesAll();
    },
  ),
  order(
    "moved by DHCP, no stranger: on probation with secrets, then trusted, and controlled fully",
    { real: "moved", stranger: "none", seenBy: "scan", where: "none", manners: "none" },
    async (round) => {
      const { scene } = round;
      await round.isKnownAndOff();
      await round.moves();
      await round.scan();
      if (round.platform === "roku") return round.drives(...round.all);
      const [text] = await round.drivesOrExplains("text");
      expect([text?.outcome, text?.hint]).toEqual(["device_unproven", expect.stringContaining("zapd trust")]);
      expect(text?.hint).toContain("--host");
      expect((await scene.api("POST", `/devices/${scene.id}/trust`)).status).toBe(200);
      await round.drives(...round.all);
    },
  ),
  order(
    "moved by DHCP without secrets: followed as usual",
    { real: "moved", stranger: "none", seenBy: "scan", where: "none", secrets: false, manners: "none" },
    async (round) => {
      await round.isKnownAndOff({ secrets: false });
      await round.moves();
      await round.scan();
      await round.drives(...round.all);
      expect((await round.scene.device()).host).toBe(round.scene.real.host);
    },
  ),
  order(
    "moved by DHCP, with a stranger at its former address",
    { real: "moved", stranger: "after", seenBy: "scan", where: "same address", accepted: sameAddress },
    async (round) => {
      const { scene } = round;
      await round.isKnownAndOff();
      await round.moves();
      await round.scannedStranger("same");
      if (sameAddress(round.platform, round.manner)) return round.mayReachStranger(...round.all);
      await round.drivesOrExplains(...round.all);
      // Only the set shows its identity now: trusted by its user, it is driven whole.
      await scene.api("POST", `/devices/${scene.id}/trust`);
      await round.drivesOrExplains(...round.all);
    },
  ),
  order(
    "moved by DHCP, and a stranger elsewhere answers too",
    {
      real: "moved",
      stranger: "after",
      seenBy: "scan",
      where: "other address",
      manners: "copy",
      accepted: withSecrets,
    },
    async (round) => {
      await round.isKnownAndOff();
      await round.moves();
      await round.scan();
      await round.scannedStranger("other");
      await round.mayReachStranger("key");
      if (round.platform !== "roku") await round.drivesOrExplains("text");
      await round.warnsOfRival();
    },
  ),
  order(
    "moved by DHCP and paired again there, by its address",
    {
      real: "moved",
      stranger: "none",
      seenBy: "nobody",
      where: "none",
      manners: "none",
      platforms: ["kodi", "webos", "samsung", "androidtv"],
    },
    async (round) => {
      const { scene } = round;
      await round.isKnownAndOff();
      await round.moves();
      expect((await scene.pair({ host: scene.real.host })).status).toBe(200);
      await round.drives("key", "text");
    },
  ),
  order(
    "paired again at the address of a stranger: pairing starts without the stored secrets",
    {
      real: "off",
      stranger: "during",
      seenBy: "address",
      where: "other address",
      platforms: ["kodi", "webos", "samsung"],
    },
    async (round) => {
      const { scene } = round;
      await round.isKnownAndOff();
      const stranger = await round.stranger("other");
      // The user was deceived: only what is typed now may be sent.
      await scene.api("POST", `/devices/${scene.id}/pair`, { host: stranger.host });
      await scene.real.on();
    },
  ),
  order(
    "replaced: another set of the same kind at its address",
    { real: "replaced", stranger: "after", seenBy: "scan", where: "same address", manners: "none" },
    async (round) => {
      const { scene } = round;
      await round.isKnownAndOff();
      const manner = {
        roku: "other-serial",
        kodi: "other-realm",
        webos: "other-id",
        samsung: "other-id",
        androidtv: "other-id",
      }[round.platform];
      await round.stranger("same", { manner });
      await round.scan();
      await round.drivesOrExplains(...round.all);
      expect(JSON.stringify((await scene.device()).id)).toContain(scene.id);
    },
  ),
  order(
    "a stranger was there first; the set is added, and paired by its address",
    {
      real: "up",
      stranger: "before",
      seenBy: "scan",
      where: "other address",
      manners: "copy",
      accepted: (platform) => (platform === "roku" ? { reason: 2, leaks: ["typed text", "a login"] } : null),
    },
    async (round) => {
      const { scene } = round;
      const { real } = scene;
      await real.off();
      const stranger = await round.scannedStranger("other");
      await real.on();
      await round.scan();
      const { body } = await scene.api("GET", "/devices");
      const known = body.data.filter((one: { host: string }) => [real.host, stranger.host].includes(one.host));
      expect(known).toHaveLength(1);
      scene.id = known[0].id;
      await round.warnsOfRival();
      if (round.platform === "roku") return round.mayReachStranger(...round.all);
      // Two sets answer for it: no login and no key is sent.
      await scene.pair({});
      expect(scene.leaks()).toEqual([]);
      const paired = await scene.pair({ host: real.host });
      expect([paired.status, paired.body.error]).toEqual([200, undefined]);
      await round.drives("key");
      await round.drivesOrExplains("text");
    },
  ),
  order(
    "a stranger was there first, and left; the set is found and paired",
    { real: "up", stranger: "before", seenBy: "scan", where: "other address", manners: "copy" },
    async (round) => {
      const { scene } = round;
      await scene.real.off();
      const stranger = await round.scannedStranger("other");
      await stranger.off();
      await round.isBack();
      const { body } = await scene.api("GET", "/devices");
      scene.id = body.data.find((one: { host: string }) => one.host === scene.real.host)?.id ?? "";
      expect(scene.id).not.toBe("");
      await scene.shareSecrets();
      await round.drives(...round.all);
    },
  ),
  order(
    "up and followed; it is unplugged, and a stranger takes its address at once",
    { real: "off", stranger: "after", seenBy: "address", where: "same address", accepted: sameAddress },
    async (round) => {
      await round.scene.know();
      await round.drives("key", "state");
      await round.scene.real.off();
      const stranger = await round.stranger("same");
      const racing = await Promise.all((["key", "state"] as const).map((what) => round.scene.try(what)));
      if (!sameAddress(round.platform, round.manner)) {
        for (const tried of racing) expect(["real", ...reasons], told(tried)).toContain(tried.outcome);
        await round.drivesOrExplains("key", "text");
      }
      await stranger.off();
      // A key that is under way while a connection to the stranger ends is lost, and never sent twice.
      await round.isBack();
      await round.drives("key");
    },
  ),
  order(
    "removed, and added again while a stranger is up elsewhere",
    { real: "removed", stranger: "during", seenBy: "add", where: "other address", manners: "copy" },
    async (round) => {
      const { scene } = round;
      await scene.know();
      await round.stranger("other");
      await scene.api("DELETE", `/devices/${scene.id}`);
      // A concurrent scan may find the stranger first: then the error says so, and names the way out.
      const { status, body } = await scene.api("POST", "/devices", scene.real.place);
      if (status !== 200) {
        expect([body.error.code, body.error.hint]).toEqual([
          "device_elsewhere",
          expect.stringContaining("zapd forget"),
        ]);
        return;
      }
      // What the user enters is sent only to the address that the user names.
      if (round.platform !== "roku") await scene.shareSecrets({ named: true });
      await round.scan();
      await round.drivesAll();
    },
  ),
  order(
    "up; a stranger elsewhere comes, leaves and comes back between scans",
    { real: "up", stranger: "during", seenBy: "scan", where: "other address", manners: "copy" },
    async (round) => {
      await round.scene.know();
      const stranger = await round.stranger("other");
      for (let times = 0; times < 2; times++) {
        await round.scan();
        await stranger.off();
        await round.drives("key");
        await stranger.on();
      }
      await round.scan();
      await round.drivesAll();
    },
  ),
  order(
    "up; a stranger at both another address and, after the set, at its own",
    { real: "returning", stranger: "during", seenBy: "scan", where: "both", manners: "copy", accepted: sameAddress },
    async (round) => {
      await round.scene.know();
      await round.scannedStranger("other");
      await round.scene.real.off();
      const taken = await round.scannedStranger("same");
      await round.mayReachStranger("key");
      await taken.off();
      await round.isBack();
      await round.drives("key");
    },
  ),
];

/** An order with one manner of stranger. */
export interface Played {
  readonly order: Order;
  readonly manner: string;
}

/** All that is played on a platform in a whole run. */
export function playedOn(platform: PlatformName): Played[] {
  return orders
    .filter((order) => order.platforms === undefined || order.platforms.includes(platform))
    .flatMap((order) => {
      if (order.manners === "none") return [{ order, manner: "copy" }];
      const all = order.manners === "copy" ? ["copy"] : Object.keys(manners[platform]);
      return all.map((manner) => ({ order, manner }));
    });
}

/** Each kind of order once, with a different manner each time. */
export function onceEach(platform: PlatformName): Played[] {
  const played = playedOn(platform);
  const kinds = new Set<string>();
  return orders.flatMap((order, at) => {
    const kind = [order.real, order.stranger, order.seenBy, order.where, order.secrets].join();
    const manners = played.filter((one) => one.order === order);
    if (kinds.has(kind) || manners.length === 0) return [];
    kinds.add(kind);
    return manners[at % manners.length] ?? [];
  });
}

/** Every other one of `onceEach`, the others on the next platform: for `npm test`. */
export function halfOf(platform: PlatformName): Played[] {
  const odd = Math.abs(platforms.indexOf(platform as (typeof platforms)[number])) % 2;
  return onceEach(platform).filter(({ order }) => order.platforms !== undefined || orders.indexOf(order) % 2 === odd);
}
