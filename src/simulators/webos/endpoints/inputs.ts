import { bringToFront, changeChannel } from "../actions.ts";
import { LIVE_TV } from "../defaults.ts";
import { DONE, type Endpoints } from "../endpoint.ts";
import type { Model } from "../model.ts";
import type { SimulatedChannel } from "../options.ts";
import { applicationError, type Payload, textIn } from "../wire.ts";

export const inputs: Endpoints = {
  "tv/getExternalInputList": {
    permission: "READ_INPUT_DEVICE_LIST",
    topic: "inputs",
    read: (model) => ({
      devices: model.inputs.map(({ id, label, appId, connected }, at) => ({
        ...{ id, label, appId, connected },
        port: at + 1,
        favorite: false,
        subList: [],
        subCount: 0,
      })),
    }),
  },
  "tv/switchInput": {
    permission: "CONTROL_INPUT_TV",
    answer(model, payload) {
      const id = textIn(payload, "inputId");
      const input = model.inputs.find((one) => one.id === id);
      // The code for an unknown input is in no source.
      if (input === undefined) throw applicationError(-1, `no such input: ${id}`);
      bringToFront(model, input.appId);
      return DONE;
    },
  },
  "tv/channelUp": { permission: "CONTROL_INPUT_TV", answer: (model) => step(model, 1) },
  "tv/channelDown": { permission: "CONTROL_INPUT_TV", answer: (model) => step(model, -1) },
  "tv/getCurrentChannel": {
    permission: "READ_CURRENT_CHANNEL",
    topic: "channel",
    read(model) {
      const { active, activeSince, behaviour, channel, power } = model;
      const settled = Date.now() - activeSince >= behaviour.channelMs;
      // Asked sooner than some 2 s after live TV starts, it fails with 500 (smart-tvs.md 2.4).
      if (power !== "on" || active !== LIVE_TV || channel === null || !settled)
        throw applicationError(-1000, "live TV is not ready");
      return channelOf(channel);
    },
  },
  "tv/getChannelList": {
    permission: "READ_TV_CHANNEL_LIST",
    answer(model, _payload, caller) {
      if (model.behaviour.tuner) return { channelList: model.behaviour.channels.map(channelOf) };
      // A set without a tuner closes the socket (smart-tvs.md 2.5).
      caller.hangUp();
      return null;
    },
  },
};

function step(model: Model, by: 1 | -1): Payload {
  changeChannel(model, by);
  return DONE;
}

function channelOf({ number, name }: SimulatedChannel): Payload {
  const channelId = `1_${number}`;
  return { channelId, channelNumber: number, channelName: name, channelMode: "Terrestrial" };
}
