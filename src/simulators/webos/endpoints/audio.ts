import { setMuted, setVolume, stepVolume } from "../actions.ts";
import { DONE, type Endpoints } from "../endpoint.ts";
import type { Model } from "../model.ts";
import { flagIn, numberIn, type Payload } from "../wire.ts";

const permission = "CONTROL_AUDIO";
const MAX = 100;

export const audio: Endpoints = {
  "audio/getVolume": {
    permission,
    topic: "volume",
    read: (model) => volumeOf(model, {}),
    push: volumeOf,
  },
  "audio/getStatus": {
    permission,
    topic: "volume",
    read: (model) => ({
      scenario: `mastervolume_${model.behaviour.soundOutput}`,
      active: false,
      volume: levelOf(model),
      mute: model.muted,
    }),
  },
  // Subscribed to by clients as they connect (aiowebostv, endpoints.py).
  "com.webos.service.apiadapter/audio/getSoundOutput": {
    permission,
    topic: "volume",
    read: ({ behaviour }) => ({ soundOutput: behaviour.soundOutput }),
  },
  "audio/setVolume": {
    permission,
    answer(model, payload) {
      const level = numberIn(payload, "volume");
      // A soundbar on ARC takes the call and ignores it (smart-tvs.md 2.5).
      if (!onArc(model)) setVolume(model, level, "setVolume");
      return stepped(model);
    },
  },
  "audio/volumeUp": { permission, answer: (model) => step(model, 1) },
  "audio/volumeDown": { permission, answer: (model) => step(model, -1) },
  "audio/setMute": {
    permission,
    answer(model, payload) {
      setMuted(model, flagIn(payload, "mute"), "setMuted");
      return DONE;
    },
  },
};

function volumeOf(model: Model, { changed, cause }: Payload): Payload {
  const { firmware, muted, behaviour } = model;
  const { soundOutput } = behaviour;
  if (firmware.volume === "flat") {
    const scenario = `mastervolume_${soundOutput}`;
    const told = { scenario, active: false, volumeMax: MAX, volume: levelOf(model), muted };
    return changed === undefined ? { ...told, action: "requested" } : { ...told, action: "changed", changed, cause };
  }
  const volumeStatus = {
    activeStatus: true,
    adjustVolume: true,
    maxVolume: MAX,
    muteStatus: muted,
    volume: levelOf(model),
    mode: "normal",
    soundOutput,
    ...(cause === undefined ? {} : { cause }),
  };
  return { volumeStatus, callerId: "secondscreen.client" };
}

const onArc = (model: Model) => model.behaviour.soundOutput === "external_arc";
const levelOf = (model: Model) => (onArc(model) ? -1 : model.volume);

function step(model: Model, by: 1 | -1): Payload {
  stepVolume(model, by, by > 0 ? "volumeUp" : "volumeDown");
  return stepped(model);
}

/** Newer firmware tells the level it arrived at. */
function stepped(model: Model): Payload {
  if (model.firmware.volume === "flat") return DONE;
  return { volume: levelOf(model), soundOutput: model.behaviour.soundOutput };
}
