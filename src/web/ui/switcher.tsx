import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { go, linkTo } from "../route.ts";
import type { Entry } from "../store.ts";
import { Icon } from "./icon.tsx";

interface DeviceHeadProps {
  readonly entry: Entry;
  /** The devices to choose from, including `entry`. */
  readonly among: readonly Entry[];
  /** The view to open of the chosen device. */
  readonly view: string;
  /** What stands at the end of the line. */
  readonly children: ComponentChildren;
}

/** The header of a view of one device: back to the house, the name as a select of other devices, and buttons. */
export function DeviceHead({ children, ...select }: DeviceHeadProps) {
  return (
    <header class="device-head">
      <a class="button quiet icon-only" href={linkTo("")} aria-label="Back to the house" title="Back to the house">
        <Icon name="chevron-left" />
      </a>
      <DeviceSelect {...select} />
      <div class="device-head-end">{children}</div>
    </header>
  );
}

/** A text whose first letter is Hebrew, Arabic or of another script that runs from right to left. */
const startsRightToLeft = /^\P{L}*[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/u;

/** Whether the last choice was made by keyboard: then the next view focuses its select, so that another key press chooses on. */
let keepsFocus = false;

function DeviceSelect({ entry, among, view }: Omit<DeviceHeadProps, "children">) {
  const { name } = entry.device.value;
  const select = useRef<HTMLSelectElement>(null);
  const isByKey = useRef(false);
  useEffect(() => {
    if (keepsFocus) select.current?.focus();
    keepsFocus = false;
  }, []);
  if (among.length < 2)
    return (
      <h1 class="ellipsis" dir="auto">
        {name}
      </h1>
    );
  return (
    <div class="switcher">
      <h1 class="hidden">{name}</h1>
      <select
        ref={select}
        aria-label="Device"
        // `auto` does nothing for a select.
        dir={startsRightToLeft.test(name) ? "rtl" : "ltr"}
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
