/** Settings, each with its text as the daemon describes it, changed in place; and what is in the way, as `zapd doctor` finds it. */
import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { call, type Failure, failureOf, send } from "../calls.ts";
import { connection, events } from "../store.ts";
import { Button } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import { Notice } from "../ui/notice.tsx";
import { Refusal } from "../ui/refusal.tsx";
import { say } from "../ui/status.tsx";
import { Doctor } from "./settings-doctor.tsx";
import { SettingField } from "./settings-field.tsx";
import {
  type Config,
  type Described,
  type Document,
  describedIn,
  sectionWords,
  type Value,
  valueIn,
} from "./settings-words.ts";
import "./settings.css";

export function Settings() {
  const described = useSignal<readonly Described[]>([]);
  const config = useSignal<Config | null>(null);
  const failure = useSignal<Failure | null>(null);
  /** Settings that hold from the next start on. */
  const waiting = useSignal<readonly string[]>([]);
  /** The daemon that was asked last. */
  const asked = useRef({ pid: 0, uptime_s: 0 });
  const read = async () => {
    try {
      if (described.value.length === 0)
        described.value = describedIn((await (await send("openapi.json")).json()) as Document);
      config.value = await call("readConfig");
      failure.value = null;
      const { pid, uptime_s } = await call("status");
      // It has been started since; in a container each has the same number.
      if (pid !== asked.current.pid || uptime_s < asked.current.uptime_s) waiting.value = [];
      asked.current = { pid, uptime_s };
    } catch (error) {
      failure.value = failureOf(error);
    }
  };
  // Another tab, the command line or an editor may change them too.
  const newest = events.value.find(({ type }) => type === "config.changed")?.id;
  const isLive = connection.value === "live";
  useEffect(() => {
    if (isLive) void read();
  }, [isLive, newest]);
  const change = async ({ key }: Described, value: Value | null) => {
    const changed = await call("patchConfig", { body: { [key]: value } });
    config.value = changed.config;
    waiting.value = changed.restart_required;
    say(value === null ? `${key} has its default again` : `${key} is changed`);
  };
  const { value: now } = config;
  const sections = [...new Set(described.value.map(({ section }) => section))];
  return (
    <div class="settings">
      <h1>Settings</h1>
      {failure.value && <Refusal failure={failure.value} />}
      {waiting.value.length > 0 && (
        <p class="settings-restart" role="status">
          <Icon name="rotate-cw" size={18} />
          <span>
            From the next start of zapd on: <code>{waiting.value.join(", ")}</code>
          </span>
        </p>
      )}
      {now === null && failure.value === null && connection.value === "lost" && (
        <Notice icon="plug" title="Settings are read once zapd is back" />
      )}
      {now !== null &&
        sections.map((section) => (
          <section key={section} aria-labelledby={`section-${section}`}>
            <h2 id={`section-${section}`}>{sectionWords[section] ?? section}</h2>
            <div class="settings-list">
              {described.value
                .filter((one) => one.section === section)
                .map((one) => (
                  <SettingField
                    key={one.key}
                    setting={one}
                    value={valueIn(now, one)}
                    change={(value) => change(one, value)}
                  />
                ))}
            </div>
          </section>
        ))}
      {/* Below the settings, and not before them: it would slide away under the finger. */}
      {(now !== null || failure.value !== null) && <Doctor />}
      {now !== null && <Reload read={read} waiting={waiting} />}
    </div>
  );
}

/** Takes up what was written into the file by hand. */
function Reload({ read, waiting }: { read(): Promise<void>; readonly waiting: Signal<readonly string[]> }) {
  const failure = useSignal<Failure | null>(null);
  const reload = async () => {
    try {
      const { restart_required } = await call("reloadConfig");
      waiting.value = restart_required;
      failure.value = null;
      await read();
      say(
        restart_required.length > 0 ? `Read; after a restart: ${restart_required.join(", ")}` : "The file is read anew",
      );
    } catch (error) {
      failure.value = failureOf(error);
    }
  };
  return (
    <section class="settings-foot">
      <p class="muted">
        They stand in a file that can be edited, too; its comments stay. <code>zapd config path</code> says where.
      </p>
      <Button label="Read the file anew" icon="refresh-cw" kind="quiet" onPress={() => void reload()} />
      {failure.value && <Refusal failure={failure.value} />}
      <p>
        <a href="docs">The API, with every field and error</a>
      </p>
    </section>
  );
}
