/** The house view: every device with its status and its main controls. */
import { signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Result } from "../../api/client.ts";
import type { Device } from "../../api/client-types.ts";
import { call } from "../calls.ts";
import { focusTitle } from "../route.ts";
import { connection, type Entry, entries, events } from "../store.ts";
import { Button } from "../ui/button.tsx";
import { Field } from "../ui/field.tsx";
import { Notice } from "../ui/notice.tsx";
import { LastRefusal } from "../ui/refusal.tsx";
import { announce } from "../ui/status.tsx";
import { useTask } from "../ui/task.ts";
import { countOf, discoverySummary, includesWords, modelOf } from "../words.ts";
import { Add, AddForm, dialogs, type OpenDialog } from "./house-dialogs.tsx";
import { HouseList } from "./house-list.tsx";
import { Row } from "./house-row.tsx";
import "./house.css";

/** From this many devices on there is a filter. */
const minFilterDevices = 9;

/** The filter; kept while the page is open, so that who comes back finds the house as it was left. */
const wanted = signal("");

export function House() {
  const asked = useSignal<OpenDialog | null>(null);
  const isPointed = useSignal(false);
  const hasFilter = useRef(false);
  const look = useTask(async () => {
    const { length } = (await call("discoverDevices")).devices;
    announce(
      length === 0 ? "No device answered. A TV that is off may not answer" : `${countOf(length, "device")} answered`,
    );
  });
  const all = entries.value;
  // Of a device that has become a part of another the id means the other by now: the question goes with it.
  const open = asked.value?.entry && !all.includes(asked.value.entry) ? null : asked.value;
  const close = () => {
    // A dialog whose request ends after it was closed must not close the one that is open by then.
    if (asked.peek() === open) asked.value = null;
  };
  if (connection.value === "connecting") return <h1 class="loading">Loading …</h1>;
  const isMany = all.length >= minFilterDevices;
  // The filter moves the list. A pointer over the list would press another device, so the filter waits until it has left.
  if (hasFilter.current !== isMany && !isPointed.value) hasFilter.current = isMany;
  // What was typed does not outlive its field.
  const shown = hasFilter.current ? filtered(all, wanted.value) : all;
  const lookAgainButton = (
    <Button
      label={look.isBusy.value ? "Looking …" : "Look again"}
      icon="radio"
      kind="quiet"
      busy={look.isBusy.value}
      onPress={look.run}
    />
  );
  return (
    <>
      <h1 class="hidden">House</h1>
      {all.length === 0 && (
        <Empty>
          {lookAgainButton}
          <LastRefusal failure={look.failure} />
        </Empty>
      )}
      {hasFilter.current && (
        <div class="house-filter">
          <Field
            label="Filter by name, model or label"
            labelHidden
            type="search"
            placeholder={`${all.length} devices: name, model or label`}
            text={wanted}
          />
        </div>
      )}
      <div
        onPointerEnter={() => {
          isPointed.value = true;
        }}
        onPointerLeave={() => {
          isPointed.value = false;
        }}
      >
        <HouseList
          entries={shown}
          row={(entry) => (
            <Row
              key={entry.id}
              entry={entry}
              openDialog={(what) => {
                asked.value = { what, entry };
              }}
            />
          )}
        />
      </div>
      {all.length > 0 && shown.length === 0 && (
        <p class="muted house-none">None of the {all.length} devices matches by name, model or label.</p>
      )}
      {all.length > 0 && (
        <div class="house-foot">
          <Button
            label="Add by address"
            icon="plus"
            kind="quiet"
            onPress={() => {
              asked.value = { what: "add", entry: null };
            }}
          />
          {lookAgainButton}
        </div>
      )}
      {all.length > 0 && <LastRefusal failure={look.failure} />}
      <CurrentDialog asked={open} close={close} />
    </>
  );
}

/** The devices that match, those by their name first: digits of a model are a part of many names. */
function filtered(all: readonly Entry[], wanted: string): readonly Entry[] {
  if (wanted.trim() === "") return all;
  const matches = (part: (device: Device) => string) =>
    all.filter(({ device }) => includesWords(part(device.value), wanted));
  const byName = matches(({ name }) => name);
  const byAny = matches((one) => [one.name, modelOf(one), ...(one.labels ?? [])].join(" "));
  return [...new Set([...byName, ...byAny])];
}

function CurrentDialog({ asked, close }: { readonly asked: OpenDialog | null; readonly close: () => void }) {
  if (asked === null) return null;
  if (asked.entry === null) return <Add close={close} />;
  const Shown = dialogs[asked.what];
  return <Shown entry={asked.entry} close={close} />;
}

/** Shown when no device is known: where zapd looked, what usually goes wrong, and a form for an address. */
function Empty({ children }: { readonly children: ComponentChildren }) {
  const config = useSignal<Result<"readConfig">["discovery"] | null>(null);
  useEffect(() => {
    call("readConfig").then(
      ({ discovery }) => {
        config.value = discovery;
      },
      () => {},
    );
    // The form goes with the empty house, also where the device was found otherwise.
    return () => void requestAnimationFrame(() => document.activeElement === document.body && focusTitle());
  }, []);
  const asked = events.value.find((event) => event.type === "discovery.finished");
  return (
    <Notice icon="tv" title="No televisions yet">
      <p>{config.value && discoverySummary(config.value, asked?.found)}</p>
      <p>
        Common causes: the TV is off, this machine is on no IPv4 network, a guest Wi-Fi, a VPN, a firewall (answers come
        from UDP port 1900), another VLAN. The TV's address always works.
      </p>
      <AddForm />
      {children}
    </Notice>
  );
}
