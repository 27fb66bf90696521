import type { Method } from "../method.ts";
import { listOf, names, oneOf, text } from "../schema.ts";
import { FULLSCREEN, go, inFront, VIDEOS, WINDOWS } from "../windows.ts";
import { pick } from "./application.ts";

const PROPERTIES = ["currentwindow", "currentcontrol", "skin", "fullscreen", "stereoscopicmode"];

export const gui: Readonly<Record<string, Method>> = {
  "GUI.GetProperties": {
    params: [{ name: "properties", schema: names("GUI.Property.Name", PROPERTIES), required: true }],
    run(model, { properties }) {
      const { window, control } = inFront(model);
      return pick(properties, {
        currentwindow: { id: window.id, label: window.label },
        currentcontrol: { label: control },
        skin: { id: "skin.estuary", name: "Estuary" },
        fullscreen: model.window === FULLSCREEN,
        stereoscopicmode: { label: "Disabled", mode: "off" },
      });
    },
  },
  "GUI.ActivateWindow": {
    params: [
      { name: "window", schema: oneOf(...Object.keys(WINDOWS)), required: true },
      { name: "parameters", schema: listOf(text) },
    ],
    run(model, { window, parameters }) {
      const found = WINDOWS[String(window)];
      // Under a dialog it answers OK and does nothing (players.md 7.3).
      if (found === undefined || model.dialog !== null) return "OK";
      const [path = ""] = Array.isArray(parameters) ? parameters.map(String) : [];
      model.screensaver = false;
      go(model, found, found === VIDEOS || path.startsWith("plugin://") ? path : "");
      return "OK";
    },
  },
  "GUI.ShowNotification": {
    params: [
      { name: "title", schema: text, required: true },
      { name: "message", schema: text, required: true },
    ],
    run: () => "OK",
  },
};
