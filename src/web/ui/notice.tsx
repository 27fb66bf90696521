import type { ComponentChildren } from "preact";
import { linkTo } from "../route.ts";
import { Icon, type IconName } from "./icon.tsx";

/** Shown in place of an empty view: why it is empty and what to do. */
export function Notice({
  icon,
  title,
  isPage,
  children,
}: {
  readonly icon: IconName;
  readonly title: string;
  /** The notice is the whole view: its title is an `h1`, and a link leads back. */
  readonly isPage?: boolean;
  readonly children?: ComponentChildren;
}) {
  return (
    <div class="notice">
      <Icon name={icon} size={28} />
      {isPage ? <h1>{title}</h1> : <h2>{title}</h2>}
      {children}
      {isPage && (
        <p>
          <a href={linkTo("")}>Back to the house</a>
        </p>
      )}
    </div>
  );
}
