/** Devices of simulated sites: the description and the state of each. */
import { createHash } from "node:crypto";
import type { Device, State } from "../../src/api/schemas.ts";

const at = "2026-11-22T10:00:00.000Z";

export function fleetDevice(site: string, n: number): Device {
  const hash = createHash("sha256").update(`${site}/${n}`).digest("hex");
  const id = `${hash.slice(0, 8)}-${hash.slice(8, 12)}-5${hash.slice(13, 16)}-8${hash.slice(17, 20)}-${hash.slice(20, 32)}`;
  return {
    id,
    name: `Screen ${n}`,
    platform: "simulated",
    platforms: ["simulated"],
    kind: "tv",
    manufacturer: "Acme",
    model: "55-X",
    serial: hash.slice(0, 12),
    mac: null,
    software_version: "9.1",
    power: "on",
    host: `10.0.0.${n + 1}`,
    port: 8060,
    ports: {},
    status: "online",
    access: "full",
    capabilities: [
      "state",
      "apps",
      "launch",
      "stop",
      "keys",
      "hold",
      "text",
      "power_on",
      "power_off",
      "volume",
      "mute",
      "inputs",
    ],
    withheld: [],
    keys: ["home", "back", "up", "down", "left", "right", "select", "power-on", "power-off"],
    used: true,
    is_default: n === 0,
    added_at: at,
    last_seen: at,
    labels: [`row=${n}`],
    lease: null,
  };
}

export function fleetState(level: number): State {
  return {
    power: "on",
    screensaver: null,
    input: "hdmi1",
    observed_at: at,
    volume: { level, muted: false },
    app: { id: "netflix", name: "Netflix", platform_id: "12", type: "app", version: null, installed: true },
    playback: {
      status: "playing",
      position_ms: 1_000,
      duration_ms: 60_000,
      live: false,
      title: "A film",
      artist: null,
      artwork: false,
      position_at: at,
      rate: 1,
    },
  };
}
