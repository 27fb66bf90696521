/** Documents in which sets say what the simulator does not: apps of old firmware, other home screens, a player at rest. */
import { element, xmlDocument } from "../../src/simulators/bench/documents.ts";
import type { SimulatedApp } from "../../src/simulators/roku.ts";
import type { Reply } from "../support/wire.ts";
import type { WiredRoku } from "../support/wired-roku.ts";

/** Without a type or a version the attribute is missing, as on old firmware. */
export const app = (
  id: string,
  name: string,
  type: string | null = "appl",
  version: string | null = "4.2.17",
): SimulatedApp => ({ id, name, type, version });

export const page = (body: string | Buffer, type = 'text/xml; charset="utf-8"'): Reply => ({
  status: 200,
  headers: { "Content-Type": type },
  body,
});

/** The ways sets spell "nothing runs". */
export const homes = {
  plain: "<app>Roku</app>",
  menu: '<app id="562859" type="menu" version="1.8.44" ui-location="home">Roku Dynamic Menu</app>',
  bareMenu: '<app id="562859" version="1.8.44">Roku Dynamic Menu</app>',
  emptyId: '<app id="">Home</app>',
} as const;

export function spellHome(set: WiredRoku, home: string): void {
  set.spoiled.set("/query/active-app", (said) => ({ ...said, body: `${said.body}`.replace(homes.plain, home) }));
}

export interface Playing {
  readonly state: string;
  readonly plugin: string;
  readonly position: number | null;
  readonly duration: number | null;
  readonly live: boolean;
}

/** What the player of the set says from now on. */
export function playing(set: WiredRoku, { state, plugin, position, duration, live }: Playing): void {
  const time = (name: string, value: number | null) => (value === null ? [] : [element(name, {}, `${value} ms`)]);
  const body = element("player", { error: "false", state }, [
    element("plugin", { bandwidth: "17834211 bps", id: plugin, name: "Player" }),
    element("format", { audio: "eac3", captions: "none", drm: "widevine", video: "hevc", video_res: "3840x2160" }),
    ...time("position", position),
    ...time("duration", duration),
    element("is_live", {}, `${live}`),
    element("stream_segment", { bitrate: "3128000", media_sequence: "7", segment_type: "video", time: "41" }),
  ]);
  set.spoiled.set("/query/media-player", () => page(xmlDocument(body)));
}
