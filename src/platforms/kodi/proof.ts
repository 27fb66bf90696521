/**
 * The identity of a Kodi, checked on every new connection to it (SECURITY.md 2.4). It announces its id over mDNS only, so it is known
 * by its name and its MAC address, and by its announcement where those two leave a doubt.
 */
import { hasReason, wrongDevice, ZapdError } from "../../api/errors.ts";
import { sleep } from "../../system/sleep.ts";
import { text } from "../../transport/json.ts";
import { readMac } from "../../transport/wake-on-lan.ts";
import type { Emit, MdnsService, PlatformHost } from "../platform.ts";
import {
  type Ask,
  defaultSocketPort,
  type httpType,
  isUuid,
  macLabel,
  macOf,
  nameLabel,
  socketType,
  uuidOf,
  webPortOf,
} from "./announced.ts";
import type { KodiMemory, KodiTarget } from "./memory.ts";

const announcementTimeoutMs = 3_000;
/** An announcement seen right before a login is sent holds for the connection that the login opens. */
const announcementHoldsMs = 1_000;
const silenceHoldsMs = 30_000;
/** Kodi answers "Busy" when it is asked for its MAC address for the first time (7.2), and sometimes for much longer. */
const macRetries = { times: 4, everyMs: 100 };
const macBackgroundRetries = { times: 15, everyMs: 2_000 };
/** Its wired and its wireless one, and those that it had before. */
const maxMacs = 4;

interface KodiProofOptions {
  readonly target: KodiTarget;
  readonly platformHost: Pick<PlatformHost, "announced">;
  readonly emit: Emit<KodiMemory>;
  /** The service that it is found by: that of its web server, or of its socket where it has no web server. */
  readonly service: typeof httpType | typeof socketType;
  /** Asks the proven Kodi. */
  readonly read: Ask;
  /** Ends when the device is closed. */
  readonly signal: AbortSignal;
}

export class KodiProof {
  readonly #options: KodiProofOptions;
  #announcedAt = Number.NEGATIVE_INFINITY;
  #silentAt = Number.NEGATIVE_INFINITY;
  #hasAskedMac = false;

  constructor(options: KodiProofOptions) {
    this.#options = options;
  }

  /** Whether it was asked for its announcement in the last 30 s, and did not answer. */
  get isSilent(): boolean {
    return performance.now() - this.#silentAt < silenceHoldsMs;
  }

  /** Another device may be at the address by now. */
  reset(): void {
    this.#announcedAt = Number.NEGATIVE_INFINITY;
    this.#silentAt = Number.NEGATIVE_INFINITY;
  }

  /** Fails with the reason `wrong_device` where another Kodi announces itself, and with `device_unproven` where none does. */
  async requireAnnouncement(signal: AbortSignal): Promise<void> {
    const isAnnounced = await this.#isAnnounced(signal);
    signal.throwIfAborted();
    if (isAnnounced === false) throw wrongDevice(this.#options.target.host);
    if (isAnnounced) {
      this.#announcedAt = performance.now();
      return;
    }
    this.#silentAt = performance.now();
    throw unproven(
      "announced itself before, but the device at its address now does not: zapd sends it no password and no typed text",
    );
  }

  /**
   * A socket whose port was not set by the user may be that of another Kodi on the same machine, with the same MAC address and
   * often the same name. That Kodi reports the port of its own web server, or is known by its announcement.
   */
  async refuseNeighbour(ask: Ask, socketPort: number | null, signal: AbortSignal): Promise<void> {
    const { host, port, ports, identity } = this.#options.target;
    if (ports["websocket"] !== undefined) return;
    const webPort = await webPortOf(ask);
    if (webPort === port) return;
    const isWebOff = webPort === null;
    if (webPort !== undefined && !(isWebOff && isUuid(identity))) throw neighbour();
    if (!isWebOff && socketPort !== null) return;
    const isIt = (service: MdnsService) => service.port === (socketPort ?? defaultSocketPort);
    const service = await this.#options.platformHost.announced(socketType, host, isIt, signal);
    const uuid = service && uuidOf(service.txt);
    if (isWebOff ? uuid !== identity : uuid && uuid !== identity && isUuid(identity)) throw neighbour();
  }

  /** Fails with the reason `wrong_device` for another Kodi, and with `device_unproven` where that cannot be told. */
  async prove(ask: Ask): Promise<void> {
    const { target, emit } = this.#options;
    const labels = await ask("XBMC.GetInfoLabels", { labels: [nameLabel, macLabel] }).catch((error: unknown) => {
      throw hasReason(error, "protocol") ? wrongDevice(target.host) : error;
    });
    const { macs } = target.facts;
    const name = text(labels[nameLabel]);
    const firstMac = readMac(labels[macLabel]);
    // Its announcement and its MAC address are asked for at the same time, as both may take long, and one of them is enough.
    const needsAnnouncement = isUuid(target.identity) && !(firstMac !== null && macs.includes(firstMac));
    const announcement = needsAnnouncement ? this.#recentAnnouncement() : Promise.resolve(false);
    let isAnnounced: boolean | null = false;
    announcement.then(
      (result) => {
        isAnnounced = result;
      },
      () => {},
    );
    const retriesMac = firstMac === null && (macs.length > 0 || !this.#hasAskedMac);
    const mac = retriesMac ? await this.#retryMac(ask, macRetries, () => isAnnounced === true) : firstMac;
    const isOwnMac = mac !== null && macs.length > 0 ? macs.includes(mac) : null;
    // One with an id that reports no name has the name that it announces.
    const isOwnName =
      name === target.facts.name || target.facts.name === null || (name === null && isUuid(target.identity));
    // Many are simply called Kodi: the name alone proves nothing of one that announces an id.
    if (isOwnMac !== true && (isUuid(target.identity) || isOwnMac === false || !isOwnName)) {
      isAnnounced = await announcement;
      if (isAnnounced === null && isOwnMac === null && isOwnName)
        throw unproven(
          "cannot be told apart from another Kodi of the same name: it does not announce itself now, and does not report its hardware address",
        );
      if (!isAnnounced) throw wrongDevice(target.host);
    }
    if (mac !== null && isOwnMac !== true)
      emit({ type: "facts", facts: { macs: [mac, ...target.facts.macs].slice(0, maxMacs) } });
    if (name !== null && name !== target.facts.name) emit({ type: "facts", facts: { name } });
    if (mac === null && target.facts.macs.length === 0 && !this.#hasAskedMac) {
      this.#hasAskedMac = true;
      this.#learnMac().catch(() => {});
    }
  }

  /** In the background: the address to wake it by. */
  async #learnMac(): Promise<void> {
    const mac = await this.#retryMac(this.#options.read, macBackgroundRetries);
    if (mac !== null) this.#options.emit({ type: "facts", facts: { macs: [mac] } });
  }

  async #retryMac(
    ask: Ask,
    { times, everyMs }: { readonly times: number; readonly everyMs: number },
    isNeedless = () => false,
  ): Promise<string | null> {
    for (let round = 0; round < times && !isNeedless(); round++) {
      await sleep(everyMs, this.#options.signal);
      const mac = await macOf(ask);
      if (mac !== null) return mac;
    }
    return null;
  }

  async #recentAnnouncement(): Promise<boolean | null> {
    if (performance.now() - this.#announcedAt < announcementHoldsMs) return true;
    return this.#isAnnounced(AbortSignal.timeout(announcementTimeoutMs));
  }

  /** Whether the Kodi that announces itself at this address and port is the one that is meant; `null` where none does. */
  async #isAnnounced(signal: AbortSignal): Promise<boolean | null> {
    const { platformHost, service: type } = this.#options;
    const { host, port, identity } = this.#options.target;
    const isIt = (service: MdnsService) => service.port === port && uuidOf(service.txt) !== null;
    const service = await platformHost.announced(type, host, isIt, signal);
    if (service === null) return null;
    if (uuidOf(service.txt) !== identity) return false;
    this.#silentAt = Number.NEGATIVE_INFINITY;
    return true;
  }
}

function unproven(problem: string): ZapdError {
  return new ZapdError("device_unproven", problem, {
    hint: "In Kodi, turn on Settings > Services > General > Announce services to other systems. If it should stay off, add the device again: zapd forget {device}, then zapd add {address}",
  });
}

/** Not `wrong_device`: the web server of the one that is meant may answer all the same. */
function neighbour(): ZapdError {
  return new ZapdError("device_error", "has its WebSocket on another port: another Kodi answers on the default port");
}
