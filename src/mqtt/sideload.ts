/**
 * `dev_install`: downloads a package that a call over the bus names, and sends it to a device as `POST …/dev/install` does. It
 * needs a lease of the device, and an origin that this daemon's own config lists.
 */
import { z } from "zod";
import { type ClientOptions, createCall } from "../api/client.ts";
import { ZapdError } from "../api/errors.ts";
import { describeIssue } from "../api/issues.ts";
import { streamFile } from "../system/files.ts";
import { Semaphore } from "../system/semaphore.ts";
import { checkArtifact, withArtifact } from "./artifact.ts";

/** The current settings of packages. */
export interface ArtifactSettings {
  origins(): readonly string[];
  /** The folder for downloads. */
  readonly folder: string;
  /** A CA that is trusted beside those of the system, PEM. */
  ca(): string | undefined;
}

export interface SideloadOptions {
  /** How to call the API of this daemon. */
  readonly api: ClientOptions;
  readonly artifacts: ArtifactSettings;
}

const InstallArgs = z.strictObject({
  device: z.string().min(1),
  url: z.string(),
  sha256: z.string(),
  bytes: z.number(),
  params: z.record(z.string(), z.string()).optional(),
});

/** Simultaneous downloads: as many as installations. */
const maxDownloads = 2;

export class Sideload {
  readonly #options: SideloadOptions;
  readonly #call: ReturnType<typeof createCall>;
  readonly #turns = new Semaphore(maxDownloads);
  /** Aborted when the lease of a device ends, by the device's id. */
  readonly #leaseEnds = new Map<string, AbortController>();

  constructor(options: SideloadOptions) {
    this.#options = options;
    this.#call = createCall(options.api);
  }

  /** Resolves with the answer of the API, unchanged. */
  async install(
    args: Readonly<Record<string, unknown>>,
    lease: string | undefined,
    signal: AbortSignal,
  ): Promise<string> {
    const { artifacts } = this.#options;
    const { success, data, error } = InstallArgs.safeParse(args, { reportInput: true });
    if (!success)
      throw new ZapdError("invalid_payload", `dev_install: ${describeIssue(error.issues)}`.slice(0, 500), {
        hint: `Its arguments are: ${Object.keys(InstallArgs.shape).join(", ")}`,
      });
    const { device: id, params, ...artifact } = data;
    if (lease === undefined)
      throw new ZapdError("invalid_payload", "dev_install needs a lease of the device", {
        hint: 'Take one first: {"op":"take_lease","args":{"device":"…","owner":"…","ttl_s":300}}, and send its token as "lease"',
      });
    checkArtifact(artifact, artifacts.origins());
    const { data: device } = await this.#call("getDevice", { id, signal });
    // Checked before the download; the API itself checks the token of the lease.
    if (!device.capabilities.includes("dev"))
      throw new ZapdError(
        "unsupported_operation",
        `${device.name} does not accept packages: it lacks the capability "dev"`,
      );
    if (device.lease === null) throw leaseHasEnded(device.name);
    const leaseEnd = this.#leaseEnds.get(device.id) ?? new AbortController();
    this.#leaseEnds.set(device.id, leaseEnd);
    const within = AbortSignal.any([signal, leaseEnd.signal]);
    return this.#turns.run(async () => {
      within.throwIfAborted();
      const { origins, folder, ca } = artifacts;
      return withArtifact(artifact, { origins: origins(), folder, ca: ca(), signal: within }, async (path) => {
        const archive = { size: artifact.bytes, stream: () => streamFile(path) };
        return (await this.#call("installPackage", { id: device.id, archive, params, lease, signal })).text;
      });
    });
  }

  /** Ends the installations on a device whose lease has ended: those that wait, and their downloads. */
  leaseEnded(deviceId: string): void {
    this.#leaseEnds.get(deviceId)?.abort(leaseHasEnded("the device"));
    this.#leaseEnds.delete(deviceId);
  }
}

function leaseHasEnded(name: string): ZapdError {
  return new ZapdError("device_leased", `The lease of ${name} has ended`, { hint: "Take a new one with take_lease" });
}
