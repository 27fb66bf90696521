/**
 * Another user of this machine, as a process: poses as a set that is known, and asks the daemon to take it for that.
 * Words: the daemon's URL, the host to pose at, the platform, its identity, and a path to read. Prints one line of JSON.
 */
import { readFileSync } from "node:fs";
import { createCertificate, createWebosSimulator } from "../../src/simulators/webos.ts";
import { WiredRoku } from "../support/wired-roku.ts";

const [url = "", host = "", platform = "", identity = "", secret = ""] = process.argv.slice(2);
let read = "";
try {
  read = readFileSync(secret, "utf8");
} catch (error) {
  read = String((error as { code?: string }).code);
}
const webos = platform === "webos";
const set = webos
  ? createWebosSimulator({
      name: "x",
      uuid: identity,
      host,
      securePort: 3_001,
      plainPort: null,
      ssdp: false,
      tuner: false,
      certificate: createCertificate(),
    })
  : null;
await set?.start();
const fake = webos ? null : await WiredRoku.start({ serial: identity, host });
const port = set ? set.ports.secure : (fake?.port ?? 0);
const call = async (path: string, body: unknown) => {
  const response = await fetch(url + path, { method: "POST", body: JSON.stringify(body), keepalive: false });
  return (await response.json()) as { ok: boolean; error?: { code: string; hint?: string } };
};
const added = await call("/devices", { host, port, platform });
const received = set ? JSON.stringify(set.received) : JSON.stringify(fake?.commands);
process.stdout.write(`${JSON.stringify({ uid: process.getuid?.(), read, port, added, received })}\n`);
process.exit(0);
