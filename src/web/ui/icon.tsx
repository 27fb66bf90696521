import { createElement } from "preact";
import { type IconName, icons } from "../icons.ts";

export type { IconName } from "../icons.ts";

/** An icon. It says nothing to a screen reader: what carries it has a name. */
export function Icon({ name, size = 20 }: { readonly name: IconName; readonly size?: number }) {
  return (
    <svg class="icon" width={size} height={size} viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      {icons[name].map(([element, says]) => createElement(element, says))}
    </svg>
  );
}
