/** Events in words, one line each. */
import type { Followed } from "../../api/client-types.ts";
import type { PairingReason } from "../../api/errors.ts";
import type { EventOf } from "../../api/events.ts";
import type { Failure } from "../calls.ts";
import type { IconName } from "../ui/icon.tsx";
import { countOf, displayStatusWords, formatDuration, inputWords, playingOf, screenContentOf } from "../words.ts";

/** A line of the activity. */
export interface Line {
  readonly icon: IconName;
  readonly text: string;
  /** Who sent a command; `null` for an ordinary API call, and for events that are no commands. */
  readonly source: string | null;
  /** Why a command failed. */
  readonly failure: Pick<Failure, "message" | "hint"> | null;
}

const line = (icon: IconName, text: string): Line => ({ icon, text, source: null, failure: null });

/** The line of an event; `null` for an event that people need not see. */
export function lineOf(event: Followed): Line | null {
  switch (event.type) {
    case "snapshot":
    case "install.progress":
    case "scene.started":
      return null;
    case "device.added":
      return line("plus", `added, at ${event.device.host}`);
    case "device.removed":
      return event.part_of === undefined ? line("trash-2", "removed") : line("link", "is a part of another device now");
    case "device.changed":
      return changedDevice(event);
    case "state.changed": {
      const text = changedState(event);
      return text === null ? null : line("tv", text);
    }
    case "apps.changed":
      return line(
        "layout-grid",
        `apps: ${event.added.length || "none"} added, ${event.removed.length || "none"} removed`,
      );
    case "action.finished":
      return {
        icon: event.ok ? "check" : "circle-alert",
        text: actionText(event),
        source: sourceWords[event.by] ?? null,
        failure: failureOf(event.error),
      };
    case "pairing.changed":
      return line("link", pairingText(event));
    case "lease.changed":
      return event.why === "renewed" ? null : line("link", `lease of ${event.owner}: ${event.why}`);
    case "scene.step":
      // The commands of a step have events of their own, so only a failed step is shown.
      return event.step.status === "failed"
        ? { ...line("circle-alert", `${sceneOf(event)}: ${event.step.does}`), failure: failureOf(event.step.error) }
        : null;
    case "scene.finished":
      return line("play", `${sceneOf(event)} ${outcomeWords[event.outcome]}`);
    case "discovery.finished":
      return line("radio", `searched for devices: ${event.found} answered, ${event.added || "none"} new`);
    case "config.changed":
      return line("settings", `settings changed: ${event.keys.join(", ")}`);
    case "daemon.stopping":
      return line("plug", event.restart ? "zapd restarts" : "zapd stops");
  }
}

const sceneOf = ({ scene }: { readonly scene: string | null }) => (scene === null ? "steps" : `scene ${scene}`);

const outcomeWords: Readonly<Record<EventOf<"scene.finished">["outcome"], string>> = {
  done: "ran to its end",
  stopped: "was stopped by a failure",
  cancelled: "was cancelled",
  checked: "was checked",
};

function failureOf(error: EventOf<"action.finished">["error"]): Line["failure"] {
  return error ? { message: error.message, hint: error.hint ?? null } : null;
}

const sourceWords: Readonly<Partial<Record<EventOf<"action.finished">["by"], string>>> = {
  page: "page",
  cli: "command line",
  mcp: "agent",
  mqtt: "MQTT",
};

const fieldWords: Readonly<Record<string, string>> = {
  name: "its name",
  host: "its address",
  port: "its port",
  status: "whether it answers",
  access: "what zapd may do with it",
  capabilities: "what it can do",
  keys: "its keys",
  withheld: "what its settings withhold",
  labels: "its labels",
  software_version: "its software",
  platforms: "its protocols",
  is_default: "whether it is the default",
};

function changedDevice({ device, changed }: EventOf<"device.changed">): Line | null {
  const only = changed.length === 1 ? changed[0] : undefined;
  if (only === "name") return line("pencil", "renamed");
  if (only === "host") return line("info", `now at ${device.host}`);
  if (changed.includes("status"))
    return device.status === "online" ? line("plug", "answers") : line("circle-alert", "does not answer");
  if (only === "labels") return line("tag", `labels: ${device.labels?.join(", ") || "none"}`);
  const known = changed.flatMap((field) => fieldWords[field] ?? []);
  return known.length > 0 ? line("info", `changed: ${known.join(", ")}`) : null;
}

/** What changed in the state, in words; `null` if it is nothing that people need to see. */
function changedState({ state, changed }: EventOf<"state.changed">): string | null {
  const has = (part: string) => changed.some((path) => path === part || path.startsWith(`${part}.`));
  const parts: string[] = [];
  if (has("power"))
    parts.push(state.power === "unknown" ? "does not say whether it is on" : displayStatusWords[state.power]);
  if (has("app") || has("screensaver"))
    parts.push(screenContentOf(state) ?? (state.power === "on" ? "home screen" : ""));
  else if (has("input") && state.input !== null) parts.push(inputWords(state.input));
  // "stopped" together with a new app only means that the app plays nothing yet.
  if (has("playback") && !(has("app") && state.playback?.status === "stopped")) parts.push(playbackText(state) ?? "");
  if (has("volume.muted") && state.volume?.muted != null && (state.volume.muted || !has("volume.level")))
    parts.push(state.volume.muted ? "muted" : "unmuted");
  if (has("volume.level") && state.volume?.level != null) parts.push(`volume ${state.volume.level}`);
  return [...new Set(parts.filter(Boolean))].join(" · ") || null;
}

function playbackText(state: EventOf<"state.changed">["state"]): string | null {
  const { playback } = state;
  if (playback === null) return null;
  if (playback.status === "stopped") return "stopped";
  const at = playback.position_ms === null ? "" : ` at ${formatDuration(playback.position_ms)}`;
  const word = { playing: "plays", paused: "paused", buffering: "loading" }[playback.status];
  return playback.title === null ? `${playingOf(state)}${at}` : `${word} ${playback.title}${at}`;
}

/** Everyday words for actions; one that is missing here is shown by its API name. */
const actionWords: Readonly<Record<string, string>> = {
  key: "pressed",
  sequence: "pressed",
  launch: "opened",
  stop: "closed",
  refresh: "refreshed its apps",
  volume: "set the volume",
  playback: "controlled playback",
  media: "played media",
  input: "switched its input",
  channel: "changed the channel",
  notify: "showed a message",
  pair: "was asked to pair",
  cancel_pairing: "cancelled its pairing",
  install: "installed a package",
  reload: "restarted the package",
  remove: "removed the package",
};

/** The same, where nothing is named. */
const unnamedWords: Readonly<Record<string, string>> = {
  key: "pressed a key",
  sequence: "pressed keys",
  launch: "opened an app",
  stop: "closed its app",
};

function actionText({ action, ok, key, keys, characters, app }: EventOf<"action.finished">): string {
  const typed = characters === undefined ? undefined : countOf(characters, "character");
  if (typed !== undefined && key === undefined && keys === undefined)
    return ok ? `typed ${typed}` : `did not type ${typed}`;
  const what = [key ?? keys?.join(" ") ?? app?.name, keys && typed ? `(${typed})` : undefined]
    .filter(Boolean)
    .join(" ");
  const word = (what === "" ? unnamedWords[action] : undefined) ?? actionWords[action] ?? action;
  return `${ok ? "" : "failed: "}${word}${what === "" ? "" : ` ${what}`}`;
}

const reasonWords: Readonly<Record<string, string>> = {
  wrong: "the code or the login was wrong",
  late: "nobody accepted it in time",
  denied: "it was denied on the device",
  busy: "somebody else is pairing the device",
  cancelled: "it was cancelled",
  closed: "the device ended the pairing",
  protocol: "zapd did not understand its answer",
} satisfies Record<PairingReason, string>;

function pairingText({ status, step, reason }: EventOf<"pairing.changed">): string {
  if (status === "paired") return "paired";
  if (status === "failed") return `not paired${reason === undefined ? "" : `: ${reasonWords[reason] ?? reason}`}`;
  const waits = {
    confirm: "until it is accepted on the device",
    code: "for the code that it shows",
    login: "for its login",
  };
  return `is being paired${step === undefined ? "" : `: waits ${waits[step]}`}`;
}
