/** The remote view of a device: status, playback, keys, volume, text, apps, inputs and channels. */
import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { Device, State } from "../../api/client-types.ts";
import { linkTo } from "../route.ts";
import { connection, type Entry, entries, entryOf, pressPower, stepVolume, toggleMute } from "../store.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Icon } from "../ui/icon.tsx";
import { LeaseNote } from "../ui/leased.tsx";
import { Notice } from "../ui/notice.tsx";
import { LastRefusal } from "../ui/refusal.tsx";
import { VolumeSlider } from "../ui/slider.tsx";
import { DeviceHead } from "../ui/switcher.tsx";
import {
  type DisplayStatus,
  displayStatusOf,
  displayStatusWords,
  type Key,
  modelOf,
  powerKey,
  screenContentOf,
  withheldHint,
} from "../words.ts";
import { Pairing } from "./pairing.tsx";
import { isKeyboardOn, Shortcuts, useKeyboard } from "./remote-keyboard.tsx";
import { KeyButton, type KeyFace, Keys } from "./remote-keys.tsx";
import { Apps, Channels, Inputs } from "./remote-lists.tsx";
import { Playing } from "./remote-playing.tsx";
import { Text } from "./remote-text.tsx";
import "./remote.css";

export function Remote({ id }: { readonly id: string | null }) {
  const entry = entryOf(id);
  if (entry) return <RemoteOf entry={entry} />;
  if (connection.value === "connecting") return <h1 class="loading">Loading …</h1>;
  return (
    <Notice icon="tv" title="Device not found" isPage>
      <p>It was removed, it is now part of another device, or the address of this page is wrong.</p>
    </Notice>
  );
}

/** The dialog over the remote. */
type OpenDialog = "power" | "shortcuts" | "pairing" | null;

function RemoteOf({ entry }: { readonly entry: Entry }) {
  const asking = useSignal<OpenDialog>(null);
  const device = entry.device.value;
  const state = entry.state.value;
  const displayStatus = displayStatusOf(device, state);
  /** The state to show; the last known one is out of date when the device does not answer. */
  const shownState = displayStatus === "offline" ? null : state;
  const ask = (what: OpenDialog) => {
    asking.value = what;
  };
  const askPower = () => {
    const now = entry.device.peek();
    const isOn = displayStatusOf(now, entry.state.peek()) === "on";
    if (powerKey(now, isOn) !== undefined) ask("power");
  };
  const pairButton = <Button label={`Pair ${device.name}`} icon="link" kind="primary" onPress={() => ask("pairing")} />;
  useKeyboard({ entry, askPower, showList: () => ask("shortcuts") });
  return (
    <div class={`remote is-${displayStatus}`}>
      <DeviceHead entry={entry} among={entries.value} view="remote">
        <Button
          label={isKeyboardOn.value ? "Keyboard on" : "Keyboard off"}
          icon="keyboard"
          kind="quiet"
          pressed={isKeyboardOn.value}
          onPress={() => {
            isKeyboardOn.value = !isKeyboardOn.value;
          }}
        />
        <Button label="Shortcuts" icon="circle-help" iconOnly kind="quiet" onPress={() => ask("shortcuts")} />
      </DeviceHead>
      <div class="refusal-over">
        <LastRefusal failure={entry.refusal} />
      </div>
      <DeviceStatus entry={entry} device={device} state={shownState} displayStatus={displayStatus} ask={ask} />
      <LeaseNote device={device} />
      {displayStatus === "unpaired" ? (
        <Notice icon="link" title={`${device.name} must be paired first`}>
          <p>It accepts commands once it is paired with zapd. You pair it only once, at the TV.</p>
          {pairButton}
        </Notice>
      ) : (
        <>
          {device.access === "unpaired" && (
            <Notice icon="link" title={`${device.name} does more once it is paired`}>
              <p>Some functions work already; the others work after pairing.</p>
              {pairButton}
            </Notice>
          )}
          <div class="remote-body">
            <div class="remote-hand">
              <Playing entry={entry} device={device} state={shownState} />
              <Keys entry={entry} />
              <Volume entry={entry} device={device} state={state} />
              <Text entry={entry} />
            </div>
            <div class="remote-side">
              <Apps entry={entry} device={device} />
              <Inputs entry={entry} device={device} />
              <Channels entry={entry} device={device} />
              {device.capabilities.includes("pair") && device.access !== "unpaired" && (
                <p>
                  <Button label="Pair again" icon="link" kind="quiet" onPress={() => ask("pairing")} />
                </p>
              )}
            </div>
          </div>
        </>
      )}
      {asking.value === "shortcuts" && <Shortcuts entry={entry} close={() => ask(null)} />}
      {asking.value === "pairing" && <Pairing entry={entry} close={() => asking.peek() === "pairing" && ask(null)} />}
      {asking.value === "power" && (
        <PowerQuestion entry={entry} displayStatus={displayStatus} close={() => ask(null)} />
      )}
    </div>
  );
}

interface DeviceStatusProps {
  readonly entry: Entry;
  readonly device: Device;
  readonly state: State | null;
  readonly displayStatus: DisplayStatus;
  ask(what: OpenDialog): void;
}

/** The status line with the power button. */
function DeviceStatus({ entry, device, state, displayStatus, ask }: DeviceStatusProps) {
  const pendingAction = entry.pendingAction.value;
  const app = screenContentOf(state);
  const isOn = displayStatus === "on";
  return (
    <div class="remote-standing">
      <span class="set-mark" aria-hidden="true" />
      <p role="status">
        {pendingAction === null ? displayStatusWords[displayStatus] : `${pendingAction} …`}
        {app && (
          <>
            {" · "}
            <bdi>{app}</bdi>
          </>
        )}
        <span class="muted"> · {modelOf(device)}</span>
      </p>
      {device.capabilities.includes("dev") && (
        <a class="button quiet" href={linkTo("dev", entry.id)} aria-label="Developer" title="Developer">
          <Icon name="code" />
          <span>Developer</span>
        </a>
      )}
      {powerKey(device, isOn) !== undefined && displayStatus !== "unpaired" && (
        <Button
          label={isOn ? `Turn off ${device.name}` : `Turn on ${device.name}`}
          icon="power"
          kind={isOn ? "plain" : "primary"}
          busy={pendingAction !== null}
          onPress={() => (isOn ? ask("power") : pressPower(entry, false))}
        >
          {isOn ? "Turn off" : "Turn on"}
        </Button>
      )}
    </div>
  );
}

function PowerQuestion({
  entry,
  displayStatus,
  close,
}: {
  readonly entry: Entry;
  readonly displayStatus: DisplayStatus;
  close(): void;
}) {
  const { name } = entry.device.value;
  // What was asked stays: a set that goes off meanwhile must not be turned on by the answer to "Turn off?".
  const isOn = useRef(displayStatus === "on").current;
  return (
    <Dialog title={isOn ? `Turn off ${name}?` : `Turn on ${name}?`} onClose={close}>
      <div class="actions">
        <Button label="Cancel" onPress={close} />
        <Button
          label={isOn ? "Turn off" : "Turn on"}
          icon="power"
          kind="primary"
          focused
          onPress={() => {
            if (isOn === (displayStatus === "on")) pressPower(entry, isOn);
            close();
          }}
        />
      </div>
    </Dialog>
  );
}

/** The volume: a slider if the device reports its level, and step keys that can be held. */
function Volume({
  entry,
  device,
  state,
}: {
  readonly entry: Entry;
  readonly device: Device;
  readonly state: State | null;
}) {
  const has = (key: Key) => device.keys.includes(key);
  const can = (what: "volume" | "mute") => device.capabilities.includes(what);
  const whyNot = withheldHint(device, "volume");
  const whyNotMute = withheldHint(device, "mute");
  const hasVolume = can("volume") || whyNot !== undefined;
  const hasMute = can("mute") || whyNotMute !== undefined;
  const { level = null, muted = null } = state?.volume ?? {};
  if (!has("volume-up") && !hasVolume && !hasMute) return null;
  const isMuted = muted === true;
  const step = (face: Required<KeyFace>, by: 1 | -1) =>
    has(face.key) ? (
      <KeyButton entry={entry} face={face} />
    ) : (
      hasVolume && (
        <Button label={face.label} icon={face.icon} iconOnly withheld={whyNot} onPress={() => stepVolume(entry, by)} />
      )
    );
  return (
    <section class={`remote-volume${isMuted ? " is-muted" : ""}`} aria-label="Volume">
      {hasMute ? (
        <Button
          label={isMuted ? "Unmute" : "Mute"}
          icon={isMuted ? "volume-x" : "volume-2"}
          iconOnly
          withheld={whyNotMute}
          onPress={() => toggleMute(entry)}
        />
      ) : (
        has("mute") && <KeyButton entry={entry} face={{ key: "mute", label: "Mute", icon: "volume-x" }} />
      )}
      {step({ key: "volume-down", label: "Quieter", icon: "minus" }, -1)}
      {can("volume") && level !== null && <VolumeSlider entry={entry} label="Volume" level={level} isMuted={isMuted} />}
      {step({ key: "volume-up", label: "Louder", icon: "plus" }, 1)}
      {level !== null && <output class="remote-level">{isMuted ? "muted" : Math.round(level)}</output>}
    </section>
  );
}
