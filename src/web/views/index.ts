/** Every view, a line each: what is shown at `#/<path>`, and how it is reached from the bar. */
import type { ComponentType } from "preact";
import type { IconName } from "../ui/icon.tsx";
import { Activity } from "./activity.tsx";
import { Developer } from "./developer.tsx";
import { House } from "./house.tsx";
import { Remote } from "./remote.tsx";
import { Settings } from "./settings.tsx";

export interface View {
  /** The first word of its address; empty for the first view. */
  readonly path: string;
  /** What the tab of the browser is called. */
  readonly title: string;
  /** Where it stands in the bar; without it, it is reached from a device. */
  readonly bar?: { readonly label: string; readonly icon: IconName; readonly iconOnly?: true };
  /** `id` is that of the device in the address; `null` without one. */
  readonly show: ComponentType<{ readonly id: string | null }>;
}

export const views: readonly View[] = [
  { path: "", title: "House", bar: { label: "House", icon: "house" }, show: House },
  { path: "remote", title: "Remote", show: Remote },
  { path: "dev", title: "Developer", show: Developer },
  { path: "activity", title: "Activity", bar: { label: "Activity", icon: "activity" }, show: Activity },
  { path: "settings", title: "Settings", bar: { label: "Settings", icon: "settings", iconOnly: true }, show: Settings },
];
