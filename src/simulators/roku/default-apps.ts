import type { RokuKind, SimulatedApp, SimulatedChannel } from "./options.ts";

// Labels of inputs are the owner's own words, so one of them is a device's name (1.4).
const INPUTS: readonly SimulatedApp[] = [
  { id: "tvinput.hdmi1", name: "Blu-ray player" },
  { id: "tvinput.hdmi2", name: "HDMI 2" },
  { id: "tvinput.hdmi3", name: "HDMI 3 (ARC)" },
  { id: "tvinput.cvbs", name: "AV" },
  { id: "tvinput.dtv", name: "Live TV" },
];

const APPS: readonly SimulatedApp[] = [
  { id: "12", name: "Netflix", version: "81.4.12" },
  { id: "837", name: "YouTube", version: "3.11.40" },
  { id: "13", name: "Prime Video", version: "17.2.7" },
  { id: "2285", name: "Hulu", version: "8.1.3" },
  { id: "151908", name: "The Roku Channel", version: "27.2.9" },
  { id: "291097", name: "Disney Plus", version: "1.71.5" },
  { id: "41468", name: "Tubi - Free Movies & TV", version: "4.2.0" },
  { id: "700101", name: "Ciné Écran Œuvres", version: "1.9.3" },
  { id: "700102", name: "Kids' Corner® <3", version: "2.0.11" },
  { id: "31012_4c1f", name: "Home Movies", version: "0.4.2", instantResume: false },
];

export const CHANNELS: readonly SimulatedChannel[] = [
  { number: "2.1", name: "KZAP" },
  { number: "5.1", name: "KDEM" },
  { number: "5.2", name: "KDEM+" },
];

export function defaultApps(kind: RokuKind): SimulatedApp[] {
  return kind === "tv" ? [...INPUTS, ...APPS] : [...APPS];
}
