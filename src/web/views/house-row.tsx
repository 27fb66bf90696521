/** One device of the house: what it is, what it does, and what one does most. */
import { useSignal } from "@preact/signals";
import type { Device, State } from "../../api/client-types.ts";
import { call } from "../calls.ts";
import { go, linkTo } from "../route.ts";
import { attempt, type Entry, pressPower, setMuted, setVolume, stepVolume } from "../store.ts";
import { Button } from "../ui/button.tsx";
import { useNow } from "../ui/clock.ts";
import { Icon } from "../ui/icon.tsx";
import { Leased } from "../ui/leased.tsx";
import { Menu, type MenuItem } from "../ui/menu.tsx";
import { LastRefusal } from "../ui/refusal.tsx";
import { Slider } from "../ui/slider.tsx";
import { say } from "../ui/status.tsx";
import {
  appOf,
  clockOf,
  modelOf,
  playingOf,
  positionOf,
  powerKey,
  type Standing,
  standingOf,
  standingWords,
  withheldOf,
} from "../words.ts";
import type { Question } from "./house-dialogs.tsx";

interface RowProps {
  readonly entry: Entry;
  ask(what: Question): void;
}

export function Row({ entry, ask }: RowProps) {
  const device = entry.device.value;
  const standing = standingOf(device, entry.state.value);
  const state = standing === "offline" ? null : entry.state.value;
  const withheld = withheldOf(device);
  const isOpen = useSignal(false);
  return (
    <li class={`set is-${standing}`}>
      <div class="set-line">
        <span class="set-mark" aria-hidden="true" />
        <a class="set-name" href={linkTo("remote", entry.id)}>
          <strong dir="auto" title={device.name}>
            {device.name}
          </strong>
          <span class="muted">
            {modelOf(device)}
            {device.is_default && " · default"}
          </span>
        </a>
        <Now entry={entry} standing={standing} state={state} />
        <Volume entry={entry} state={state} device={device} isOn={standing === "on" || standing === "silent"} />
        <Power entry={entry} device={device} standing={standing} />
        <Menu label={`More for ${device.name}`} items={itemsOf(entry, device, ask)} />
      </div>
      {(device.labels ?? []).length > 0 && (
        <p class="set-labels">
          {device.labels?.map((label) => (
            <span key={label}>{label}</span>
          ))}
        </p>
      )}
      <Leased device={device} />
      {withheld && (
        <div class="set-withheld">
          <Icon name="lock" size={16} />
          <p>
            Its settings keep back {withheld.what}.{" "}
            {withheld.hints.length > 0 && (
              <button
                type="button"
                class="link"
                aria-expanded={isOpen.value}
                onClick={() => {
                  isOpen.value = !isOpen.value;
                }}
              >
                {isOpen.value ? "Put away" : "What to change"}
              </button>
            )}
          </p>
          {isOpen.value && withheld.hints.map((hint) => <p key={hint}>{hint}</p>)}
        </div>
      )}
      <LastRefusal entry={entry} />
    </li>
  );
}

/** Whether it is on, what is on its screen, what plays and how far. */
function Now({
  entry,
  standing,
  state,
}: {
  readonly entry: Entry;
  readonly standing: Standing;
  readonly state: State | null;
}) {
  const app = appOf(state);
  const playing = playingOf(state);
  const doing = entry.doing.value;
  return (
    <div class="set-now">
      <p>
        <span class="set-standing">{doing === null ? standingWords[standing] : `${doing} …`}</span>
        {app && (
          <span>
            {" · "}
            <bdi>{app}</bdi>
          </span>
        )}
      </p>
      {playing && (
        <p class="set-playing muted" dir="auto" title={playing}>
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
      <span>{clockOf(position)}</span>
      {duration_ms !== null && duration_ms > 0 && (
        <>
          <span class="set-bar" aria-hidden="true" style={{ "--part": `${(position / duration_ms) * 100}%` }} />
          <span>{clockOf(duration_ms)}</span>
        </>
      )}
    </p>
  );
}

interface VolumeProps {
  readonly entry: Entry;
  readonly device: Device;
  readonly state: State | null;
  readonly isOn: boolean;
}

/** The volume: a slider where the set tells its level, two steps where it does not. */
function Volume({ entry, device, state, isOn }: VolumeProps) {
  const volume = state?.volume ?? null;
  const can = (what: "volume" | "mute") => device.capabilities.includes(what);
  const { name } = device;
  if (!isOn || !(can("volume") || can("mute"))) return <span class="set-volume is-empty" />;
  const isMuted = volume?.muted === true;
  const level = volume?.level ?? null;
  return (
    <div class={`set-volume${isMuted ? " is-muted" : ""}`}>
      {can("mute") && (
        <Button
          label={isMuted ? `Have ${name} sound again` : `Mute ${name}`}
          icon={isMuted ? "volume-x" : "volume-2"}
          iconOnly
          kind="quiet"
          onPress={() => setMuted(entry, !isMuted)}
        />
      )}
      {can("volume") && level !== null && (
        <>
          <Slider
            label={`Volume of ${name}`}
            value={Math.round(level)}
            max={100}
            textOf={(value) => (isMuted ? `${value}, muted` : String(value))}
            onMove={(to) => setVolume(entry, to)}
          />
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

/** Turns it on or off; where it wants to be paired first, leads there. */
function Power({
  entry,
  device,
  standing,
}: {
  readonly entry: Entry;
  readonly device: Device;
  readonly standing: Standing;
}) {
  const isOn = standing === "on";
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
        busy={entry.doing.value !== null}
        onPress={() => pressPower(entry, isOn)}
      >
        {!isOn && <span class="set-power-word">Turn on</span>}
      </Button>
    </span>
  );
}

function itemsOf(entry: Entry, device: Device, ask: RowProps["ask"]): MenuItem[] {
  const setDefault = async () => {
    const value = device.is_default ? null : device.name;
    const done = await attempt(entry, "saving", () =>
      call("patchConfig", { body: { "daemon.default_device": value } }),
    );
    if (done !== null)
      say(value === null ? "No device is the default now" : `${device.name} is the default device now`);
  };
  const askState = () => void attempt(entry, "asking", () => call("getState", { id: entry.id }));
  const developer: MenuItem[] = device.capabilities.includes("dev")
    ? [{ label: "Developer", icon: "code", onPick: () => go("dev", entry.id) }]
    : [];
  return [
    { label: "Rename", icon: "pencil", onPick: () => ask("rename") },
    { label: "Labels", icon: "tag", onPick: () => ask("labels") },
    {
      label: device.is_default ? "No longer the default" : "Make it the default",
      icon: "star",
      onPick: () => void setDefault(),
    },
    { label: "Ask it now", icon: "refresh-cw", onPick: askState },
    ...developer,
    { label: "Forget", icon: "trash-2", danger: true, onPick: () => ask("forget") },
  ];
}
