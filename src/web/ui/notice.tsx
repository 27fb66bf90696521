import type { ComponentChildren } from "preact";
import { Icon, type IconName } from "./icon.tsx";

/** A screen, or a part of one, that has nothing to show, and says why and what to do. */
export function Notice({
  icon,
  title,
  isPage,
  children,
}: {
  readonly icon: IconName;
  readonly title: string;
  /** It is all that there is: its title is that of the page. */
  readonly isPage?: boolean;
  readonly children?: ComponentChildren;
}) {
  return (
    <div class="notice">
      <Icon name={icon} size={28} />
      {isPage ? <h1>{title}</h1> : <h2>{title}</h2>}
      {children}
    </div>
  );
}
