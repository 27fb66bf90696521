/** The developer installer of a Roku, on a port of its own (protocols/roku.md 2.1). */
import { open } from "node:fs/promises";
import { hasCode, hasReason, ZapdError } from "../../api/errors.ts";
import { type Answer, bodyText, DeviceHttp, deadline, refuseRedirect } from "../../transport/http.ts";
import type { Exchange } from "../../transport/http-connection.ts";
import { type Address, type Archive, type Emit, type PlatformHost, pictureBytes } from "../platform.ts";
import { answerChallenge, type Challenge, readChallenge } from "./digest.ts";
import { developerHint, isOk } from "./ecp.ts";
import type { RokuMemory, RokuTarget } from "./identity.ts";
import { type InstallPage, readInstallPage } from "./install-page.ts";

const path = "/plugin_install";
const inspectPath = "/plugin_inspect";
const user = "rokudev";
const maxPageBytes = 1024 * 1024;
/** The chunks of a package are read into the same memory, one after the other. */
const chunkBytes = 256 * 1024;

/**
 * Each request has a connection of its own, and answers a challenge that is fetched just before, without a body: the set answers
 * 401 without reading a body, and closes the connection. Calls fail with `dev_auth_failed` where the password is not accepted.
 */
export class Installer {
  readonly #http: DeviceHttp;
  readonly #platformHost: PlatformHost;
  readonly #target: RokuTarget;
  readonly #emit: Emit<RokuMemory>;

  constructor(address: Address, platformHost: PlatformHost, target: RokuTarget, emit: Emit<RokuMemory>) {
    this.#http = new DeviceHttp({ address, platformHost });
    this.#platformHost = platformHost;
    this.#target = target;
    this.#emit = emit;
  }

  /**
   * Sends a package, once. `autostart`: the set starts the app by itself; `isOwn`: the password was given for this very set.
   * Fails with `dev_update_required` or `device_error`, too.
   */
  async upload(
    archive: Archive,
    { replace, autostart, isOwn }: { readonly replace: boolean; readonly autostart: boolean; readonly isOwn: boolean },
    password: string,
    signal: AbortSignal,
  ): Promise<InstallPage> {
    const form = formOf(archive, {
      mysubmit: replace ? "Replace" : "Install",
      ...(!autostart && { dev_autolaunch: "0" }),
    });
    const answer = await this.#send({ path, form, isOwn }, password, signal, (error) =>
      this.#explainedUpload(error, password, isOwn, signal),
    );
    // 577: the set must check for updates before it accepts packages (roku-deploy#180).
    if (answer.status === 577) throw updateRequired();
    if (!isOk(answer)) throw new ZapdError("device_error", "sent an unknown answer");
    const page = readInstallPage(bodyText(answer));
    if (page.outcome === "update-required") throw updateRequired();
    return page;
  }

  /** Removes the sideloaded package. Returns whether there was one. */
  async remove(password: string, signal: AbortSignal): Promise<boolean> {
    const answer = await this.#send({ path, form: formOf(null, { mysubmit: "Delete" }) }, password, signal);
    const { outcome, messages } = readInstallPage(isOk(answer) ? bodyText(answer) : "");
    if (outcome === "installed") return true;
    if (messages.some((text) => /no such file/i.test(text))) return false;
    throw new ZapdError("device_error", "sent no confirmation");
  }

  /** A screenshot of the sideloaded app; `null` where that is not in front (2.1). */
  async screenshot(password: string, signal: AbortSignal): Promise<Uint8Array | null> {
    const form = formOf(null, { mysubmit: "Screenshot", passwd: "" });
    const page = await this.#send({ path: inspectPath, form }, password, signal);
    // `pkgs/dev_screenshot.png` on a 2910X with 15.2.4 (tests of @rokudev/device-client).
    const [picture] =
      /\bpkgs\/dev\w{0,32}\.(?:jpe?g|png)(?:\?[\w=&.-]{0,128})?/.exec(isOk(page) ? bodyText(page) : "") ?? [];
    if (picture === undefined) return null;
    const answer = await this.#send({ path: `/${picture}`, maxBytes: pictureBytes.screenshot }, password, signal);
    if (isOk(answer)) return answer.body;
    refuseRedirect(answer);
    throw new ZapdError("picture_not_found", "took a screenshot, but does not serve it");
  }

  /** One request with the password. Fails with `dev_auth_failed`, or with what `explained` makes of the failure. */
  async #send(
    { path, form, maxBytes = maxPageBytes, isOwn = false }: InstallerRequest,
    password: string,
    signal: AbortSignal,
    explained = async (error: unknown): Promise<unknown> => error,
  ): Promise<Answer> {
    const challenge = await this.#getChallenge(isOwn, signal);
    const method = form ? "POST" : "GET";
    const headers = {
      ...(form && { "Content-Type": `multipart/form-data; boundary=${form.boundary}` }),
      ...(challenge && { Authorization: authorize(challenge, method, password, path) }),
    };
    const exchange: Exchange = { method, path, headers, ...(form && { body: form }), wanted: "all", maxBytes };
    const answer = await this.#http.exchangeOnce(exchange, signal).catch(async (error: unknown) => {
      throw await explained(error);
    });
    if (answer.status === 401) throw wrongPassword();
    if (challenge && challenge.realm !== this.#target.memory.dev_realm)
      this.#emit({ type: "facts", memory: { dev_realm: challenge.realm } });
    return answer;
  }

  #getPage(headers: Record<string, string>, signal: AbortSignal): Promise<Answer> {
    const exchange: Exchange = { method: "GET", path, headers, wanted: "head", maxBytes: maxPageBytes };
    return this.#http.exchangeOnce(exchange, deadline(this.#platformHost.requestTimeoutMs(), signal));
  }

  /** The challenge, checked; `null` where the set requires no password. */
  async #getChallenge(isOwn: boolean, signal: AbortSignal): Promise<Challenge | null> {
    const answer = await this.#getPage({}, signal).catch((error: unknown) => {
      if (!hasCode(error, "device_unreachable")) throw error;
      // It has just answered on its control port, so it is neither off nor elsewhere.
      const problem = "did not answer on the port of its developer installer";
      throw new ZapdError("device_refused", problem, { hint: developerHint, cause: error });
    });
    if (isOk(answer)) return null;
    const header = answer.status === 401 ? (answer.headers.get("www-authenticate") ?? "") : "";
    const challenge = readChallenge(header);
    if (!challenge && header !== "")
      throw passwordWithheld("without Digest authentication, which would expose it on the network", wrongSetHint);
    if (!challenge)
      throw new ZapdError("device_error", "has no developer installer on that port", { hint: developerHint });
    checkRealm(challenge, this.#target.memory.dev_realm, isOwn);
    return challenge;
  }

  /**
   * Explains a connection that broke during an upload: either the password is wrong, or the set requires a software update
   * (roku-deploy#182). A request with the password and without a body tells which.
   */
  async #explainedUpload(error: unknown, password: string, isOwn: boolean, signal: AbortSignal): Promise<unknown> {
    if (signal.aborted || !hasReason(error, "closed") || error.phase === "connect") return error;
    try {
      const challenge = await this.#getChallenge(isOwn, signal);
      if (!challenge) return error;
      const answer = await this.#getPage({ Authorization: authorize(challenge, "GET", password) }, signal);
      return answer.status === 401 ? wrongPassword() : updateRequired(error);
    } catch (failure) {
      // A set that cannot be asked now explains nothing.
      return hasCode(failure, "dev_auth_failed") ? failure : error;
    }
  }
}

interface InstallerRequest {
  readonly path: string;
  /** The body of a POST; without it the request is a GET. */
  readonly form?: ReturnType<typeof formOf>;
  readonly maxBytes?: number;
  readonly isOwn?: boolean;
}

/** The realm of every set (2.1); emulators have others. */
const usualRealm = "rokudev";

const wrongSetHint = "Check with zapd devices that this is the address of your Roku";

/**
 * A password can be guessed from its digest, so that is sent only to the realm that has accepted it before. Where none has, one
 * that was given for this very set is sent to any, others to the realm of every set. None is sent without `qop`, as such a digest
 * could be looked up in tables (SECURITY.md 2.4).
 */
function checkRealm({ realm, qop }: Challenge, keptRealm: string | undefined, isOwn: boolean): void {
  const quoted = JSON.stringify(realm.slice(0, 64));
  if (realm !== (keptRealm ?? (isOwn ? realm : usualRealm))) {
    if (keptRealm === undefined)
      throw passwordWithheld(
        `for the realm ${quoted}, but zapd sends one that is not for this device alone only to the realm "${usualRealm}"`,
        emulatorHint,
      );
    throw passwordWithheld(
      `for the realm ${quoted}, but accepted it for the realm ${JSON.stringify(keptRealm)} before`,
      `${wrongSetHint}. If it was reset, add it again: zapd forget {device}, then zapd add {address}`,
    );
  }
  if (!qop) throw passwordWithheld("with an old form of Digest authentication, without qop", noQopHint);
}

const emulatorHint = `${wrongSetHint}. If it is an emulator, give a password for it alone: zapd install PACKAGE --password - -d {device}`;
const noQopHint = `${wrongSetHint}. If it is, update it, as current software asks with qop: Settings > System > Software update > Check now`;

function passwordWithheld(how: string, hint: string): ZapdError {
  return new ZapdError("dev_auth_failed", `asks for the developer password ${how}: nothing was sent`, { hint });
}

function authorize(challenge: Challenge, method: string, password: string, uri = path): string {
  return answerChallenge(challenge, { user, password, method, uri });
}

function wrongPassword(): ZapdError {
  return new ZapdError("dev_auth_failed", "refused the developer password", {
    hint: "Give the password of this device: zapd install PACKAGE --password - -d {device}; or set the one for all devices without their own: zapd config set dev.vendor_password -",
  });
}

function updateRequired(cause?: unknown): ZapdError {
  return new ZapdError("dev_update_required", "stopped the installation: it must check for a software update first", {
    hint: "On the Roku: Settings > System > Software update > Check now, then install again",
    cause,
  });
}

/** The multipart form of the installer; the archive is streamed from disk, under a constant file name. Without an archive its field must be empty (2.1). */
function formOf(
  archive: Archive | null,
  fields: Readonly<Record<string, string>>,
): NonNullable<Exchange["body"]> & { boundary: string } {
  const boundary = `----zapd${crypto.randomUUID().replaceAll("-", "")}`;
  const part = (name: string) => `--${boundary}\r\nContent-Disposition: form-data; name="${name}"`;
  const file = archive
    ? `${part("archive")}; filename="package.zip"\r\nContent-Type: application/zip`
    : `${part("archive")}; filename=""\r\nContent-Type: application/octet-stream`;
  const texts = Object.entries(fields).map(([name, value]) => `${part(name)}\r\n\r\n${value}\r\n`);
  const head = Buffer.from(`${texts.join("")}${file}\r\n\r\n`);
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`);
  async function* chunks(): AsyncGenerator<Uint8Array> {
    yield head;
    if (archive) yield* chunksOf(archive);
    yield tail;
  }
  return { boundary, bytes: head.length + (archive?.bytes ?? 0) + tail.length, chunks };
}

async function* chunksOf(archive: Archive): AsyncGenerator<Uint8Array> {
  const file = await open(archive.path);
  let sent = 0;
  archive.sent?.(sent);
  try {
    const chunk = new Uint8Array(chunkBytes);
    for (let read = await file.read(chunk); read.bytesRead > 0; read = await file.read(chunk)) {
      yield chunk.subarray(0, read.bytesRead);
      sent += read.bytesRead;
      archive.sent?.(sent);
    }
  } finally {
    await file.close();
  }
}
