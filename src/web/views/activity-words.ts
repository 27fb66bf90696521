/** What happened, in words: one line for each event, with what it is about. */
import type { Followed } from "../../api/client-types.ts";
import type { Failure } from "../calls.ts";
import type { IconName } from "../ui/icon.tsx";
import { appOf, clockOf, counted, inputWords, playingOf, standingWords } from "../words.ts";

/** A line of the activity. */
export interface Line {
  readonly icon: IconName;
  readonly text: string;
  /** From where a command came, unless it was an ordinary call; `null` for what is no command. */
  readonly by: string | null;
  /** Why a command failed. */
  readonly failure: Pick<Failure, "message" | "hint"> | null;
}

type EventOf<Type extends Followed["type"]> = Extract<Followed, { type: Type }>;

/** The line of an event; `null` for one that says nothing to people. */
export function lineOf(event: Followed): Line | null {
  const line = (icon: IconName, text: string): Line => ({ icon, text, by: null, failure: null });
  switch (event.type) {
    case "snapshot":
      return null;
    case "device.added":
      return line("plus", `known from now on, at ${event.device.host}`);
    case "device.removed":
      return line("trash-2", "no longer known");
    case "device.changed":
      return changedDevice(event, line);
    case "state.changed": {
      const said = changedState(event);
      return said === null ? null : line("tv", said);
    }
    case "apps.changed":
      return line("layout-grid", `apps: ${event.added.length || "none"} more, ${event.removed.length || "none"} fewer`);
    case "action.finished":
      return {
        icon: event.ok ? "check" : "circle-alert",
        text: actionText(event),
        by: callerWords[event.by] ?? null,
        failure: event.error ? { message: event.error.message, hint: event.error.hint ?? null } : null,
      };
    case "pairing.changed":
      return line("link", pairingText(event));
    case "lease.changed":
      return event.why === "renewed" ? null : line("link", `lease of ${event.owner}: ${event.why}`);
    case "install.progress":
      return line("file-archive", `package: ${phaseWords[event.phase]}${sizeText(event)}`);
    case "scene.started":
      return null;
    case "scene.step":
      // What its commands come to is told of each device.
      return event.step.status === "failed"
        ? { ...line("circle-alert", `${sceneOf(event)}: ${event.step.does}`), failure: failureOf(event) }
        : null;
    case "scene.finished":
      return line("play", `${sceneOf(event)} ${outcomeWords[event.outcome]}`);
    case "discovery.finished":
      return line("radio", `looked for devices: ${event.found} answered, ${event.added || "none"} new`);
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
  cancelled: "was given up",
  checked: "was checked",
};

function failureOf({ step: { error } }: EventOf<"scene.step">): Line["failure"] {
  return error ? { message: error.message, hint: error.hint ?? null } : null;
}

const callerWords: Readonly<Partial<Record<EventOf<"action.finished">["by"], string>>> = {
  page: "page",
  cli: "command line",
  mcp: "agent",
  mqtt: "MQTT",
};

const phaseWords: Readonly<Record<EventOf<"install.progress">["phase"], string>> = {
  receiving: "zapd receives it",
  checking: "zapd checks it",
  sending: "on its way to the device",
  done: "sent",
};

function sizeText({ bytes, total }: EventOf<"install.progress">): string {
  const kilobytes = (count: number) => `${Math.ceil(count / 1024).toLocaleString()} kB`;
  if (bytes === 0) return "";
  return total === null ? `, ${kilobytes(bytes)}` : `, ${kilobytes(bytes)} of ${kilobytes(total)}`;
}

const fieldWords: Readonly<Record<string, string>> = {
  name: "its name",
  host: "its address",
  port: "its port",
  status: "whether it answers",
  access: "what it lets zapd do",
  capabilities: "what it can do",
  keys: "its keys",
  withheld: "what its settings keep back",
  labels: "its labels",
  software_version: "its software",
  platforms: "its protocols",
  is_default: "whether it is the default",
};

function changedDevice(
  { device, changed }: EventOf<"device.changed">,
  line: (icon: IconName, text: string) => Line,
): Line | null {
  const [only] = changed;
  if (changed.length === 1 && only === "name") return line("pencil", "renamed");
  if (changed.length === 1 && only === "host") return line("info", `at ${device.host} now`);
  if (changed.includes("status"))
    return line(
      device.status === "online" ? "plug" : "circle-alert",
      device.status === "online" ? "answers" : "does not answer",
    );
  if (changed.includes("labels") && changed.length === 1)
    return line("tag", `labels: ${device.labels?.join(", ") || "none"}`);
  const known = changed.flatMap((field) => fieldWords[field] ?? []);
  return known.length > 0 ? line("info", `changed: ${known.join(", ")}`) : null;
}

/** What is other than before, and nothing else; `null` for what nobody would call news. */
function changedState({ state, changed }: EventOf<"state.changed">): string | null {
  const has = (part: string) => changed.some((path) => path === part || path.startsWith(`${part}.`));
  const said: string[] = [];
  if (has("power")) said.push(state.power === "unknown" ? "does not say whether it is on" : standingWords[state.power]);
  if (has("app") || has("screensaver")) said.push(appOf(state) ?? (state.power === "on" ? "home screen" : ""));
  else if (has("input") && state.input !== null) said.push(inputWords(state.input));
  // With a new app, or where nothing was known before, these are the rest of the picture, and no news.
  if (has("playback") && !(has("app") && state.playback?.status === "stopped")) said.push(playbackText(state) ?? "");
  if (has("volume.muted") && state.volume?.muted != null && (state.volume.muted || !has("volume.level")))
    said.push(state.volume.muted ? "muted" : "sounds again");
  if (has("volume.level") && state.volume?.level != null) said.push(`volume ${state.volume.level}`);
  const parts = [...new Set(said.filter((part) => part !== ""))];
  return parts.length === 0 ? null : parts.join(" · ");
}

function playbackText(state: EventOf<"state.changed">["state"]): string | null {
  const { playback } = state;
  if (playback === null) return null;
  if (playback.status === "stopped") return "stopped";
  const at = playback.position_ms === null ? "" : ` at ${clockOf(playback.position_ms)}`;
  const word = { playing: "plays", paused: "paused", buffering: "loading" }[playback.status];
  return playback.title === null ? `${playingOf(state)}${at}` : `${word} ${playback.title}${at}`;
}

/** Actions as people call them; what is missing here is called as the API calls it. */
const actionWords: Readonly<Record<string, string>> = {
  key: "pressed",
  sequence: "pressed",
  launch: "opened",
  stop: "left",
  refresh: "read its apps",
  volume: "set the volume",
  playback: "told its player",
  media: "gave it something to play",
  input: "switched to",
  channel: "switched to",
  notify: "showed a message",
  pair: "asked to be paired",
  cancel_pairing: "its pairing was given up",
  install: "installed a package",
  reload: "started the package anew",
  remove: "removed the package",
};

function actionText({ action, ok, key, keys, characters, app }: EventOf<"action.finished">): string {
  const typed = characters === undefined ? undefined : counted(characters, "character");
  if (typed !== undefined && key === undefined && keys === undefined)
    return ok ? `typed ${typed}` : `did not type ${typed}`;
  const what = [key ?? keys?.join(" ") ?? app?.name, keys && typed ? `(${typed})` : undefined]
    .filter(Boolean)
    .join(" ");
  const word = actionWords[action] ?? action;
  return `${ok ? "" : "failed: "}${word}${what === "" ? "" : ` ${what}`}`;
}

const reasonWords: Readonly<Record<string, string>> = {
  wrong: "the code or the login was wrong",
  late: "nobody accepted it in time",
  denied: "it was denied at the device",
  busy: "the device is being paired by somebody else",
  cancelled: "it was given up",
  closed: "the device ended it",
};

function pairingText({ status, step, reason }: EventOf<"pairing.changed">): string {
  if (status === "paired") return "paired";
  if (status === "failed") return `not paired${reason === undefined ? "" : `: ${reasonWords[reason] ?? reason}`}`;
  const waits = { confirm: "to be accepted at the device", code: "for the code it shows", login: "for its login" };
  return `being paired${step === undefined ? "" : `: waits ${waits[step]}`}`;
}
