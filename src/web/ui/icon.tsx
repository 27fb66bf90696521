import type { IconName } from "../icons.ts";

export type { IconName } from "../icons.ts";

/** An icon of the sprite. It says nothing to a screen reader: what carries it has a name. */
export function Icon({ name, size = 20 }: { readonly name: IconName; readonly size?: number }) {
  return (
    <svg class="icon" width={size} height={size} aria-hidden="true" focusable="false">
      <use href={`icons.svg#${name}`} />
    </svg>
  );
}
