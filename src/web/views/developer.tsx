/** The developer view of a set: send a package, read the console, see the screen. */
import { useSignal } from "@preact/signals";
import type { Device } from "../../api/client-types.ts";
import { call } from "../calls.ts";
import { linkTo } from "../route.ts";
import { attempt, connection, type Entry, entries, entryOf, pressPower } from "../store.ts";
import { Button } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import { LeaseNote } from "../ui/leased.tsx";
import { Notice } from "../ui/notice.tsx";
import { LastRefusal } from "../ui/refusal.tsx";
import { DeviceHead } from "../ui/switcher.tsx";
import { useTask } from "../ui/task.ts";
import { displayStatusOf, displayStatusWords, modelOf, powerKey, screenContentOf, withheldHint } from "../words.ts";
import { Console } from "./developer-console.tsx";
import { Reload, Remove } from "./developer-package-actions.tsx";
import { Screen } from "./developer-screen.tsx";
import { Send } from "./developer-send.tsx";
import "./developer.css";

export function Developer({ id }: { readonly id: string | null }) {
  const entry = entryOf(id);
  if (entry) return <DeveloperOf entry={entry} />;
  if (connection.value === "connecting") return <h1 class="loading">Loading …</h1>;
  return (
    <Notice icon="code" title={id === null ? "Choose a device" : "Device not found"} isPage>
      <OtherSets none="No device accepts packages. Turn on developer mode on the device." />
    </Notice>
  );
}

const takesPackages = (device: Device) => device.capabilities.includes("dev");

/** Links to the sets that accept packages. */
function OtherSets({ none }: { readonly none: string }) {
  const sets = entries.value.filter(({ device }) => takesPackages(device.value));
  if (sets.length === 0) return <p>{none}</p>;
  return (
    <p class="dev-others">
      {sets.map(({ id, device }) => (
        <a key={id} class="button" href={linkTo("dev", id)}>
          <Icon name="code" />
          {device.value.name}
        </a>
      ))}
    </p>
  );
}

function DeveloperOf({ entry }: { readonly entry: Entry }) {
  const params = useSignal("");
  const device = entry.device.value;
  const lastStatus = displayStatusOf(device, entry.state.value);
  const pendingAction = entry.pendingAction.value;
  const isThere = device.status !== "offline";
  const displayStatus = isThere ? lastStatus : "offline";
  const app = isThere ? screenContentOf(entry.state.value) : null;
  const sleeps = takesPackages(device) && (lastStatus === "off" || lastStatus === "standby");
  return (
    <div class={`dev is-${displayStatus}`}>
      <DeviceHead
        entry={entry}
        among={entries.value.filter((one) => one === entry || takesPackages(one.device.value))}
        view="dev"
      >
        <a class="button quiet" href={linkTo("remote", entry.id)} aria-label="Remote" title="Remote">
          <Icon name="tv" />
          <span>Remote</span>
        </a>
      </DeviceHead>
      <div class="refusal-over">
        <LastRefusal failure={entry.refusal} />
      </div>
      <div class="dev-standing">
        <span class="set-mark" aria-hidden="true" />
        <p role="status">
          {pendingAction === null ? displayStatusWords[displayStatus] : `${pendingAction} …`}
          {app && ` · ${app}`}
          <span class="muted"> · {modelOf(device)}</span>
        </p>
        {sleeps && powerKey(device, false) !== undefined && (
          <Button
            label={`Turn on ${device.name}`}
            icon="power"
            kind="primary"
            busy={pendingAction !== null}
            onPress={() => pressPower(entry, false)}
          >
            Turn on
          </Button>
        )}
      </div>
      <LeaseNote device={device} />
      {!takesPackages(device) ? (
        <NoPackages device={device} />
      ) : (
        <div class="dev-body">
          {!isThere && <Offline entry={entry} />}
          <Send entry={entry} params={params} />
          <Screen entry={entry} isOn={displayStatus === "on"}>
            <Reload entry={entry} text={params.value} />
            <Remove entry={entry} />
          </Screen>
          <Console entry={entry} />
        </div>
      )}
    </div>
  );
}

/** For a device that accepts no packages: why, and which devices do. */
function NoPackages({ device }: { readonly device: Device }) {
  const hint = withheldHint(device, "dev");
  return (
    <Notice icon="code" title={`${device.name} accepts no packages`}>
      <p>
        {hint ??
          "It has no developer mode, or its developer mode is off. Once you turn it on there, zapd notices by itself."}
      </p>
      <OtherSets none="No other device accepts packages either." />
    </Notice>
  );
}

/** Shown above the console of a set that does not answer. */
function Offline({ entry }: { readonly entry: Entry }) {
  const { name, last_seen } = entry.device.value;
  const { isBusy, run } = useTask(() => attempt(entry, "checking", () => call("getState", { id: entry.id })));
  return (
    <div class="dev-offline">
      <Icon name="wifi-off" />
      <p role="status">
        <strong>{name} does not answer.</strong>{" "}
        {last_seen !== null && `It was last seen ${new Date(last_seen).toLocaleString()}.`} Its output so far stays
        here, and continues once the device is back.
      </p>
      <Button label="Check now" icon="refresh-cw" busy={isBusy.value} onPress={run} />
    </div>
  );
}
