import { useEffect, useRef } from "preact/hooks";
import { go } from "../route.ts";
import type { Entry } from "../store.ts";
import { Icon } from "./icon.tsx";

interface SwitcherProps {
  readonly entry: Entry;
  /** Those that it can be switched to, and itself. */
  readonly among: readonly Entry[];
  /** Which view of the other one is shown. */
  readonly view: string;
  /** Gives the focus back when the mouse has chosen, where keys of the keyboard are for the device. */
  readonly leavesFocus?: boolean;
}

/** Whether the keyboard has chosen the device: then the view of that one has the focus here, and the next key chooses on. */
let keepsFocus = false;

/** The name of a device, and the way to another one. */
export function Switcher({ entry, among, view, leavesFocus }: SwitcherProps) {
  const { name } = entry.device.value;
  const select = useRef<HTMLSelectElement>(null);
  const isByKey = useRef(false);
  useEffect(() => {
    if (keepsFocus) select.current?.focus();
    keepsFocus = false;
  }, []);
  if (among.length < 2) return <h1>{name}</h1>;
  return (
    <div class="switcher">
      <h1 class="hidden">{name}</h1>
      <select
        ref={select}
        aria-label="Device"
        value={entry.id}
        onPointerDown={() => {
          isByKey.current = false;
        }}
        onKeyDown={() => {
          isByKey.current = true;
        }}
        onChange={({ currentTarget }) => {
          const { value } = currentTarget;
          keepsFocus = isByKey.current;
          if (leavesFocus && !keepsFocus) currentTarget.blur();
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
