/**
 * The endpoints of one device, the leading one first. Where there are several: what they can do together, and which of them
 * takes a command.
 */
import {
  type Capability,
  capabilities,
  type Description,
  type Key,
  keys,
  type PlatformState,
  type Power,
  type StatePart,
} from "../platforms/platform.ts";
import { mergeStates, type StateSource, sortByPlatform } from "./compose.ts";
import type { DeviceDependencies } from "./device.ts";
import type { Endpoint } from "./endpoint.ts";
import { removedError } from "./names.ts";
import type { DeviceRecord } from "./record.ts";
import type { Task } from "./task.ts";

type EndpointSetDependencies = Pick<DeviceDependencies, "registry" | "trust" | "endpointOf">;
type Needs = Pick<Task<unknown>, "needs" | "accepts" | "isConfidential">;

const ofKeys: ReadonlySet<Capability> = new Set(["keys", "hold"]);
const platformOf = (endpoint: Endpoint) => endpoint.record.platform;

export class EndpointSet {
  readonly all: readonly Endpoint[];
  readonly leading: Endpoint;
  /** All of them, in the order in which their facts are shown. */
  readonly byFacts: readonly Endpoint[];
  readonly #deps: EndpointSetDependencies;

  constructor(deps: EndpointSetDependencies, records: readonly DeviceRecord[]) {
    this.#deps = deps;
    const { leading, facts = leading } = deps.registry.composition;
    this.all = sortByPlatform(records, leading, ({ platform }) => platform).map(deps.endpointOf);
    const [first] = this.all;
    if (!first) throw removedError();
    this.leading = first;
    this.byFacts = sortByPlatform(this.all, facts, platformOf);
  }

  /** The endpoints that drive the whole device; all of them where none does. */
  get whole(): readonly Endpoint[] {
    const whole = this.all.filter((endpoint) => !this.#isPartial(endpoint));
    return whole.length > 0 ? whole : this.all;
  }

  /** The endpoints whose keys are the device's own: the keys of a part of it may mean something else. */
  get #withDeviceKeys(): readonly Endpoint[] {
    const { whole } = this;
    return whole.some(({ description }) => description.has.has("keys")) ? whole : this.all;
  }

  /** What works on the device now. */
  get capabilities(): readonly Capability[] {
    const own = this.#withDeviceKeys;
    return capabilities.filter((one) => (ofKeys.has(one) ? own : this.all).some((endpoint) => endpoint.has(one)));
  }

  /** What the device can do, known without a connection. */
  get description(): Description {
    const has = new Set(this.all.flatMap(({ description }) => [...description.has]));
    const works = this.capabilities;
    const withheld = new Set([...has].filter((one) => !works.includes(one)));
    return { has, withheld, keys: new Set(this.#withDeviceKeys.flatMap(({ description }) => [...description.keys])) };
  }

  /** The keys that work on the device now. */
  get keys(): readonly Key[] {
    const own = this.#withDeviceKeys;
    return keys.filter((key) => own.some((endpoint) => endpoint.keys.includes(key)));
  }

  /** The endpoints that can do a task, the preferred first; where none can, one that can say why. */
  candidates({ needs, accepts, isConfidential }: Needs): readonly Endpoint[] {
    if (needs === undefined) return [this.leading];
    const { trust, registry } = this.#deps;
    const preferred = registry.composition.preferred[needs] ?? [];
    const inOrder = sortByPlatform(needs === "keys" ? this.#withDeviceKeys : this.all, preferred, platformOf);
    const able = inOrder.filter((endpoint) => endpoint.has(needs) && (accepts?.(endpoint) ?? true));
    const paired = isConfidential ? able.filter(({ record }) => trust.isPaired(record)) : [];
    const chosen = paired.length > 0 ? paired : able;
    return chosen.length > 0 ? chosen : [inOrder.find((endpoint) => endpoint.withholds(needs)) ?? this.leading];
  }

  /** The endpoints that report state, the preferred first. */
  get withState(): readonly Endpoint[] {
    const { state = [] } = this.#deps.registry.composition.preferred;
    // An endpoint that is not paired may have been paired at the device meanwhile: reading its state shows that.
    const all = this.all.filter(({ description }) => description.has.has("state"));
    return sortByPlatform(all, state, platformOf);
  }

  /** The power of the device, without asking it: that of the endpoint whose report counts. */
  get power(): Power {
    const sourceOf = (one: Endpoint) => this.sourceOf(one, { power: one.presence.power });
    return mergeStates(sourceOf(this.leading), ...this.all.slice(1).map(sourceOf)).power;
  }

  /** The state that an endpoint has shown, with how much it counts beside that of the others. */
  sourceOf<State extends object = Partial<PlatformState>>(endpoint: Endpoint, state: State): StateSource<State> {
    const { behind = {} } = this.#deps.registry.composition;
    const { pushed } = endpoint;
    return { state, pushed, isPartial: this.#isPartial(endpoint), behind: behind[platformOf(endpoint)] ?? [] };
  }

  /**
   * The same of several, without that of a program's own renderer (by the page that it gives) beside that of the program, while
   * that runs: it tells the same, and later.
   */
  sourcesOf<State extends object>(states: readonly (readonly [Endpoint, State])[]): readonly StateSource<State>[] {
    const running = states.filter(([{ presence }, state]) => "playback" in state && !presence.isOff);
    const pages = running.map(([{ record }]) => `page:${record.port}`);
    const isEcho = (one: Endpoint) =>
      this.#isPartial(one) && one.record.hardware_ids?.some((id) => pages.includes(id)) === true;
    return states.flatMap(([one, state]) => (isEcho(one) ? [] : [this.sourceOf(one, state)]));
  }

  /** The state parts that the device reports by itself while it is connected: none while an endpoint that answers pushes nothing. */
  get pushedParts(): ReadonlySet<StatePart> {
    // One on a platform that this version does not know has no connection.
    const reporting = this.whole.filter(({ description }) => description.has.has("state"));
    // What the others push may not be what that one shows.
    const isSilent = (one: Endpoint) => one.pushed.size === 0 && one.presence.availability.status === "online";
    if (reporting.some((one) => one.has("state") && isSilent(one))) return new Set();
    return new Set(reporting.flatMap(({ connection }) => [...(connection.state?.pushes ?? [])]));
  }

  #isPartial(endpoint: Endpoint): boolean {
    return this.#deps.registry.composition.partial?.includes(platformOf(endpoint)) === true;
  }
}
