/**
 * The volume of a TV: its UPnP renderer, at a separate port, reads and sets levels (smart-tvs.md 3.3). TVs without
 * one accept volume keys.
 */
import { hasCode, hasReason, ZapdError } from "../../api/errors.ts";
import { DeviceHttp } from "../../transport/http.ts";
import { askSoap, type SoapValues, soapFlag, tellSoap, unlessFault } from "../../transport/soap.ts";
import type { Emit, PlatformHost, PlatformState } from "../platform.ts";
import type { SamsungMemory, SamsungTarget } from "./memory.ts";

export const rendererPort = 9_197;
const path = "/upnp/control/RenderingControl1";
const service = "urn:schemas-upnp-org:service:RenderingControl:1";
const master = { InstanceID: 0, Channel: "Master" } as const;

export class Volume {
  readonly #http: DeviceHttp;
  readonly #target: SamsungTarget;
  readonly #emit: Emit<SamsungMemory>;

  constructor(target: SamsungTarget, platformHost: PlatformHost, emit: Emit<SamsungMemory>) {
    const address = { host: target.host, port: target.ports["renderer"] ?? rendererPort };
    this.#http = new DeviceHttp({ address, platformHost });
    this.#target = target;
    this.#emit = emit;
  }

  /**
   * The volume; `null` where the TV has no renderer or does not answer. Asked each time, since the renderer opens some
   * time after the control port.
   */
  async read(signal: AbortSignal): Promise<PlatformState["volume"]> {
    try {
      const ask = (action: string) => askSoap(this.#http, { path, service, action, args: master }, signal);
      const volume = await ask("GetVolume");
      const mute = await unlessFault(ask("GetMute"));
      this.#rememberRenderer(true);
      return { level: levelOf(volume), muted: soapFlag(mute.get("CurrentMute")) };
    } catch (error) {
      signal.throwIfAborted();
      if (this.#isLacking(error)) this.#rememberRenderer(false);
      return null;
    }
  }

  async set(level: number, signal: AbortSignal): Promise<void> {
    await this.#command("SetVolume", { DesiredVolume: Math.round(level) }, signal);
  }

  async mute(muted: boolean, signal: AbortSignal): Promise<void> {
    await this.#command("SetMute", { DesiredMute: muted ? 1 : 0 }, signal);
  }

  close(): void {
    this.#http.close();
  }

  async #command(action: string, args: Readonly<Record<string, number>>, signal: AbortSignal): Promise<void> {
    try {
      await tellSoap(this.#http, { path, service, action, args: { ...master, ...args } }, signal);
      this.#rememberRenderer(true);
    } catch (error) {
      if (!this.#isLacking(error)) throw explainUnreachable(error);
      this.#rememberRenderer(false);
      throw new ZapdError("unsupported_operation", "cannot set its volume directly", {
        hint: "Change it in steps: zapd volume +5 -d {device}",
        cause: error,
      });
    }
  }

  #rememberRenderer(renderer: boolean): void {
    if (this.#target.memory.renderer !== renderer) this.#emit({ type: "facts", memory: { renderer } });
  }

  /** It has no such service, or nothing listens at its port. A renderer that has answered before is still starting. */
  #isLacking(error: unknown): boolean {
    const isMissing = hasReason(error, "refused") && this.#target.memory.renderer !== true;
    return isMissing || hasCode(error, "unsupported_operation");
  }
}

/** The TV is on, so it is not the TV that is unreachable. */
function explainUnreachable(error: unknown): unknown {
  if (!hasCode(error, "device_unreachable")) return error;
  return new ZapdError("device_error", "cannot set its volume now: its renderer does not answer", {
    hint: "If it was just turned on, try again in a few seconds; or change it in steps: zapd volume +5 -d {device}",
    cause: error,
  });
}

function levelOf(values: SoapValues): number | null {
  const level = values.get("CurrentVolume") ?? "";
  return /^\d{1,3}$/.test(level) ? Math.min(100, Number(level)) : null;
}
