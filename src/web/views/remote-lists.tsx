/** The apps, inputs and channels of a device. */
import { useSignal } from "@preact/signals";
import { useEffect, useId, useRef } from "preact/hooks";
import type { Result } from "../../api/client.ts";
import type { App, Device } from "../../api/client-types.ts";
import { addressOf, call } from "../calls.ts";
import { attempt, command, connection, type Entry, events } from "../store.ts";
import { Button } from "../ui/button.tsx";
import { isComposing } from "../ui/field.tsx";
import { Icon } from "../ui/icon.tsx";
import { Refusal } from "../ui/refusal.tsx";
import { useTask } from "../ui/task.ts";
import { displayStatusOf, includesWords, withheldHint } from "../words.ts";
import { Withheld } from "./remote-keys.tsx";

type Input = Result<"listInputs">["inputs"][number];
type Channel = Result<"listChannels">["channels"][number];

interface ListProps {
  readonly entry: Entry;
  readonly device: Device;
}

/** Whether the daemon and the device answer; a list that failed is requested again once they do. */
const isReachable = ({ device }: Entry) => connection.value === "live" && device.value.status !== "offline";

/** From this many items on there is a search field. */
const minSearchItems = 8;

export function Apps({ entry, device }: ListProps) {
  const apps = useSignal<readonly App[] | null>(null);
  const { id } = entry;
  const why = withheldHint(device, "launch") ?? withheldHint(device, "apps");
  const can = device.capabilities.includes("apps");
  const changed = events.value.find((event) => event.type === "apps.changed" && event.device_id === id)?.id;
  const answers = isReachable(entry);
  const show = (all: readonly App[]) => {
    apps.value = all.filter(({ type, installed }) => installed && (type === "app" || type === "dev"));
  };
  const { failure, run: read } = useTask(async () => show((await call("listApps", { id })).apps));
  // The daemon lists what it knows; only this asks the device again.
  const refresh = useTask(async () => {
    const refreshed = await attempt(entry, "refreshing its apps", () => call("refreshApps", { id, body: {} }));
    if (refreshed) show(refreshed.apps);
  });
  useEffect(() => {
    // A list that was read stays while the device does not answer.
    if (can && (answers || apps.peek() === null)) read();
  }, [id, can, changed, answers]);
  const isOn = answers && ["on", "silent"].includes(displayStatusOf(device, entry.state.value));
  useEffect(() => {
    // One that answers in standby may list its apps only while it is on.
    if (isOn && failure.peek()) read();
  }, [isOn]);
  if (!can && why === undefined) return null;
  const shown = entry.state.value?.app?.id;
  return (
    <section class="remote-list" aria-label="Apps">
      {why !== undefined && apps.value === null && (
        <>
          <h2>Apps</h2>
          <Withheld device={device} why={why} />
        </>
      )}
      {failure.value && <Refusal failure={failure.value} />}
      {apps.value !== null && (
        <SearchableList
          title="Apps"
          isSearch
          items={apps.value}
          action={
            <Button
              label="Refresh the apps"
              icon="refresh-cw"
              iconOnly
              kind="quiet"
              busy={refresh.isBusy.value}
              onPress={refresh.run}
            />
          }
          wordsOf={(app) => `${app.name} ${app.id}`}
          className="remote-apps"
          row={(app) => (
            <button
              key={app.id}
              type="button"
              class="app card"
              title={app.name}
              aria-current={app.id === shown ? "true" : undefined}
              onClick={() =>
                void command(entry, `opening ${app.name}`, () => call("launchApp", { id, body: { app: app.id } }))
              }
            >
              <AppIcon id={id} app={app} has={device.capabilities.includes("icons")} isOn={isOn} />
              <span dir="auto">{app.name}</span>
            </button>
          )}
        />
      )}
    </section>
  );
}

/**
 * Two queues of icons; each promise resolves when the last icon in its queue has loaded or failed. Not more: the icons of a
 * slow device must not take the browser's six connections.
 */
const iconLines = [Promise.resolve(), Promise.resolve()];

interface IconProps {
  readonly id: string;
  readonly app: App;
  readonly has: boolean;
  /** Whether the device is on; an icon that is missing is requested again once it is. */
  readonly isOn: boolean;
}

/** The icon of an app, or its first letter if it has none. */
function AppIcon({ id, app, has, isOn }: IconProps) {
  const isMissing = useSignal(false);
  const image = useRef<HTMLImageElement>(null);
  useEffect(() => {
    // A set that was off had none to give.
    if (isOn) isMissing.value = false;
  }, [isOn]);
  useEffect(() => {
    const load = (ended: () => void) => {
      const { current: own } = image;
      // It was left meanwhile. One that is loading keeps its place: browsers load on when an image is removed.
      if (own === null) return ended();
      own.addEventListener("load", ended);
      own.addEventListener("error", ended);
      own.src = addressOf("getIcon", { id, app: app.id, query: { missing: "empty" } });
    };
    const [line = Promise.resolve()] = iconLines.splice(0, 1);
    iconLines.push(line.then(() => new Promise(load)));
  }, [has, isMissing.value]);
  if (!has || isMissing.value)
    return (
      <span class="app-letter" aria-hidden="true">
        {[...app.name][0]?.toUpperCase() ?? "?"}
      </span>
    );
  return (
    <img
      ref={image}
      alt=""
      decoding="async"
      onError={() => {
        isMissing.value = true;
      }}
    />
  );
}

export function Inputs({ entry, device }: ListProps) {
  const { id } = entry;
  if (!device.capabilities.includes("inputs")) return null;
  const shown = entry.state.value?.input;
  return (
    <LazyList entry={entry} title="Inputs" load={async () => (await call("listInputs", { id })).inputs}>
      {(inputs: readonly Input[]) => (
        <div class="remote-choices">
          {inputs.map((input) => (
            <button
              key={input.id}
              type="button"
              class="button"
              aria-pressed={input.id === shown}
              onClick={() =>
                void command(entry, `switching to ${input.name}`, () =>
                  call("selectInput", { id, body: { input: input.id } }),
                )
              }
            >
              {input.name}
            </button>
          ))}
        </div>
      )}
    </LazyList>
  );
}

export function Channels({ entry, device }: ListProps) {
  const { id } = entry;
  if (!device.capabilities.includes("channels")) return null;
  return (
    <LazyList entry={entry} title="Channels" load={async () => (await call("listChannels", { id })).channels}>
      {(channels: readonly Channel[]) => (
        <SearchableList
          title="Channels"
          items={channels}
          wordsOf={(one) => `${one.number ?? ""} ${one.name}`}
          className="remote-choices"
          row={(one) => (
            <button
              key={one.id}
              type="button"
              class="button"
              onClick={() =>
                void command(entry, `switching to ${one.name}`, () =>
                  call("selectChannel", { id, body: { channel: one.id } }),
                )
              }
            >
              {one.number !== null && <span class="muted">{one.number}</span>}
              {one.name}
            </button>
          )}
        />
      )}
    </LazyList>
  );
}

/** A collapsed list that is requested when it is opened. */
function LazyList<Item>({
  entry,
  title,
  load,
  children,
}: {
  readonly entry: Entry;
  readonly title: string;
  load(): Promise<readonly Item[]>;
  children(items: readonly Item[]): preact.ComponentChildren;
}) {
  const items = useSignal<readonly Item[] | null>(null);
  const isOpen = useSignal(false);
  const { failure, run: read } = useTask(async () => {
    items.value = await load();
  });
  const answers = isReachable(entry);
  useEffect(() => {
    if (isOpen.value && items.peek() === null) read();
  }, [isOpen.value, answers]);
  return (
    <details
      class="remote-list"
      onToggle={(event) => {
        isOpen.value = event.currentTarget.open;
      }}
    >
      <summary>
        <h2>{title}</h2>
        <Icon name="chevron-down" size={18} />
      </summary>
      {items.value === null && failure.value && <Refusal failure={failure.value} />}
      {items.value?.length === 0 && <p class="muted">There are none.</p>}
      {items.value !== null && items.value.length > 0 && children(items.value)}
    </details>
  );
}

/** The class of the field that `/` focuses. */
export const searchClass = "remote-search";

/** A list with a search field if it has many items. */
function SearchableList<Item>({
  title,
  items,
  wordsOf,
  row,
  className,
  isSearch,
  action,
}: {
  readonly title: string;
  readonly items: readonly Item[];
  wordsOf(item: Item): string;
  row(item: Item): preact.ComponentChildren;
  readonly className: string;
  /** Whether `/` focuses its search field. */
  readonly isSearch?: boolean;
  /** Beside the search field. */
  readonly action?: preact.ComponentChildren;
}) {
  const wanted = useSignal("");
  const list = useRef<HTMLDivElement>(null);
  const id = useId();
  const hasSearch = items.length >= minSearchItems;
  // What was typed does not outlive its field.
  const found = hasSearch ? items.filter((item) => includesWords(wordsOf(item), wanted.value)) : items;
  return (
    <>
      <div class="remote-list-head">
        {isSearch && <h2>{title}</h2>}
        {hasSearch && (
          <div class="field">
            <label class="hidden" for={id}>
              Search in {title.toLowerCase()}
            </label>
            <input
              id={id}
              class={isSearch ? searchClass : ""}
              type="search"
              placeholder={`Search in ${items.length}`}
              autocomplete="off"
              value={wanted.value}
              onInput={(event) => {
                wanted.value = event.currentTarget.value;
              }}
              onKeyDown={(event) => {
                if (isComposing(event)) return;
                // Enter chooses the first match.
                if (event.key === "Enter") {
                  const first = wanted.value.trim() === "" ? null : list.current?.querySelector("button");
                  first?.click();
                  // The next keys are for the app.
                  if (first && isSearch) event.currentTarget.blur();
                } else if (event.key === "Escape") event.currentTarget.blur();
                else return;
                event.preventDefault();
                wanted.value = "";
              }}
            />
          </div>
        )}
        {action}
      </div>
      <div ref={list} class={className}>
        {found.map(row)}
      </div>
      {found.length === 0 && <p class="muted">No name matches.</p>}
    </>
  );
}
