import { setPlayback } from "../actions.ts";
import { DONE, type Endpoint, type Endpoints } from "../endpoint.ts";
import type { Model, PlayState } from "../model.ts";

export const media: Endpoints = {
  "com.webos.media/getForegroundAppInfo": {
    permission: "READ_APP_STATUS",
    topic: "media",
    exists: ({ firmware }) => firmware.media,
    read: ({ playback }) => ({
      foregroundAppInfo:
        playback === null ? [] : [{ ...playback, type: "media", mediaId: "_media_1", windowId: "_Window_Id_1" }],
    }),
  },
  "media.controls/play": control("playing"),
  "media.controls/pause": control("paused"),
  "media.controls/stop": control(null),
  "media.controls/rewind": control(),
  "media.controls/fastForward": control(),
};

/** Without an argument the position moves, of which the set tells nothing. */
function control(...to: [] | [PlayState | null]): Endpoint {
  return {
    permission: "CONTROL_INPUT_MEDIA_PLAYBACK",
    answer(model: Model) {
      const [playState] = to;
      if (playState !== undefined && model.playback !== null) setPlayback(model, playState);
      return DONE;
    },
  };
}
