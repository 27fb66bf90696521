/** Developer mode of a Roku: sideloading, starting anew, the console (protocols/roku.md 2). */
import { hasCode, type PackageProblem, ZapdError } from "../../api/errors.ts";
import { sleep } from "../../system/sleep.ts";
import { DeviceHttp } from "../../transport/http.ts";
import type { Archive, Connection, Developer, Emit, InstallResult, PlatformHost } from "../platform.ts";
import type { RokuApps } from "./apps.ts";
import { RokuConsole } from "./console.ts";
import type { Ecp } from "./ecp.ts";
import type { RokuMemory, RokuTarget } from "./identity.ts";
import { removePackage, takeScreenshot, upload } from "./installer.ts";
import { withZip } from "./zip.ts";

/** Where a set has its installer and its console; a forwarded one has them elsewhere. */
export const developerPorts = { installer: 80, console: 8085 } as const;

/** Smaller archives are refused as corrupt by every set (roku-deploy#312). */
const smallestArchive = 512;
const logHint = "The whole log: zapd logs -d {device}";
/** The console writes a moment behind the page: it is looked at after this, and some times more. */
const consoleLag = 100;
const consoleLooks = 10;
/** What a compiler says, as it stands on the console (2.2). */
const compileError =
  /\(compile error|\(runtime error|Error parsing XML|error loading file|BRIGHTSCRIPT: ERROR|No manifest|Syntax Error/i;

export function connectDeveloper(
  target: RokuTarget,
  ecp: Ecp,
  apps: RokuApps,
  platformHost: PlatformHost,
  emit: Emit<RokuMemory>,
): { dev: Developer; screenshot: NonNullable<Connection["screenshot"]>; close(): void } {
  const port = (name: keyof typeof developerPorts) => target.ports[name] ?? developerPorts[name];
  const http = new DeviceHttp({ address: { host: target.host, port: port("installer") }, platformHost });
  const accepted = (by: string) => {
    if (by !== target.memory.dev_realm) emit({ type: "facts", memory: { dev_realm: by } });
  };
  const feed = new RokuConsole({ host: target.host, port: port("console") }, (signal) => ecp.info(signal));
  const loginWith = (password: string) => ({ password, realm: target.memory.dev_realm, accepted });
  const dev: Developer = {
    console: feed,
    reload: (signal, params = {}) => apps.reload(params, signal),
    async remove(password, signal) {
      const { name } = await apps.sideloaded(signal);
      if (await removePackage(http, loginWith(password), signal)) return;
      throw new ZapdError("dev_package_missing", `lists "${name}", and says that it has no package to remove`);
    },
    async install(archive, password, signal, params) {
      const described = await readPackage(archive);
      const present = await apps.list(signal).then(
        (list) => list.some((app) => app.type === "dev"),
        // One that keeps its apps to itself takes packages all the same; one that is not ours gets none.
        (error: unknown) => {
          if (hasCode(error, "device_refused")) return true;
          throw error;
        },
      );
      // A set in standby would take the package, and nobody would see it start. One that nobody may turn on takes it so.
      if (ecp.listsApps) ecp.mustBeOn();
      const page = await upload(
        http,
        archive,
        { ...loginWith(password), replace: present, starts: params === undefined },
        signal,
      );
      // What is identical is not started by the set, and by itself it starts nothing with parameters (2.1).
      if (page.outcome === "identical" || (page.outcome === "installed" && params))
        await apps.start("dev", params ?? {}, signal);
      if (page.outcome === "installed" || page.outcome === "identical")
        return { package: described, messages: page.messages };
      if (page.outcome === "unknown")
        throw new ZapdError("device_error", "answered the package with a page that says neither yes nor no");
      // The console still holds what the compiler said of an older package.
      const compiler = page.messages.some(isOfCompiler) ? await compilerSays(feed, signal) : [];
      throw rejected(page.messages, compiler, archive.bytes);
    },
  };
  return {
    dev,
    async screenshot(signal, developerPassword) {
      const password = developerPassword();
      if ((await apps.active(signal))?.type === "dev") {
        const picture = await takeScreenshot(http, loginWith(password), signal);
        if (picture) return picture;
      }
      const isThere = (await apps.list(signal)).some(({ type }) => type === "dev");
      throw new ZapdError("picture_not_found", "shows its screen only while the sideloaded app is in front", {
        hint: isThere ? "Bring it there: zapd reload -d {device}" : "Install one: zapd install ./my-app -d {device}",
      });
    },
    close() {
      http.close();
      feed.close();
    },
  };
}

/**
 * What the compiler wrote of the run that failed: the last marker bounds it (2.2). The console may tell it a moment after
 * the page has answered. Nothing, when the console is taken.
 */
async function compilerSays(feed: RokuConsole, signal: AbortSignal): Promise<string[]> {
  for (let looks = 0; looks < consoleLooks; looks++) {
    await sleep(consoleLag, signal);
    const said = await feed.read(null, signal).catch(() => null);
    if (!said) break;
    const start = said.lines.findLastIndex((line) => /^-+ compiling/i.test(line));
    const errors = said.lines.slice(Math.max(0, start)).filter((line) => compileError.test(line));
    if (errors.length > 0) return errors;
  }
  return [];
}

function isOfCompiler(message: string): boolean {
  return /compil|parsing XML/i.test(message);
}

function rejected(messages: readonly string[], compiler: readonly string[], bytes: number): ZapdError {
  const failures = messages.filter((message) => !/^Application Received/i.test(message));
  const compiles = failures.some(isOfCompiler);
  const all = [...new Set([...failures, ...compiler.slice(0, 20).map((line) => line.trim())])];
  return new ZapdError(
    "package_rejected",
    `${compiles ? "could not compile" : "refused"} the package: ${all.join("; ")}`,
    {
      hint: bytes < smallestArchive ? "Sets refuse archives under 512 bytes: add a file to it" : logHint,
      details: { problems: all.map(problemIn) },
    },
  );
}

/** `Syntax Error. (compile error &h02) in pkg:/source/main.brs(3)`: what is wrong, and where (2.2). */
function problemIn(said: string): PackageProblem {
  const [, text = said, file = null, line] = /^(.*?) in (\S+)\((\d+)\)$/.exec(said) ?? [];
  return { text: text.replace(". (", " ("), file, line: line === undefined ? null : Number(line) };
}

const manifestBytes = 64 * 1024;

/** Checks a package before the set sees it: a ZIP with a `manifest` of `key=value` lines at its root (2.1). Fails with `invalid_archive`. */
export function readPackage(archive: Archive): Promise<InstallResult["package"]> {
  return withZip(archive.path, async (zip) => {
    const manifest = zip.entries.find((entry) => entry.name === "manifest");
    if (!manifest) {
      const nested = zip.entries.find((entry) => /(^|\/)manifest$/.test(entry.name));
      throw new ZapdError("invalid_archive", "The archive has no file `manifest` at its root", {
        hint: nested
          ? `There is one at ${nested.name}: zip what is in that folder, not the folder itself`
          : "A Roku package is a ZIP with `manifest` and `source/` at its root",
      });
    }
    const values = readManifest(new TextDecoder().decode(await zip.read(manifest, manifestBytes)));
    const version = ["major_version", "minor_version", "build_version"].map((name) => values.get(name) ?? "0");
    return {
      name: values.get("title") ?? "untitled",
      version: version.join("."),
      bytes: archive.bytes,
      files: zip.entries.filter((entry) => !entry.name.endsWith("/")).length,
    };
  });
}

function readManifest(text: string): Map<string, string> {
  const values = new Map<string, string>();
  for (const line of text.replace(/^\ufeff/, "").split(/\r?\n/)) {
    const at = line.indexOf("=");
    if (at < 1 || line.trimStart().startsWith("#")) continue;
    values.set(
      line.slice(0, at).trim(),
      line
        .slice(at + 1)
        .trim()
        .slice(0, 256),
    );
  }
  return values;
}
