/** The keys of a remote, where a remote has them: only those that the device has, and dimmed what its settings keep back. */
import { useRef } from "preact/hooks";
import { holdKey } from "../holding.ts";
import type { IconName } from "../icons.ts";
import type { Entry } from "../store.ts";
import { HoldButton } from "../ui/hold-button.tsx";
import { Icon } from "../ui/icon.tsx";
import { type Key, withheldHint } from "../words.ts";

interface Drawn {
  readonly key: Key;
  readonly label: string;
  readonly icon?: IconName;
  /** Where it sits in its group. */
  readonly place?: string;
}

const pad: readonly Drawn[] = [
  { key: "home", label: "Home", icon: "house", place: "a" },
  { key: "up", label: "Up", icon: "chevron-up", place: "b" },
  { key: "options", label: "Options", icon: "menu", place: "c" },
  { key: "left", label: "Left", icon: "chevron-left", place: "d" },
  { key: "select", label: "OK", place: "e" },
  { key: "right", label: "Right", icon: "chevron-right", place: "f" },
  { key: "back", label: "Back", icon: "undo-2", place: "g" },
  { key: "down", label: "Down", icon: "chevron-down", place: "h" },
  { key: "info", label: "Info", icon: "info", place: "i" },
];

const transport: readonly Drawn[] = [
  { key: "replay", label: "Replay", icon: "rotate-ccw" },
  { key: "rewind", label: "Rewind", icon: "rewind" },
  { key: "play-pause", label: "Play or pause", icon: "play" },
  { key: "fast-forward", label: "Fast forward", icon: "fast-forward" },
  { key: "skip", label: "Skip", icon: "skip-forward" },
  { key: "stop", label: "Stop", icon: "square" },
  { key: "search", label: "Search", icon: "search" },
];

const channels: readonly Drawn[] = [
  { key: "channel-down", label: "Channel down", icon: "chevron-down" },
  { key: "channel-up", label: "Channel up", icon: "chevron-up" },
];

export function Keys({ entry }: { readonly entry: Entry }) {
  const device = entry.device.value;
  const why = withheldHint(device, "keys");
  const shown = (all: readonly Drawn[]) => all.filter(({ key }) => why !== undefined || device.keys.includes(key));
  const give = (all: readonly Drawn[]) =>
    shown(all).map((one) => <KeyButton key={one.key} entry={entry} drawn={one} why={why} />);
  const tuner = shown(channels);
  if (shown(pad).length === 0) return null;
  // Around arrows they lie as on a remote; a few alone lie in a row.
  const hasCross = shown(pad).some(({ key }) => key === "up");
  return (
    <section class="remote-keys" aria-label="Keys">
      <div class={hasCross ? "remote-pad" : "remote-row"}>{give(pad)}</div>
      <div class="remote-row">{give(transport)}</div>
      {tuner.length > 0 && (
        <div class="remote-row remote-channel">
          <span class="muted" aria-hidden="true">
            Channel
          </span>
          {give(channels)}
        </div>
      )}
      {why !== undefined && (
        <p class="remote-why">
          <Icon name="lock" size={16} />
          {why}
        </p>
      )}
    </section>
  );
}

interface KeyButtonProps {
  readonly entry: Entry;
  readonly drawn: Drawn;
  readonly why?: string | undefined;
}

export function KeyButton({ entry, drawn: { key, label, icon, place }, why }: KeyButtonProps) {
  // Drawn anew while it is held, it is still the same hold that ends.
  const up = useRef(() => {});
  return (
    <HoldButton
      label={label}
      className={`remote-key key-${key}${place ? ` at-${place}` : ""}`}
      withheld={why}
      onDown={() => {
        up.current = holdKey(entry, key);
      }}
      onUp={() => up.current()}
    >
      {icon ? <Icon name={icon} size={24} /> : <span>{label}</span>}
    </HoldButton>
  );
}
