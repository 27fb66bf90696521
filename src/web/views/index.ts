/** Every view: what is shown at `#/<path>`, and its link in the bar. */
import type { ComponentType } from "preact";
import type { IconName } from "../ui/icon.tsx";
import { Activity } from "./activity.tsx";
import { Developer } from "./developer.tsx";
import { House } from "./house.tsx";
import { Remote } from "./remote.tsx";
import { Settings } from "./settings.tsx";

export interface View {
  /** The first part of its address; empty for the house. */
  readonly path: string;
  /** The title of the browser tab. */
  readonly title: string;
  /** Its link in the bar; a view without one is linked from a device. */
  readonly bar?: { readonly label: string; readonly icon: IconName; readonly iconOnly?: true };
  /** `id`: the device in the address, or `null`. */
  readonly show: ComponentType<{ readonly id: string | null }>;
}

export const views: readonly View[] = [
  { path: "", title: "House", bar: { label: "House", icon: "house" }, show: House },
  { path: "remote", title: "Remote", show: Remote },
  { path: "dev", title: "Developer", show: Developer },
  { path: "activity", title: "Activity", bar: { label: "Activity", icon: "activity" }, show: Activity },
  { path: "settings", title: "Settings", bar: { label: "Settings", icon: "settings", iconOnly: true }, show: Settings },
];
