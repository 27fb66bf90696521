import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Icon, type IconName } from "./icon.tsx";

interface ButtonProps {
  /** What it does, as it is read out; also what it shows, unless `children` do or it is only an icon. */
  readonly label: string;
  readonly icon?: IconName;
  /** Shows the icon alone; the label is its name and its tooltip. */
  readonly iconOnly?: boolean;
  readonly kind?: "plain" | "primary" | "quiet" | "danger";
  /** Why it cannot be used now: it is dimmed, stays focusable, and says so. */
  readonly withheld?: string | undefined;
  readonly busy?: boolean;
  readonly pressed?: boolean;
  readonly submits?: boolean;
  /** Takes the focus when it appears. */
  readonly focused?: boolean;
  readonly onPress?: () => void;
  readonly children?: ComponentChildren;
}

/** A button: 44 px to hit, with a name always. */
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
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (focused) button.current?.focus();
  }, []);
  const title = withheld ?? (iconOnly ? label : undefined);
  return (
    <button
      ref={button}
      type={submits ? "submit" : "button"}
      // In a dialog the browser gives it the focus as it opens: a key that is pressed at once must not reach another button.
      autofocus={focused}
      class={`button ${kind}${iconOnly ? " icon-only" : ""}`}
      aria-label={iconOnly || children !== undefined ? label : undefined}
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
