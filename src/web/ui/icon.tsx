import { type IconName, icons } from "../icons.ts";

export type { IconName } from "../icons.ts";

/** An icon, hidden from screen readers: the button or link around it has a name. */
export function Icon({ name, size = 20 }: { readonly name: IconName; readonly size?: number }) {
  return (
    <svg class="icon" width={size} height={size} viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={icons[name]} />
    </svg>
  );
}
