import { type Methods, method, pick, required } from "../method.ts";
import type { Model } from "../model.ts";
import { either, flag, integer, names, oneOf } from "../schema.ts";

const PROPERTIES = ["volume", "muted", "name", "version", "sorttokens", "language"];

/** The volume is 0 to 100; both setters return the new value (players.md 7.2). */
export const application: Methods = {
  "Application.GetProperties": method(
    { properties: required(names("Application.Property.Name", PROPERTIES)) },
    (model, { properties }) => pick(properties, propertiesOf(model)),
  ),
  "Application.SetVolume": method(
    { volume: required(either(oneOf("increment", "decrement"), integer(0, 100))) },
    (model, { volume }) => {
      changeVolume(model, typeof volume === "number" ? volume : model.volume + (volume === "increment" ? 1 : -1));
      return model.volume;
    },
  ),
  "Application.SetMute": method({ mute: required(either(oneOf("toggle"), flag)) }, (model, { mute }) => {
    setMuted(model, mute === "toggle" ? !model.muted : mute === true);
    return model.muted;
  }),
  "Application.Quit": method({}, quit),
};

export function changeVolume(model: Model, level: number): void {
  model.volume = Math.max(0, Math.min(100, level));
  notifyVolume(model);
}

export function setMuted(model: Model, muted: boolean): void {
  model.muted = muted;
  notifyVolume(model);
}

/** Sent even if nothing changed (Kodi 20.1, ran). */
function notifyVolume(model: Model): void {
  const { volume, muted } = model;
  model.notify("Application.OnVolumeChanged", { muted, volume });
  model.emit("volume", `volume ${volume}${muted ? ", muted" : ""}`);
}

function quit(model: Model): void {
  model.notify("System.OnQuit", { exitcode: 0 });
  model.shutDown("ended", "clean");
}

function propertiesOf({ volume, muted }: Model): Record<string, unknown> {
  return {
    volume,
    muted,
    name: "Kodi",
    language: "en_GB",
    version: { major: 20, minor: 1, revision: "20230312-nogitfound", tag: "stable" },
    sorttokens: ["The ", "The.", "The_"],
  };
}
