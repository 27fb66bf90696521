/** Documents of Rokus that the simulator does not send. */
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

export interface Playing {
  readonly state: string;
  readonly plugin: string;
  readonly position: number | null;
  readonly duration: number | null;
  readonly live: boolean;
}

/** Sets the answer of the set's player. */
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
