import type { SimulatedApp, SimulatedChannel, SimulatedInput } from "./options.ts";

export const LIVE_TV = "com.webos.app.livetv";
export const HOME = "com.webos.app.home";
export const BROWSER = "com.webos.app.browser";

/** What a set comes with; the ids are those that sets give (smart-tvs.md 2.4 for inputs and tuner). */
export const APPS: readonly SimulatedApp[] = [
  { id: "netflix", title: "Netflix" },
  { id: "youtube.leanback.v4", title: "YouTube" },
  { id: "amazon", title: "Prime Video" },
  { id: "com.disney.disneyplus-prod", title: "Disney+" },
  { id: "com.apple.appletv", title: "Apple TV" },
  { id: "spotify-beehive", title: "Spotify - Music and Podcasts" },
  { id: BROWSER, title: "Web Browser", system: true },
  { id: LIVE_TV, title: "Live TV", system: true },
  { id: "com.webos.app.hdmi1", title: "HDMI 1", system: true },
  { id: "com.webos.app.hdmi2", title: "HDMI 2", system: true },
  { id: "com.webos.app.hdmi3", title: "HDMI 3", system: true },
  { id: HOME, title: "Home", system: true, hidden: true },
  { id: "com.webos.app.screensaver", title: "Screen Saver", system: true, hidden: true },
];

export const INPUTS: readonly SimulatedInput[] = [
  { id: "HDMI_1", label: "PlayStation 5", appId: "com.webos.app.hdmi1", connected: true },
  { id: "HDMI_2", label: "HDMI 2", appId: "com.webos.app.hdmi2", connected: false },
  { id: "HDMI_3", label: "HDMI 3", appId: "com.webos.app.hdmi3", connected: false },
];

export const CHANNELS: readonly SimulatedChannel[] = [
  { number: "5-1", name: "KQED" },
  { number: "7-1", name: "KGO" },
  { number: "11-1", name: "KNTV" },
];
