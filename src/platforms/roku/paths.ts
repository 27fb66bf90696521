/**
 * What zapd asks of a Roku, and by which words: all that is needed before one has answered. How answers are read is in
 * protocol.ts, whose XML parser is loaded with the first of them. Facts and their evidence: protocols/roku.md, by section.
 */

/** The paths of ECP that zapd uses (1.2 to 1.8). */
export const paths = {
  description: "/",
  deviceInfo: "/query/device-info",
  apps: "/query/apps",
  activeApp: "/query/active-app",
  mediaPlayer: "/query/media-player",
  audioDevice: "/query/audio-device",
  key: (word: string) => `/keypress/${encodeURIComponent(word)}`,
  /** One character. Not form encoding: a space is %20, a plus is %2B (1.8). */
  character: (character: string) => `/keypress/Lit_${encodeURIComponent(character)}`,
  launch: (id: string, params: Readonly<Record<string, string>>) => {
    const query = Object.entries(params).map(
      ([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`,
    );
    return `/launch/${encodeURIComponent(id)}${query.length > 0 ? `?${query.join("&")}` : ""}`;
  },
  exit: (id: string) => `/exit-app/${encodeURIComponent(id)}`,
} as const;

export const ecpPort = 8060;

/** Where the user sets who may control a Roku (1.2), in the set's own words. */
export const accessHint =
  "On the Roku: Settings > System > Advanced system settings > Control by mobile apps > Network access: Enabled";

/** For a set that zapd cannot turn on. */
export const remoteHint = "Turn it on with its own remote, and see that it is on the network";

export const developerHint =
  "Turn developer mode on at the set: press Home three times, Up twice, Right, Left, Right, Left, Right, and choose a password";

/** TV inputs by the set's id (1.4). A Map, as what is looked up in it comes from the network. */
const inputs: ReadonlyMap<string, string> = new Map([
  ["tvinput.hdmi1", "hdmi1"],
  ["tvinput.hdmi2", "hdmi2"],
  ["tvinput.hdmi3", "hdmi3"],
  ["tvinput.hdmi4", "hdmi4"],
  ["tvinput.cvbs", "av"],
  ["tvinput.dtv", "tuner"],
]);

/** The input that an app id stands for, or `null`. */
export function inputOf(platformId: string): string | null {
  return inputs.get(platformId) ?? null;
}

/** Whether a text could be the id of a Roku app (1.4). */
export function isRokuAppId(text: string): boolean {
  return /^(\d{1,10}(_[0-9a-f]{1,64})?|dev|tvinput\.[a-z0-9]{1,16})$/i.test(text);
}
