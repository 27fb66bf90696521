/** Developer mode of a Roku: sideloading, restarting, screenshots and the console (protocols/roku.md 2). */
import { hasCode, type PackageProblem, ZapdError } from "../../api/errors.ts";
import { sleep } from "../../system/sleep.ts";
import type { Archive, Connection, Developer, Emit, InstallResult, PlatformHost } from "../platform.ts";
import type { RokuApps } from "./apps.ts";
import { RokuConsole } from "./console.ts";
import type { Ecp } from "./ecp.ts";
import type { RokuMemory, RokuTarget } from "./identity.ts";
import { Installer } from "./installer.ts";
import { withZip } from "./zip.ts";

/** The usual ports; the user may set others for a set behind a port forwarding. */
export const developerPorts = { installer: 80, console: 8085 } as const;

/** Smaller archives are refused as corrupt by every set (roku-deploy#312). */
const minArchiveBytes = 512;
const logHint = "See the whole log: zapd logs -d {device}";
/** The console writes the compile errors a moment after the page has answered. */
const consolePollMs = 100;
const consolePolls = 10;
/** The lines of the console that are compile errors (2.2). */
const compileError =
  /\(compile error|\(runtime error|Error parsing XML|error loading file|BRIGHTSCRIPT: ERROR|No manifest|Syntax Error\./i;
/** Names the XML file of the errors after it. */
const xmlFile = /^(?:Found \d+ parse errors? in XML file|Error in XML component .+ defined in file) (\S+)/;

export function connectDeveloper(
  target: RokuTarget,
  ecp: Ecp,
  apps: RokuApps,
  platformHost: PlatformHost,
  emit: Emit<RokuMemory>,
): Required<Pick<Connection, "dev" | "screenshot">> {
  const at = (name: keyof typeof developerPorts) => ({
    host: target.host,
    port: target.ports[name] ?? developerPorts[name],
  });
  const installer = new Installer(at("installer"), platformHost, target, emit);
  const logs = new RokuConsole(at("console"), (signal) => ecp.info(signal));
  const dev: Developer = {
    console: logs,
    reload: (signal, params = {}) => apps.reload(params, signal),
    async remove(password, signal) {
      const { name } = await apps.sideloaded(signal);
      if (await installer.remove(password, signal)) return;
      throw new ZapdError("dev_package_missing", `lists "${name}", but reports that it has no package to remove`);
    },
    async install(archive, password, signal, { params, isOwn = false } = {}) {
      const contents = await readPackage(archive);
      const hasPackage = await apps.list(signal).then(
        (list) => list.some((app) => app.type === "dev"),
        // A set that does not list its apps takes packages all the same; another device gets none.
        (error: unknown) => {
          if (hasCode(error, "device_refused", "unsupported_operation")) return true;
          throw error;
        },
      );
      // A set in standby would install the package, and not start it. One whose access mode lets nobody turn it on takes it so.
      if (ecp.listsApps) ecp.mustBeOn();
      const options = { replace: hasPackage, autostart: params === undefined, isOwn };
      const page = await installer.upload(archive, options, password, signal);
      // The set does not start an identical package, nor any package with parameters (2.1).
      if (page.outcome === "identical" || (page.outcome === "installed" && params))
        await apps.start(params ?? {}, signal);
      if (page.outcome === "installed" || page.outcome === "identical")
        return { package: contents, messages: page.messages };
      if (page.outcome === "unknown") throw new ZapdError("device_error", "did not report the outcome");
      // Only then, as the console still holds the compile errors of older packages.
      const compiler = page.messages.some(isCompileError) ? await readCompileErrors(logs, signal) : [];
      throw rejected(page.messages, compiler, archive.bytes);
    },
  };
  return {
    dev,
    async screenshot(signal, developerPassword) {
      const password = developerPassword();
      if ((await apps.active(signal))?.type === "dev") {
        const picture = await installer.screenshot(password, signal);
        if (picture) return picture;
      }
      const hasPackage = (await apps.list(signal)).some(({ type }) => type === "dev");
      throw new ZapdError("picture_not_found", "takes screenshots only while the sideloaded app is in front", {
        hint: hasPackage ? "Start it: zapd reload -d {device}" : "Install one: zapd install ./my-app -d {device}",
      });
    },
  };
}

/** The compile errors of the last run on the console, after the last marker (2.2); none where another program has the console. */
async function readCompileErrors(logs: RokuConsole, signal: AbortSignal): Promise<string[]> {
  for (let polls = 0; polls < consolePolls; polls++) {
    await sleep(consolePollMs, signal);
    const output = await logs.read(null, signal).catch(() => null);
    if (!output) break;
    const errors = compileErrorsIn(output.lines);
    if (errors.length > 0) return errors;
  }
  return [];
}

/**
 * The compile errors of the last run in the lines of a console. Those of XML files come before `------ Compiling`, each after a
 * line with the name of its file, and are given as the others are: `… in SampleScreen.xml(3)` (logs of sets in the tests of
 * roku-debug; jellyrock#689).
 */
export function compileErrorsIn(lines: readonly string[]): string[] {
  const starts = [/\[scrpt\.cmpl\] compiling .*, id 'dev'/i, /^-+ compiling/i].map((start) =>
    lines.findLastIndex((line) => start.test(line)),
  );
  let file = "";
  return lines.slice(starts.find((at) => at !== -1) ?? 0).flatMap((line) => {
    // Real sets write `--- ` before an error, and `-------> ` before the last one.
    if (compileError.test(line)) return [line.replace(/^-+>? /, "")];
    file = xmlFile.exec(line)?.[1] ?? file;
    const [, number, text] = /^--(?:- Line (\d+):)? (.*)/.exec(line) ?? [];
    if (text === undefined || file === "") return [];
    return [`${text} in ${file}${number === undefined ? "" : `(${number})`}`];
  });
}

function isCompileError(message: string): boolean {
  return /compil|parsing (multiple )?XML/i.test(message);
}

function rejected(messages: readonly string[], compiler: readonly string[], bytes: number): ZapdError {
  const failures = messages.filter((message) => !/^Application Received/i.test(message));
  const compiles = failures.some(isCompileError);
  // One whose package was compiled has taken the archive.
  const small = bytes < minArchiveBytes && !compiles;
  const problems = [...new Set([...failures, ...compiler.slice(0, 20).map((line) => line.trim())])];
  return new ZapdError(
    "package_rejected",
    `${compiles ? "could not compile" : "refused"} the package: ${problems.join("; ")}`,
    {
      hint: small ? "Add a file to the archive: a Roku refuses archives under 512 bytes" : logHint,
      details: { problems: problems.map(problemIn) },
    },
  );
}

/**
 * Reads `Syntax Error. (compile error &h02) in pkg:/source/main.brs(3)` (2.2). The line may be missing, and the name that is
 * wrong may follow in quotes (tests of roku-debug).
 */
export function problemIn(output: string): PackageProblem {
  const [, text = output, inLines, line, name = "", whole] =
    /^(.*?) in (?:(\S+)\((\d*|NaN)\)( ?'.*')?|(pkg:\/\S+))$/.exec(output) ?? [];
  return { text: text.replace(". (", " (") + name, file: inLines ?? whole ?? null, line: Number(line) || null };
}

const maxManifestBytes = 64 * 1024;

/** Checks a package before it is sent: a ZIP with a `manifest` of `key=value` lines at its root (2.1). Fails with `invalid_archive`. */
export function readPackage(archive: Archive): Promise<InstallResult["package"]> {
  return withZip(archive.path, async (zip) => {
    const manifest = zip.entries.find((entry) => entry.name === "manifest");
    if (!manifest) {
      const nested = zip.entries.find((entry) => /(^|\/)manifest$/.test(entry.name));
      const near = zip.entries.find((entry) => /^manifest(\.txt)?$/i.test(entry.name));
      const usual = near
        ? `It has ${near.name}: the name must be exactly manifest`
        : "A Roku package is a ZIP with `manifest` and `source/` at its root";
      throw new ZapdError("invalid_archive", "The archive has no file `manifest` at its root", {
        hint: nested ? `There is one at ${nested.name}: zip the contents of that folder, not the folder itself` : usual,
      });
    }
    const values = readManifest(new TextDecoder().decode(await zip.read(manifest, maxManifestBytes)));
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
    const value = line.slice(at + 1).trim();
    values.set(line.slice(0, at).trim(), value.slice(0, 256));
  }
  return values;
}
