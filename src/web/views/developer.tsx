/** For who builds apps of televisions: a package sent, its console read, its screen seen. */
import { useSignal } from "@preact/signals";
import type { Device } from "../../api/client-types.ts";
import { call } from "../calls.ts";
import { linkTo } from "../route.ts";
import { attempt, connection, type Entry, entries, entryOf, pressPower } from "../store.ts";
import { Button } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import { Notice } from "../ui/notice.tsx";
import { LastRefusal } from "../ui/refusal.tsx";
import { Switcher } from "../ui/switcher.tsx";
import { appOf, modelOf, powerKey, standingOf, standingWords, withheldHint } from "../words.ts";
import { Console } from "./developer-console.tsx";
import { Reload, Remove } from "./developer-package-actions.tsx";
import { Screen } from "./developer-screen.tsx";
import { Send } from "./developer-send.tsx";
import "./developer.css";

export function Developer({ id }: { readonly id: string | null }) {
  const entry = id === null ? undefined : entryOf(id);
  if (entry) return <Shown entry={entry} />;
  if (connection.value === "connecting") return <p class="dev-loading muted">Asking zapd …</p>;
  return (
    <Notice icon="code" title={id === null ? "Which set?" : "There is no such device"} isPage>
      <Others none="None of the devices takes packages: developer mode is turned on at the set." />
      <p>
        <a href={linkTo("")}>To the house</a>
      </p>
    </Notice>
  );
}

const takesPackages = (device: Device) => device.capabilities.includes("dev");

/** The sets that take packages, to choose from. */
function Others({ none }: { readonly none: string }) {
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

function Shown({ entry }: { readonly entry: Entry }) {
  const params = useSignal("");
  const device = entry.device.value;
  const standing = standingOf(device, entry.state.value);
  const doing = entry.doing.value;
  const app = standing === "offline" ? null : appOf(entry.state.value);
  const isThere = device.status !== "offline";
  const sleeps = takesPackages(device) && (standing === "off" || standing === "standby");
  return (
    <div class={`dev is-${isThere ? standing : "offline"}`}>
      <header class="dev-head">
        <a class="button quiet icon-only" href={linkTo("")} aria-label="To the house" title="To the house">
          <Icon name="chevron-left" />
        </a>
        <Switcher
          entry={entry}
          among={entries.value.filter((one) => one === entry || takesPackages(one.device.value))}
          view="dev"
        />
        <a class="button quiet" href={linkTo("remote", entry.id)} aria-label="Remote" title="Remote">
          <Icon name="tv" />
          <span>Remote</span>
        </a>
      </header>
      <div class="dev-standing">
        <span class="set-mark" aria-hidden="true" />
        <p role="status">
          {doing === null ? standingWords[isThere ? standing : "offline"] : `${doing} …`}
          {isThere && app && ` · ${app}`}
          <span class="muted"> · {modelOf(device)}</span>
        </p>
        {sleeps && powerKey(device, false) !== undefined && (
          <Button
            label={`Turn on ${device.name}`}
            icon="power"
            kind="primary"
            busy={doing !== null}
            onPress={() => pressPower(entry, false)}
          />
        )}
      </div>
      <LastRefusal entry={entry} />
      {!takesPackages(device) ? (
        <Without device={device} />
      ) : (
        <div class="dev-body">
          {!isThere && <Offline entry={entry} />}
          <Send entry={entry} params={params} />
          <Screen entry={entry} isOn={isThere && standing === "on"}>
            <Reload entry={entry} text={params.value} />
            <Remove entry={entry} />
          </Screen>
          <Console entry={entry} />
        </div>
      )}
    </div>
  );
}

/** A device that takes no packages: why, where it says so, and which others do. */
function Without({ device }: { readonly device: Device }) {
  const hint = withheldHint(device, "dev");
  return (
    <Notice icon="code" title={`${device.name} takes no packages`}>
      <p>
        {hint ?? "It has no developer mode, or it is turned off at the set. Once it is on, zapd sees it by itself."}
      </p>
      <Others none="No other device of this house takes packages either." />
    </Notice>
  );
}

/** It does not answer: what it wrote until then stays to be read. */
function Offline({ entry }: { readonly entry: Entry }) {
  const isAsking = useSignal(false);
  const { name, last_seen } = entry.device.value;
  const ask = async () => {
    isAsking.value = true;
    await attempt(entry, "asking", () => call("getState", { id: entry.id }));
    isAsking.value = false;
  };
  return (
    <div class="dev-offline">
      <Icon name="wifi-off" />
      <p role="status">
        <strong>{name} does not answer.</strong>{" "}
        {last_seen !== null && `It was last seen ${new Date(last_seen).toLocaleString()}.`} What it wrote until then
        stays here, and it goes on once it is back.
      </p>
      <Button label="Ask it now" icon="refresh-cw" busy={isAsking.value} onPress={() => void ask()} />
    </div>
  );
}
