import type { Method } from "../method.ts";
import type { Model } from "../model.ts";
import { either, names, oneOf, truth, whole } from "../schema.ts";

const step = oneOf("increment", "decrement");

/** Volume from 0 to 100; both setters answer with the new value (players.md 7.2). */
export const application: Readonly<Record<string, Method>> = {
  "Application.GetProperties": {
    params: [
      {
        name: "properties",
        schema: names("Application.Property.Name", [
          ...["volume", "muted", "name", "version", "sorttokens", "language"],
        ]),
        required: true,
      },
    ],
    run: (model, { properties }) => pick(properties, propertiesOf(model)),
  },
  "Application.SetVolume": {
    params: [{ name: "volume", schema: either(step, whole(0, 100)), required: true }],
    run(model, { volume }) {
      const by = volume === "increment" ? 1 : -1;
      model.volume = typeof volume === "number" ? volume : Math.max(0, Math.min(100, model.volume + by));
      tell(model);
      return model.volume;
    },
  },
  "Application.SetMute": {
    params: [{ name: "mute", schema: either(oneOf("toggle"), truth), required: true }],
    run(model, { mute }) {
      model.muted = mute === "toggle" ? !model.muted : mute === true;
      tell(model);
      return model.muted;
    },
  },
  "Application.Quit": {
    run(model) {
      model.notify("System.OnQuit", { exitcode: 0 });
      model.leave("ended", "told");
      return "OK";
    },
  },
};

/** Said even when nothing has changed (Kodi 20.1, ran). */
export function tell(model: Model): void {
  const { volume, muted } = model;
  model.notify("Application.OnVolumeChanged", { muted, volume });
  model.emit({ type: "volume", level: volume, muted, text: `volume ${volume}${muted ? ", muted" : ""}` });
}

function propertiesOf({ volume, muted, identity }: Model): Record<string, unknown> {
  const [major = 20, minor = 1] = identity.version.split(".").map(Number);
  return {
    volume,
    muted,
    name: "Kodi",
    version: { major, minor, revision: "20230312-nogitfound", tag: "stable" },
    sorttokens: ["The ", "The.", "The_"],
    language: "en_GB",
  };
}

/** The properties asked for. */
export function pick(wanted: unknown, all: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const asked = Array.isArray(wanted) ? wanted.map(String) : [];
  return Object.fromEntries(asked.filter((name) => all[name] !== undefined).map((name) => [name, all[name]]));
}
