/** The developer installer of a Roku, on a port of its own (protocols/roku.md 2.1). */
import { open } from "node:fs/promises";
import { hasCode, hasReason, ZapdError } from "../../api/errors.ts";
import { type Answer, bodyText, type DeviceHttp, refuseRedirect } from "../../transport/http.ts";
import type { Exchange } from "../../transport/http-connection.ts";
import { type Archive, pictureBytes } from "../platform.ts";
import { answerChallenge, type Challenge, readChallenge } from "./digest.ts";
import { developerHint, isOk } from "./ecp.ts";
import { type InstallPage, readInstallPage } from "./install-page.ts";

const path = "/plugin_install";
const inspectPath = "/plugin_inspect";
const user = "rokudev";
const pageBytes = 1024 * 1024;
/** One piece of a package after the other is read into the same memory. */
const pieceBytes = 256 * 1024;

export interface Login {
  readonly password: string;
  /** The realm under which the set has accepted its password before; `undefined` at a first meeting. */
  readonly realm: string | undefined;
  /** Told the realm under which it accepts it now. */
  accepted(realm: string): void;
}

export interface UploadOptions extends Login {
  readonly replace: boolean;
  /** Whether the set starts the app by itself. */
  readonly starts: boolean;
}

/**
 * Sends a package: a challenge without a body first, since the set answers 401 without reading and hangs up, then the
 * package once. Every call has a fresh connection. Fails with `dev_auth_failed`, `dev_update_required` or `device_error`.
 */
export async function upload(
  http: DeviceHttp,
  archive: Archive,
  options: UploadOptions,
  signal: AbortSignal,
): Promise<InstallPage> {
  const fields = { mysubmit: options.replace ? "Replace" : "Install", ...(!options.starts && { dev_autolaunch: "0" }) };
  const answer = await ask(http, { path, form: formOf(archive, fields) }, options, signal, (error) =>
    explainBreak(http, options, error, signal),
  );
  // 577: the set wants to phone home before it takes packages (roku-deploy#180).
  if (answer.status === 577) throw updateRequired();
  if (!isOk(answer)) throw new ZapdError("device_error", "answered the package in a way that is not understood");
  const page = readInstallPage(bodyText(answer));
  if (page.outcome === "update-required") throw updateRequired();
  return page;
}

/** Removes the sideloaded package; whether there was one. */
export async function removePackage(http: DeviceHttp, login: Login, signal: AbortSignal): Promise<boolean> {
  const answer = await ask(http, { path, form: formOf(null, { mysubmit: "Delete" }) }, login, signal);
  const { outcome, messages } = readInstallPage(isOk(answer) ? bodyText(answer) : "");
  if (outcome === "installed") return true;
  if (messages.some((text) => /no such file/i.test(text))) return false;
  throw new ZapdError("device_error", "did not say that it has removed the package");
}

/** A picture of the sideloaded app, `null` where the set takes none since that is not in front (2.1). */
export async function takeScreenshot(http: DeviceHttp, login: Login, signal: AbortSignal): Promise<Uint8Array | null> {
  const form = formOf(null, { mysubmit: "Screenshot", passwd: "" });
  const page = await ask(http, { path: inspectPath, form }, login, signal);
  const [picture] = /\bpkgs\/dev\.(?:jpe?g|png)(?:\?[\w=&.-]{0,128})?/.exec(isOk(page) ? bodyText(page) : "") ?? [];
  if (picture === undefined) return null;
  const answer = await ask(http, { path: `/${picture}`, maxBytes: pictureBytes.screenshot }, login, signal);
  if (isOk(answer)) return answer.body;
  refuseRedirect(answer);
  throw new ZapdError("picture_not_found", "names a picture of its screen, and does not give it");
}

interface Asked {
  readonly path: string;
  /** Sent with POST; without it, it is a GET. */
  readonly form?: ReturnType<typeof formOf>;
  readonly maxBytes?: number;
}

/**
 * One call with the password, on a connection of its own, for a challenge that was asked for just before. Fails with
 * `dev_auth_failed`; `broken` says what it means that the connection broke.
 */
async function ask(
  http: DeviceHttp,
  { path, form, maxBytes = pageBytes }: Asked,
  { password, realm, accepted }: Login,
  signal: AbortSignal,
  broken?: (error: unknown) => Promise<never>,
): Promise<Answer> {
  const challenge = await askChallenge(http, realm, signal);
  const method = form ? "POST" : "GET";
  const headers = {
    ...(form && { "Content-Type": `multipart/form-data; boundary=${form.boundary}` }),
    ...(challenge && { Authorization: authorize(challenge, method, password, path) }),
  };
  const exchange: Exchange = { method, path, headers, ...(form && { body: form }), wanted: "all", maxBytes };
  const answer = await http.exchangeOnce(exchange, signal).catch((error: unknown) => {
    if (broken) return broken(error);
    throw error;
  });
  if (answer.status === 401) throw wrongPassword();
  if (challenge) accepted(challenge.realm);
  return answer;
}

/** Asks for the installer's page. */
function look(http: DeviceHttp, headers: Record<string, string>, signal: AbortSignal): Promise<Answer> {
  return http.exchangeOnce({ method: "GET", path, headers, wanted: "head", maxBytes: pageBytes }, http.within(signal));
}

/** The challenge, fit to be answered, or `null` when this set lets anyone in. */
async function askChallenge(
  http: DeviceHttp,
  realm: string | undefined,
  signal: AbortSignal,
): Promise<Challenge | null> {
  const answer = await look(http, {}, signal).catch((error: unknown) => {
    if (!hasCode(error, "device_unreachable")) throw error;
    throw error.reworded("does not answer on its developer installer", { hint: developerHint });
  });
  if (isOk(answer)) return null;
  const asked = answer.status === 401 ? (answer.headers.get("www-authenticate") ?? "") : "";
  const challenge = readChallenge(asked);
  if (!challenge && asked !== "")
    throw notGiven("in another way than sets do, which would show it to whoever listens", strangerHint);
  if (!challenge)
    throw new ZapdError("device_error", "has no developer installer on that port", { hint: developerHint });
  checkRealm(challenge, realm);
  return challenge;
}

/**
 * The connection broke in mid-upload. Either the password is wrong (the set hangs up behind its 401), or the set wants a
 * software update (roku-deploy#182): a check of the password without a body tells which.
 */
async function explainBreak(
  http: DeviceHttp,
  { password, realm }: UploadOptions,
  error: unknown,
  signal: AbortSignal,
): Promise<never> {
  if (signal.aborted || !hasReason(error, "closed") || error.phase === "connect") throw error;
  const challenge = await askChallenge(http, realm, signal);
  if (!challenge) throw error;
  const answer = await look(http, { Authorization: authorize(challenge, "GET", password) }, signal);
  throw answer.status === 401 ? wrongPassword() : updateRequired(error);
}

/** What every set calls the realm of its installer (2.1); emulators have names of their own. */
const usualRealm = "rokudev";

const strangerHint = "Check with zapd devices that this address is that of your set";

/**
 * A digest is work for whoever wants to guess the password, so it goes to whom it is meant for alone: the realm that has
 * accepted it before, or, at a first meeting, the one of every set. And never without `qop`: what is asked for so could be
 * looked up in tables (SECURITY.md 2.4).
 */
function checkRealm({ realm, qop }: Challenge, known: string | undefined): void {
  const said = JSON.stringify(realm.slice(0, 64));
  if (realm !== (known ?? usualRealm)) {
    if (known === undefined)
      throw notGiven(
        `for the realm ${said}, and the password for all sets is given only to the realm "${usualRealm}"`,
        emulatorHint,
      );
    throw notGiven(
      `for the realm ${said}, and has accepted it as ${JSON.stringify(known)} before`,
      `${strangerHint}. If it was really set up anew, begin anew with it: zapd forget {device}, then zapd add {address}`,
    );
  }
  if (!qop) throw notGiven("in the old way, without qop", oldWayHint);
}

const emulatorHint = `${strangerHint}. An emulator asks for a realm of its own: give it the realm "${usualRealm}", or install with its own tools`;
const oldWayHint = `${strangerHint}. On the Roku: Settings > System > Software update > Check now, since current software asks with qop`;

/** The password was asked for by someone, or in a way, that does not get it. */
function notGiven(how: string, hint: string): ZapdError {
  return new ZapdError("dev_auth_failed", `asks for the developer password ${how}: nothing was sent`, { hint });
}

function authorize(challenge: Challenge, method: string, password: string, uri = path): string {
  return answerChallenge(challenge, { user, password, method, uri });
}

function wrongPassword(): ZapdError {
  return new ZapdError("dev_auth_failed", "refused the developer password", {
    hint: "Give this set's own: zapd install PACKAGE --password - -d {device}; or one for all sets without: zapd config set dev.vendor_password -",
  });
}

function updateRequired(cause?: unknown): ZapdError {
  return new ZapdError(
    "dev_update_required",
    "broke the installation off: it wants to look for a software update first",
    {
      hint: "On the Roku: Settings > System > Software update > Check now, then install again",
      cause,
    },
  );
}

/** The installer's form, with an empty file where there is none to send; streamed from disk. The file name is a constant: none from outside reaches the set. */
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
    if (archive) yield* piecesOf(archive);
    yield tail;
  }
  return { boundary, bytes: head.length + (archive?.bytes ?? 0) + tail.length, chunks };
}

async function* piecesOf(archive: Archive): AsyncGenerator<Uint8Array> {
  const file = await open(archive.path);
  let sent = 0;
  archive.sent?.(sent);
  try {
    const piece = new Uint8Array(pieceBytes);
    for (let read = await file.read(piece); read.bytesRead > 0; read = await file.read(piece)) {
      yield piece.subarray(0, read.bytesRead);
      sent += read.bytesRead;
      archive.sent?.(sent);
    }
  } finally {
    await file.close();
  }
}
