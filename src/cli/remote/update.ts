/** One event, one step of the remote. */
import { printable } from "../../system/log.ts";
import type { Failure } from "../failure.ts";
import { updateInput } from "./keys.ts";
import { deviceOf, type Event, type Model, type Step } from "./model.ts";

export function update(model: Model, event: Event): Step {
  switch (event.name) {
    case "input":
      return updateInput(model, event.input);
    case "devices":
      return takeDevices(model, event.devices);
    case "state": {
      const devices = model.devices.map((one) => (one.id === event.id ? event.device : one));
      const seen = event.id === model.current ? { state: event.state } : model.seen;
      return still({ ...found(model), devices, seen });
    }
    case "stateless":
      return event.id === model.current ? still({ ...found(model), seen: { failure: event.failure } }) : still(model);
    case "apps":
      return still({ ...hushed(model), apps: { ...model.apps, [event.id]: event.apps } });
    case "done":
      return still(event.id === model.current ? hushed(model) : model);
    case "failed":
      return fail(model, event);
    case "dropped": {
      const text = `${nameOf(model, event.id)} is slow: ${event.count} ${event.count === 1 ? "press was" : "presses were"} dropped`;
      return still({ ...model, notice: { text, loud: true } });
    }
    case "lost":
      // A list that was asked for does not come any more.
      return still({ ...model, lost: true, mode: model.mode.name === "apps" ? { name: "keys" } : model.mode });
    case "unlit":
      return still({ ...model, lit: null });
    case "hushed":
      return still({ ...model, notice: null });
  }
}

export function still(model: Model): Step {
  return { model, effects: [] };
}

function found(model: Model): Model {
  return model.lost ? { ...model, lost: false } : model;
}

function hushed(model: Model): Model {
  return model.notice === null ? model : { ...model, notice: null };
}

function takeDevices(model: Model, devices: Model["devices"]): Step {
  const kept = devices.some((one) => one.id === model.current);
  if (kept) return still({ ...found(model), devices });
  const current = devices[0]?.id ?? null;
  const mode = { name: "keys" } as const;
  return {
    model: { ...found(model), devices, current, seen: null, mode },
    effects: current === null ? [] : [{ name: "look" }],
  };
}

function fail(model: Model, { id, what, failure }: { id: string; what: string; failure: Failure }): Step {
  const absent =
    failure.code === "unsupported_key" ? { ...model.absent, [id]: withKey(model.absent[id], what) } : model.absent;
  // A list that did not come leaves nothing to pick from.
  const mode = what === "list" ? ({ name: "keys" } as const) : model.mode;
  return still({ ...model, absent, mode, notice: noticeOf(failure) });
}

function withKey(keys: readonly string[] = [], key: string): readonly string[] {
  return keys.includes(key) ? keys : [...keys, key];
}

function noticeOf({ code, message, hint }: Failure): Model["notice"] {
  // The keys that it has are drawn already.
  const said = hint === undefined || code === "unsupported_key" ? {} : { hint: printable(hint) };
  return { text: printable(message), ...said, loud: true };
}

function nameOf(model: Model, id: string): string {
  return printable(model.devices.find((one) => one.id === id)?.name ?? deviceOf(model)?.name ?? "it");
}
