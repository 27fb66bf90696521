import { failed, type Method } from "../method.ts";
import { anything, either, names, oneOf, whole } from "../schema.ts";
import { limits } from "./addons.ts";
import { pick } from "./application.ts";

const CHANNEL_FIELDS = ["thumbnail", "channeltype", "channel", "channelnumber", "hidden", "locked", "lastplayed"];

export const pvr: Readonly<Record<string, Method>> = {
  "PVR.GetProperties": {
    params: [
      {
        name: "properties",
        schema: names("PVR.Property.Name", ["available", "recording", "scanning"]),
        required: true,
      },
    ],
    run({ channels }, { properties }) {
      return pick(properties, { available: channels.length > 0, recording: false, scanning: false });
    },
  },
  "PVR.GetChannels": {
    params: [
      { name: "channelgroupid", schema: either(whole(1), oneOf("alltv", "allradio")), required: true },
      { name: "properties", schema: names("PVR.Fields.Channel", CHANNEL_FIELDS) },
      { name: "limits", schema: anything },
    ],
    run(model, { channelgroupid, properties }) {
      // Without a tuner it fails (Kodi 20.1, ran).
      if (model.channels.length === 0) throw failed();
      const found = model.channels
        .filter(({ radio = false }) => radio === (channelgroupid === "allradio" || channelgroupid === 2))
        .map(({ id, name, number, radio }) => ({
          channelid: id,
          label: name,
          ...pick(properties, {
            channel: name,
            channelnumber: number,
            channeltype: radio ? "radio" : "tv",
            hidden: false,
          }),
        }));
      return { channels: found, limits: limits(found.length) };
    },
  },
};
