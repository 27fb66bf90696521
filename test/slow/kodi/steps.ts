/** The steps that the exchanges with a Kodi are made of. */
import type { DialogKind } from "../../../src/simulators/kodi.ts";

export type Step =
  /** `exact`: the same values too, not only the same keys and types. */
  | { readonly ask: string; readonly params?: unknown; readonly exact?: boolean }
  /** Any body: the status and the text have to be the same. */
  | { readonly body: string }
  /** `press` is asked first, each time: a real Kodi loses keys that come while it is busy. */
  | {
      readonly until: string;
      readonly params?: unknown;
      readonly says: RegExp;
      readonly press?: readonly [string, unknown?];
    }
  | { readonly dialog: DialogKind }
  /** What has been told since the last of these: the kinds, each with the keys and types of its content. */
  | { readonly told: readonly string[] };

export interface Place {
  readonly video: string;
  readonly audio: string;
  readonly plugin: string;
  readonly script: string;
  readonly channel: number | null;
}

export const step = (method: string, params?: unknown): Step => ({ ask: method, params });
export const exact = (method: string, params?: unknown): Step => ({ ask: method, params, exact: true });
export const dialogs: readonly DialogKind[] = ["yes-no", "keyboard", "number", "context-menu", "select", "ok"];
export const front = exact("GUI.GetProperties", { properties: ["currentwindow", "fullscreen"] });
export const active = exact("Player.GetActivePlayers");
export const nothingActive: Step = { until: "Player.GetActivePlayers", says: /^\[\]$/ };
export const home: Step = {
  until: "GUI.GetProperties",
  params: { properties: ["currentwindow"] },
  says: /"id":10000,/,
  press: ["Input.Home"],
};
export const inWindow = (id: number): Step => ({
  until: "GUI.GetProperties",
  params: { properties: ["currentwindow"] },
  says: new RegExp(`"id":${id},`),
});
/** A dialog that still opens misses the key. */
export const backHome: Step = { ...inWindow(10_000), press: ["Input.Back"] };
export const playing = (playerid: number): Step => ({
  until: "Player.GetProperties",
  params: { playerid, properties: ["time", "totaltime"] },
  says: /"time":\{[^}]*"(milli)?seconds":[1-9].*"totaltime"/,
});
/** A key that comes while the folder is being read is lost; its name is there last. */
export const inFolder: Step = {
  until: "XBMC.GetInfoLabels",
  params: { labels: ["Container.FolderName"] },
  says: /"Zapd Test Videos"/,
};
export const speedIs = (speed: number): Step => ({
  until: "Player.GetProperties",
  params: { playerid: 1, properties: ["speed"] },
  says: new RegExp(`"speed":${speed}}`),
});
export const properties = [
  "type",
  "speed",
  "time",
  "totaltime",
  "percentage",
  "live",
  "canseek",
  "playlistid",
  "position",
];
export const item = [
  "title",
  "file",
  "mediapath",
  "channel",
  "channelnumber",
  "showtitle",
  "season",
  "episode",
  "artist",
];
