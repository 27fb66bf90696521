/**
 * Hundreds of sites in one process: each the MQTT bridge of a daemon, with an API that knows some devices. Killed, it leaves the
 * broker as a power cut does. Arguments: the broker's URL, the number of the first site, how many sites, devices of each, and their
 * volume.
 */
import { tmpdir } from "node:os";
import { Bridge, type BridgeOptions } from "../../src/mqtt/bridge.ts";
import { createLog } from "../../src/system/log.ts";
import { fleetDevice, fleetState } from "./fleet-devices.ts";

const [url = "", first = "0", count = "0", devices = "0", level = "0"] = process.argv.slice(2);
const boot = `${process.pid}`;
const bytes = new TextEncoder();

/** The part of the API that the bridge needs: the stream of events, which begins with a snapshot. */
function ask(request: Request, site: string): Response {
  const { pathname } = new URL(request.url);
  if (pathname !== "/v1/events") return Response.json({ ok: true, data: {} });
  const all = Array.from({ length: Number(devices) }, (_, n) => ({
    device: fleetDevice(site, n),
    state: fleetState(Number(level)),
  }));
  const snapshot = {
    id: `${boot}.1`,
    type: "snapshot",
    at: new Date().toISOString(),
    reason: "start",
    part: 1,
    last: true,
    devices: all,
  };
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(bytes.encode(`${JSON.stringify(snapshot)}\n`));
      const beat = () =>
        controller.enqueue(bytes.encode(`${JSON.stringify({ type: "heartbeat", id: `${boot}.1` })}\n`));
      const timer = setInterval(beat, 10_000);
      request.signal.addEventListener("abort", () => clearInterval(timer));
    },
  });
  return new Response(body, { headers: { "content-type": "application/x-ndjson" } });
}

const log = createLog({ level: "error", format: "json", colour: false, write: (line) => process.stderr.write(line) });
const settings: Omit<BridgeOptions["settings"], "site" | "site_labels"> = {
  url,
  username: "",
  password_file: "",
  ca: "",
  cert: "",
  key: "",
  prefix: "zapd",
  commands: "control",
  home_assistant: false,
};

for (let n = Number(first); n < Number(first) + Number(count); n++) {
  const site = `site-${String(n).padStart(5, "0")}`;
  const labels = n % 10 === 0 ? ["tenth"] : [];
  const bridge = await Bridge.open({
    settings: { ...settings, site, site_labels: labels },
    artifacts: { origins: () => [], folder: tmpdir() },
    state: tmpdir(),
    log,
    ask: (request: Request) => ask(request, site),
    address: () => null,
    page: () => false,
  });
  bridge.start();
}
