import type { ComponentChildren } from "preact";
import { Icon, type IconName } from "./icon.tsx";

/** A screen, or a part of one, that has nothing to show, and says why and what to do. */
export function Notice({
  icon,
  title,
  children,
}: {
  readonly icon: IconName;
  readonly title: string;
  readonly children?: ComponentChildren;
}) {
  return (
    <div class="notice">
      <Icon name={icon} size={28} />
      <h2>{title}</h2>
      {children}
    </div>
  );
}
