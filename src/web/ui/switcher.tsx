import { go } from "../route.ts";
import type { Entry } from "../store.ts";
import { Icon } from "./icon.tsx";

interface SwitcherProps {
  readonly entry: Entry;
  /** Those that it can be switched to, and itself. */
  readonly among: readonly Entry[];
  /** Which view of the other one is shown. */
  readonly view: string;
  /** Gives the focus back, where keys of the keyboard are for the device. */
  readonly leavesFocus?: boolean;
}

/** The name of a device, and the way to another one. */
export function Switcher({ entry, among, view, leavesFocus }: SwitcherProps) {
  const { name } = entry.device.value;
  if (among.length < 2) return <h1>{name}</h1>;
  return (
    <div class="switcher">
      <h1 class="hidden">{name}</h1>
      <select
        aria-label="Device"
        value={entry.id}
        onChange={({ currentTarget }) => {
          const { value } = currentTarget;
          if (leavesFocus) currentTarget.blur();
          go(view, value);
        }}
      >
        {among.map(({ id, device }) => (
          <option key={id} value={id}>
            {device.value.name}
          </option>
        ))}
      </select>
      <Icon name="chevron-down" size={18} />
    </div>
  );
}
