/** Node-RED with the flow that a user would draw: an address that presses a key on a set. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../../support/daemon.ts";
import { nodeRed } from "./peers.ts";
import { end, startUntilAnswer } from "./process.ts";
import type { SetPlace } from "./sets-worker.ts";
import type { BareServer, Stage } from "./stage.ts";

/** Started and answering: `POST /key?key=Home`, and `GET /health`. */
export async function startNodeRed(stage: Stage, set: Pick<SetPlace, "host" | "port">): Promise<BareServer> {
  const program = await nodeRed();
  const port = await freePort();
  const folder = stage.folder();
  mkdirSync(folder, { recursive: true });
  const settings = {
    uiHost: "127.0.0.1",
    flowFile: "flows.json",
    httpAdminRoot: false,
    telemetry: { enabled: false },
    logging: { console: { level: "off" } },
  };
  writeFileSync(join(folder, "settings.js"), `module.exports = ${JSON.stringify(settings)};\n`);
  writeFileSync(join(folder, "flows.json"), JSON.stringify(flow(set)));
  const command = ["node", program, "--userDir", folder, "--port", String(port)];
  const started = await startUntilAnswer(command, { port, path: "/health", cwd: folder });
  stage.atEnd(() => end(started.child));
  return { ...started, port, place: { host: "127.0.0.1", port } };
}

function flow({ host, port }: Pick<SetPlace, "host" | "port">): object[] {
  const url = `http://${host}:${port}/keypress/{{{req.query.key}}}`;
  return [
    { id: "tab", type: "tab", label: "TV" },
    { id: "in", z: "tab", type: "http in", url: "/key", method: "post", wires: [["ask"]] },
    // Its connections to the set are kept, as ours are.
    {
      id: "ask",
      z: "tab",
      type: "http request",
      method: "POST",
      ret: "txt",
      paytoqs: "ignore",
      url,
      persist: true,
      wires: [["out"]],
    },
    { id: "health", z: "tab", type: "http in", url: "/health", method: "get", wires: [["out"]] },
    { id: "out", z: "tab", type: "http response", statusCode: "200", wires: [] },
  ];
}
