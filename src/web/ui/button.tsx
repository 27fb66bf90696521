import type { ComponentChildren } from "preact";
import { Icon, type IconName } from "./icon.tsx";

interface ButtonProps {
  /** Its accessible name; also its text, unless it has `children` or `iconOnly`. */
  readonly label: string;
  readonly icon?: IconName;
  /** Shows the icon alone; the label becomes its tooltip. */
  readonly iconOnly?: boolean;
  readonly kind?: "plain" | "primary" | "quiet" | "danger";
  /** Why it cannot be used now. The button is dimmed but stays focusable, and this is its tooltip. */
  readonly withheld?: string | undefined;
  readonly busy?: boolean;
  readonly pressed?: boolean;
  readonly submits?: boolean;
  /** Takes the focus when its dialog opens. */
  readonly focused?: boolean;
  readonly onPress?: () => void;
  readonly children?: ComponentChildren;
}

/** A button with an accessible name and a hit area of at least 44 px. */
export function Button({
  label,
  icon,
  iconOnly,
  kind = "plain",
  withheld,
  busy,
  pressed,
  submits,
  focused,
  onPress,
  children,
}: ButtonProps) {
  const title = withheld ?? (iconOnly ? label : undefined);
  return (
    <button
      type={submits ? "submit" : "button"}
      // `autofocus` sets the focus while a dialog opens, so that an early key press cannot reach another button.
      autofocus={focused}
      class={`button ${kind}${iconOnly ? " icon-only" : ""}`}
      aria-label={label}
      aria-disabled={withheld !== undefined || busy ? "true" : undefined}
      aria-busy={busy ? "true" : undefined}
      aria-pressed={pressed}
      title={title}
      onClick={(event) => {
        if (withheld !== undefined || busy) event.preventDefault();
        else onPress?.();
      }}
    >
      {icon && <Icon name={icon} />}
      {children ?? (iconOnly ? null : <span>{label}</span>)}
    </button>
  );
}
