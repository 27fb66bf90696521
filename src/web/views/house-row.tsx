/** A device in the list of the house: its status, its volume and power, and its menu. */
import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Device, State } from "../../api/client-types.ts";
import { call } from "../calls.ts";
import { claimFocus, go, linkTo } from "../route.ts";
import { attempt, type Entry, pressPower, stepVolume, toggleMute } from "../store.ts";
import { Button } from "../ui/button.tsx";
import { useNow } from "../ui/clock.ts";
import { Icon } from "../ui/icon.tsx";
import { LeaseNote } from "../ui/leased.tsx";
import { Menu, type MenuItem } from "../ui/menu.tsx";
import { LastRefusal } from "../ui/refusal.tsx";
import { VolumeSlider } from "../ui/slider.tsx";
import { announce } from "../ui/status.tsx";
import {
  type DisplayStatus,
  displayStatusOf,
  displayStatusWords,
  formatDuration,
  modelOf,
  playingOf,
  positionOf,
  powerKey,
  screenContentOf,
  withheldOf,
} from "../words.ts";
import type { DialogName } from "./house-dialogs.tsx";

interface RowProps {
  readonly entry: Entry;
  openDialog(what: DialogName): void;
}

export function Row({ entry, openDialog }: RowProps) {
  const device = entry.device.value;
  const displayStatus = displayStatusOf(device, entry.state.value);
  const state = displayStatus === "offline" ? null : entry.state.value;
  const shown = { entry, device, state, displayStatus };
  const withheld = withheldOf(device);
  const isOpen = useSignal(false);
  const link = useRef<HTMLAnchorElement>(null);
  useLayoutEffect(() => {
    if (claimFocus(entry.id)) link.current?.focus({ preventScroll: true });
  }, []);
  return (
    <li class={`set card is-${displayStatus}`}>
      <div class="set-line">
        <span class="set-mark" aria-hidden="true" />
        <a ref={link} class="set-name" href={linkTo("remote", entry.id)}>
          <strong class="ellipsis" dir="auto" title={device.name}>
            {device.name}
          </strong>
          <span class="muted ellipsis">
            {modelOf(device)}
            {device.is_default && " · default"}
          </span>
        </a>
        <Now {...shown} />
        <Volume {...shown} />
        <Power {...shown} />
        <Menu label={`More for ${device.name}`} items={itemsOf(entry, device, openDialog)} />
      </div>
      {(device.labels ?? []).length > 0 && (
        <p class="set-labels">
          {device.labels?.map((label) => (
            <span key={label}>{label}</span>
          ))}
        </p>
      )}
      <LeaseNote device={device} />
      {withheld && (
        <div class="set-withheld">
          <Icon name="lock" size={16} />
          <p>
            Its settings withhold {withheld.what}.{" "}
            {withheld.hints.length > 0 && (
              <button
                type="button"
                class="link"
                aria-expanded={isOpen.value}
                onClick={() => {
                  isOpen.value = !isOpen.value;
                }}
              >
                {isOpen.value ? "Hide" : "What to change"}
              </button>
            )}
          </p>
          {isOpen.value && withheld.hints.map((hint) => <p key={hint}>{hint}</p>)}
        </div>
      )}
      <LastRefusal failure={entry.refusal} />
    </li>
  );
}

/** What is shown of a device. */
interface ShownProps {
  readonly entry: Entry;
  readonly device: Device;
  /** `null` also for a device that does not answer. */
  readonly state: State | null;
  readonly displayStatus: DisplayStatus;
}

/** The status, what is on the screen, and what plays with its position. */
function Now({ entry, state, displayStatus }: ShownProps) {
  const app = screenContentOf(state);
  const playing = playingOf(state);
  const pendingAction = entry.pendingAction.value;
  return (
    <div class="set-now">
      <p>
        <span class="set-standing">
          {pendingAction === null ? displayStatusWords[displayStatus] : `${pendingAction} …`}
        </span>
        {app && (
          <span>
            {" · "}
            <bdi>{app}</bdi>
          </span>
        )}
      </p>
      {playing && (
        <p class="set-playing muted ellipsis" dir="auto" title={playing}>
          {playing}
        </p>
      )}
      {playing && state?.playback && <Progress playback={state.playback} />}
    </div>
  );
}

function Progress({ playback }: { readonly playback: NonNullable<State["playback"]> }) {
  const now = useNow(1_000, playback.status === "playing");
  const position = positionOf(playback, now);
  const { duration_ms } = playback;
  if (position === null) return null;
  return (
    <p class="set-progress muted">
      <span>{formatDuration(position)}</span>
      {duration_ms !== null && duration_ms > 0 && (
        <>
          <span class="set-bar" aria-hidden="true" style={{ "--part": `${(position / duration_ms) * 100}%` }} />
          <span>{formatDuration(duration_ms)}</span>
        </>
      )}
    </p>
  );
}

/** The volume: a slider if the set reports its level, else two step buttons. */
function Volume({ entry, device, state, displayStatus }: ShownProps) {
  const volume = state?.volume ?? null;
  const can = (what: "volume" | "mute") => device.capabilities.includes(what);
  const { name } = device;
  const isOn = displayStatus === "on" || displayStatus === "silent";
  if (!isOn || !(can("volume") || can("mute"))) return <span class="set-volume is-empty" />;
  const isMuted = volume?.muted === true;
  const level = volume?.level ?? null;
  return (
    <div class={`set-volume${isMuted ? " is-muted" : ""}`}>
      {can("mute") && (
        <Button
          label={isMuted ? `Unmute ${name}` : `Mute ${name}`}
          icon={isMuted ? "volume-x" : "volume-2"}
          iconOnly
          kind="quiet"
          onPress={() => toggleMute(entry)}
        />
      )}
      {can("volume") && level !== null && (
        <>
          <VolumeSlider entry={entry} label={`Volume of ${name}`} level={level} isMuted={isMuted} />
          <span class="set-level" aria-hidden="true">
            {Math.round(level)}
          </span>
        </>
      )}
      {can("volume") && level === null && (
        <>
          <Button label={`${name} quieter`} icon="minus" iconOnly kind="quiet" onPress={() => stepVolume(entry, -1)} />
          <Button label={`${name} louder`} icon="plus" iconOnly kind="quiet" onPress={() => stepVolume(entry, 1)} />
        </>
      )}
    </div>
  );
}

/** The power button, or a link to pairing for a set that is not paired. */
function Power({ entry, device, displayStatus }: ShownProps) {
  const isOn = displayStatus === "on";
  if (device.access === "unpaired") {
    return (
      <a class="button set-power" href={linkTo("remote", entry.id)} aria-label={`Pair ${device.name}`}>
        <Icon name="link" />
        Pair
      </a>
    );
  }
  if (powerKey(device, isOn) === undefined) return <span class="set-power is-empty" />;
  return (
    <span class="set-power">
      <Button
        label={`Turn ${isOn ? "off" : "on"} ${device.name}`}
        icon="power"
        iconOnly={isOn}
        busy={entry.pendingAction.value !== null}
        onPress={() => pressPower(entry, isOn)}
      >
        {!isOn && <span class="set-power-word">Turn on</span>}
      </Button>
    </span>
  );
}

function itemsOf(entry: Entry, device: Device, openDialog: RowProps["openDialog"]): MenuItem[] {
  const setDefault = async () => {
    const value = device.is_default ? null : device.name;
    const result = await attempt(entry, "saving", () =>
      call("patchConfig", { body: { "daemon.default_device": value } }),
    );
    if (result !== null)
      announce(value === null ? "No device is the default now" : `${device.name} is the default device now`);
  };
  const askState = () => void attempt(entry, "checking", () => call("getState", { id: entry.id }));
  const developer: MenuItem[] = device.capabilities.includes("dev")
    ? [{ label: "Developer", icon: "code", onPick: () => go("dev", entry.id) }]
    : [];
  return [
    { label: "Rename", icon: "pencil", onPick: () => openDialog("rename") },
    { label: "Labels", icon: "tag", onPick: () => openDialog("labels") },
    {
      label: device.is_default ? "No longer the default" : "Make it the default",
      icon: "star",
      onPick: () => void setDefault(),
    },
    { label: "Check now", icon: "refresh-cw", onPick: askState },
    ...developer,
    { label: "Forget", icon: "trash-2", danger: true, onPick: () => openDialog("forget") },
  ];
}
