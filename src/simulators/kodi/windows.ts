import type { Model } from "./model.ts";

export interface Window {
  readonly id: number;
  readonly label: string;
}

// Ids and labels: Kodi 20.1, ran.
export const HOME: Window = { id: 10_000, label: "Home" };
export const FULLSCREEN: Window = { id: 12_005, label: "Fullscreen video" };
export const VIDEOS: Window = { id: 10_025, label: "Videos" };

export const WINDOWS: Readonly<Record<string, Window>> = {
  home: HOME,
  fullscreenvideo: FULLSCREEN,
  videos: VIDEOS,
  music: { id: 10_502, label: "Music" },
  pictures: { id: 10_002, label: "Pictures" },
  programs: { id: 10_001, label: "Programs" },
  settings: { id: 10_004, label: "Settings" },
  tvchannels: { id: 10_700, label: "Channels" },
  screensaver: { id: 12_900, label: "Screensaver" },
  weather: { id: 12_600, label: "Weather" },
  systeminfo: { id: 10_007, label: "System information" },
  favouritesbrowser: { id: 10_060, label: "Favourites" },
};

export type DialogKind =
  | "yes-no"
  | "keyboard"
  | "number"
  | "context-menu"
  | "ok"
  | "select"
  | "shutdown-menu"
  | "browser";

interface DialogFacts extends Window {
  readonly control: string;
  /** Its type in Input.OnInputRequested. */
  readonly input?: "keyboard" | "number";
}

const DIALOGS: Readonly<Record<DialogKind, DialogFacts>> = {
  "yes-no": { id: 10_100, label: "Yes / No dialog", control: "No" },
  keyboard: { id: 10_103, label: "Virtual keyboard", control: "OK", input: "keyboard" },
  "context-menu": { id: 10_106, label: "Context menu", control: "one" },
  number: { id: 10_109, label: "Numeric Input", control: "Done", input: "number" },
  browser: { id: 10_126, label: "File browser", control: "[Root filesystem]" },
  "shutdown-menu": { id: 10_111, label: "Shutdown menu", control: "Exit" },
  select: { id: 12_000, label: "Select dialog", control: "one" },
  ok: { id: 12_002, label: "OK dialog", control: "OK" },
};

export interface DialogOptions {
  readonly title?: string;
  /** The initial text of a keyboard. */
  readonly value?: string;
}

export interface OpenDialog extends DialogFacts {
  readonly kind: DialogKind;
  text: string;
}

export function openDialog(model: Model, kind: DialogKind, options: DialogOptions = {}): void {
  closeDialog(model);
  const { title = "", value = "" } = options;
  const facts = DIALOGS[kind];
  model.dialog = { ...facts, kind, text: value };
  if (facts.input !== undefined) model.notify("Input.OnInputRequested", { title, type: facts.input, value });
}

export function closeDialog(model: Model): void {
  const { dialog } = model;
  model.dialog = null;
  if (dialog?.input !== undefined) model.notify("Input.OnInputFinished", null);
}

export function go(model: Model, window: Window, folder = ""): void {
  if (window === HOME) model.below = [];
  else if (window !== model.window) model.below.push(model.window);
  if (window !== model.window) model.emit("window", `window "${window.label}"`);
  model.window = window;
  model.folder = folder;
}

export function goBack(model: Model): void {
  const under = model.below.pop();
  if (under === undefined) return;
  model.window = under;
  model.folder = "";
}

/** The window or dialog on top. */
export function inFront(model: Model): { window: Window; control: string } {
  const { dialog, window } = model;
  if (dialog !== null) return { window: { id: dialog.id, label: dialog.label }, control: dialog.control };
  return { window, control: window === HOME ? "Movies" : model.folder === "" ? "" : "[..]" };
}
