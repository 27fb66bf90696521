/**
 * Downloads the package of a request over the broker: over https, from a listed origin, and only if size and hash match. It is
 * neither executed nor unpacked here.
 */
import { createHash } from "node:crypto";
import dns, { type LookupAddress } from "node:dns";
import { type FileHandle, open, rm } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import https from "node:https";
import net from "node:net";
import { systemCode, textOf, ZapdError } from "../api/errors.ts";
import { packageBytes } from "../api/limits.ts";
import { newUpload } from "../system/state-folder.ts";
import { networkErrors } from "./bus.ts";
import { isLocal } from "./settings.ts";

/** A package as a request names it. */
export interface Artifact {
  /** `https://`, of a listed origin, without a user and a fragment. */
  readonly url: string;
  /** SHA-256 of its bytes, 64 digits of lower-case hex. */
  readonly sha256: string;
  readonly bytes: number;
}

export interface ArtifactOptions {
  /** Exact origins, such as `https://ci.example.org` and `https://ci.example.org:8443`. */
  readonly origins: readonly string[];
  /** The folder for the file until the device has it. */
  readonly folder: string;
  /** A CA that is trusted beside those of the system, PEM. */
  readonly ca?: string | undefined;
  readonly signal: AbortSignal;
  /** Looks up the addresses of a name; the system's lookup by default. */
  readonly lookup?: (name: string) => Promise<readonly LookupAddress[]>;
}

const totalTimeoutMs = 180_000;
const idleTimeoutMs = 10_000;

/**
 * Downloads and checks a package, passes its path to `use`, and removes the file afterwards. Fails with `invalid_payload` for
 * wrong arguments, `forbidden_origin` for an unlisted origin, `invalid_archive` where the download fails or does not match.
 */
export async function withArtifact<T>(
  artifact: Artifact,
  options: ArtifactOptions,
  use: (path: string) => Promise<T>,
): Promise<T> {
  const url = checkArtifact(artifact, options.origins);
  const path = newUpload(options.folder);
  const late = AbortSignal.timeout(totalTimeoutMs);
  const signal = AbortSignal.any([options.signal, late]);
  try {
    await fetchInto(path, url, artifact, { ...options, signal });
    return await use(path);
  } catch (error) {
    if (late.aborted && !(error instanceof ZapdError))
      throw notFetched(url, `it took more than ${totalTimeoutMs / 1000} s`);
    throw error;
  } finally {
    // A disk that has become read-only must not hide what came of the package; the next start removes the file.
    await rm(path).catch(() => {});
  }
}

/** The checks that need no download. */
export function checkArtifact({ url, sha256, bytes }: Artifact, origins: readonly string[]): URL {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (parsed?.protocol !== "https:" || parsed.username !== "" || parsed.password !== "" || parsed.hash !== "")
    throw new ZapdError("invalid_payload", "url must be an https address without a user and without a fragment");
  if (!/^[0-9a-f]{64}$/.test(sha256))
    throw new ZapdError("invalid_payload", "sha256 must be 64 digits of lower-case hex", {
      hint: "Use the first word that sha256sum prints",
    });
  if (!Number.isInteger(bytes) || bytes < 1)
    throw new ZapdError("invalid_payload", "bytes must be the size of the package in bytes");
  if (bytes > packageBytes)
    throw new ZapdError("payload_too_large", `The package is larger than ${packageBytes / (1024 * 1024)} MiB`);
  if (!origins.includes(parsed.origin))
    throw new ZapdError("forbidden_origin", `Packages from ${parsed.origin} are not accepted`, {
      hint: `To accept them, add ${parsed.origin} to the list fleet.artifact_origins on that machine: zapd config edit`,
    });
  return parsed;
}

async function fetchInto(path: string, url: URL, { sha256, bytes }: Artifact, options: ArtifactOptions): Promise<void> {
  const { signal } = options;
  const answer = await request(url, options);
  const length = answer.headers["content-length"];
  const refuse = (why: string) => {
    answer.destroy();
    throw notFetched(url, why);
  };
  if (answer.statusCode !== 200) refuse(statusText(answer.statusCode ?? 0));
  if (answer.headers["content-encoding"] !== undefined)
    refuse("its server sent it with a content-encoding, such as gzip");
  if (length !== undefined && Number(length) !== bytes)
    refuse(`it has ${length} bytes, not the ${bytes} given in the call`);
  const hash = createHash("sha256");
  let received = 0;
  let file: FileHandle | undefined;
  try {
    // Closed before it is removed: a stream that ends at once may open its file after that.
    file = await open(path, "wx", 0o600);
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      received += chunk.length;
      if (received > bytes) break;
      hash.update(chunk);
      await file.appendFile(chunk);
    }
  } catch (error) {
    signal.throwIfAborted();
    if (fileErrors.test(systemCode(error))) throw notStored(error);
    throw notFetched(url, received < bytes ? `only ${received} of ${bytes} bytes came` : textOf(error));
  } finally {
    await file?.close();
  }
  const size = received > bytes ? `more than the ${bytes} bytes` : `${received} bytes, not the ${bytes}`;
  if (received !== bytes) throw notFetched(url, `it has ${size} given in the call`);
  if (hash.digest("hex") !== sha256) throw notFetched(url, "its SHA-256 is not the one given in the call");
}

/** Tries with the CAs of the system, then with the given one: on some runtimes a `ca` replaces those of the system. */
async function request(url: URL, options: ArtifactOptions): Promise<IncomingMessage> {
  try {
    return await get(url, { ...options, ca: undefined });
  } catch (error) {
    if (options.ca === undefined || !(error instanceof Error) || !certificateErrors.test(systemCode(error.cause)))
      throw error;
    return get(url, options);
  }
}

/** System codes of an untrusted certificate: nothing was sent over that connection. */
const certificateErrors = /^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/;

/** One GET over a new connection to an allowed address. Redirects are not followed. */
function get(url: URL, { ca, signal, lookup }: ArtifactOptions): Promise<IncomingMessage> {
  const resolveName = lookup ?? ((name: string) => dns.promises.lookup(name, { all: true, verbatim: true }));
  return new Promise((resolve, reject) => {
    const failed = (error: unknown) => {
      if (error instanceof ZapdError || signal.aborted) return reject(signal.aborted ? signal.reason : error);
      reject(notFetched(url, reasonOf(error), error));
    };
    const call = https.request(url, {
      headers: { accept: "*/*", "accept-encoding": "identity" },
      agent: false,
      signal,
      timeout: idleTimeoutMs,
      ...(ca !== undefined && { ca: [ca] }),
      // So that the connection goes to the address that was checked.
      lookup(name, options, done) {
        resolveName(name).then(
          (all) => {
            const allowed = all.filter(({ address }) => isLocal(url) || !forbidden.check(address, familyOf(address)));
            const [first] = allowed;
            if (!first)
              return done(notFetched(url, `${url.hostname} has only addresses of this machine or its link`), "", 4);
            if (options.all) done(null, allowed);
            else done(null, first.address, first.family);
          },
          (error: NodeJS.ErrnoException) => done(error, "", 4),
        );
      },
    });
    call.on("timeout", () => call.destroy(notFetched(url, `its server sent nothing for ${idleTimeoutMs / 1000} s`)));
    call.on("error", failed);
    call.on("response", resolve);
    call.end();
  });
}

/** System codes of the disk, not of the connection. */
const fileErrors = /^(ENOSPC|EDQUOT|EIO|EROFS|EACCES|EPERM|EMFILE|ENFILE)$/;

/**
 * Addresses that a name may not resolve to: loopback, link-local and multicast. Private networks are allowed, since the server
 * of a lab is in one, and its owner has listed it. An IPv4 address in an IPv6 one (`::ffff:127.0.0.1`) is found too.
 */
const forbidden = new net.BlockList();
for (const [prefix, bits] of [
  ["0.0.0.0", 8],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["224.0.0.0", 3],
  ["::", 128],
  ["::1", 128],
  ["fe80::", 10],
  ["ff00::", 8],
] as const)
  forbidden.addSubnet(prefix, bits, familyOf(prefix));

function familyOf(address: string) {
  return net.isIPv6(address) ? "ipv6" : "ipv4";
}

function statusText(status: number): string {
  const isRedirect = status >= 300 && status < 400;
  return `its server answered ${status}${isRedirect ? ", and redirects are not followed" : ""}`;
}

function reasonOf(error: unknown): string {
  const code = systemCode(error);
  if (certificateErrors.test(code)) return `the certificate of its server is not trusted (${code})`;
  return networkErrors[code] ?? (code === "" ? textOf(error) : code);
}

function notFetched(url: URL, why: string, cause?: unknown): ZapdError {
  return new ZapdError("invalid_archive", `The package at ${url.origin}${url.pathname} was not downloaded: ${why}`, {
    hint: "The site downloads it itself: check the address, the size and the SHA-256, and that the machine can reach it",
    cause,
  });
}

function notStored(cause: unknown): ZapdError {
  return new ZapdError("storage_error", "The package could not be stored on disk for sending", {
    hint: "Check that the disk of the state folder is not full",
    cause,
  });
}
