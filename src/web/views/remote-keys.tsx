/** The keys of a device, laid out as on a remote. Keys withheld by its settings are dimmed. */
import { useRef } from "preact/hooks";
import type { Device } from "../../api/client-types.ts";
import { holdKey } from "../holding.ts";
import type { Entry } from "../store.ts";
import { HoldButton } from "../ui/hold-button.tsx";
import { Icon, type IconName } from "../ui/icon.tsx";
import { type Key, withheldHint } from "../words.ts";

export interface KeyFace {
  readonly key: Key;
  readonly label: string;
  readonly icon?: IconName;
}

const pad: readonly KeyFace[] = [
  { key: "home", label: "Home", icon: "house" },
  { key: "up", label: "Up", icon: "chevron-up" },
  { key: "options", label: "Options", icon: "menu" },
  { key: "left", label: "Left", icon: "chevron-left" },
  { key: "select", label: "OK" },
  { key: "right", label: "Right", icon: "chevron-right" },
  { key: "back", label: "Back", icon: "undo-2" },
  { key: "down", label: "Down", icon: "chevron-down" },
  { key: "info", label: "Info", icon: "info" },
];

const transport: readonly KeyFace[] = [
  { key: "replay", label: "Replay", icon: "rotate-ccw" },
  { key: "rewind", label: "Rewind", icon: "rewind" },
  { key: "play-pause", label: "Play or pause", icon: "play" },
  { key: "fast-forward", label: "Fast forward", icon: "fast-forward" },
  { key: "skip", label: "Skip", icon: "skip-forward" },
  { key: "stop", label: "Stop", icon: "square" },
  { key: "search", label: "Search", icon: "search" },
];

const channels: readonly KeyFace[] = [
  { key: "channel-down", label: "Channel down", icon: "chevron-down" },
  { key: "channel-up", label: "Channel up", icon: "chevron-up" },
];

export function Keys({ entry }: { readonly entry: Entry }) {
  const device = entry.device.value;
  const why = withheldHint(device, "keys");
  const shown = (all: readonly KeyFace[]) => all.filter(({ key }) => why !== undefined || device.keys.includes(key));
  const buttons = (all: readonly KeyFace[], isCross = false) =>
    shown(all).map((face) => <KeyButton key={face.key} entry={entry} face={face} why={why} isInCross={isCross} />);
  const tuner = shown(channels);
  if (shown([...pad, ...transport, ...channels]).length === 0) return null;
  // With arrow keys the pad is a cross as on a remote, otherwise a row.
  const hasCross = shown(pad).some(({ key }) => key === "up");
  return (
    <section class="remote-keys" aria-label="Keys">
      <div class={hasCross ? "remote-pad" : "remote-row"}>{buttons(pad, hasCross)}</div>
      <div class="remote-row">{buttons(transport)}</div>
      {tuner.length > 0 && (
        <div class="remote-row remote-channel">
          <span class="muted" aria-hidden="true">
            Channel
          </span>
          {buttons(channels)}
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

/** Why something else than the keys is withheld. */
export function Withheld({ device, why }: { readonly device: Device; readonly why: string }) {
  return (
    <p class="remote-why">
      <Icon name="lock" size={16} />
      {why === withheldHint(device, "keys") ? "Withheld for the same reason." : why}
    </p>
  );
}

interface KeyButtonProps {
  readonly entry: Entry;
  readonly face: KeyFace;
  readonly why?: string | undefined;
  /** Whether it is placed in the grid of the pad. */
  readonly isInCross?: boolean;
}

export function KeyButton({ entry, face: { key, label, icon }, why, isInCross }: KeyButtonProps) {
  // A ref, so that a render during a hold does not lose its release.
  const up = useRef(() => {});
  return (
    <HoldButton
      label={label}
      className={`remote-key key-${key}`}
      area={isInCross ? key : undefined}
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
