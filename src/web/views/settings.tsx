/** The settings view: every setting with its description, and the findings of `zapd doctor`. */
import { signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { call, type Failure, failureOf, send } from "../calls.ts";
import { connection, events, lostBecause } from "../store.ts";
import { currentBoot } from "../stream.ts";
import { Button } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import { Notice } from "../ui/notice.tsx";
import { Refusal } from "../ui/refusal.tsx";
import { announce } from "../ui/status.tsx";
import { useTask } from "../ui/task.ts";
import { Doctor } from "./settings-doctor.tsx";
import { SettingField } from "./settings-field.tsx";
import {
  type Config,
  type Document,
  type Setting,
  sectionWords,
  settingsIn,
  type Value,
  valueIn,
} from "./settings-words.ts";
import "./settings.css";

/** Changed settings that need a restart; kept while the page is open, because no answer repeats them. */
const waiting = signal<readonly string[]>([]);
/** The start of the daemon whose settings were read last. */
let lastBoot: string | undefined;

export function Settings() {
  const described = useSignal<readonly Setting[]>([]);
  const config = useSignal<Config | null>(null);
  const failure = useSignal<Failure | null>(null);
  const read = async () => {
    try {
      if (described.value.length === 0)
        described.value = settingsIn((await (await send("openapi.json")).json()) as Document);
      config.value = await call("readConfig");
      failure.value = null;
      const boot = currentBoot();
      if (boot !== lastBoot) waiting.value = [];
      lastBoot = boot;
    } catch (error) {
      failure.value = failureOf(error);
    }
  };
  // Another tab, the CLI or an editor may change the settings too.
  const newest = events.value.find(({ type }) => type === "config.changed")?.id;
  const isLive = connection.value === "live";
  useEffect(() => {
    if (isLive) void read();
  }, [isLive, newest]);
  const change = async ({ key }: Setting, value: Value | null) => {
    const changed = await call("patchConfig", { body: { [key]: value } });
    config.value = changed.config;
    waiting.value = changed.restart_required;
    announce(value === null ? `${key} was reset to its default` : `${key} was changed`);
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
            Takes effect when zapd restarts: <code>{waiting.value.join(", ")}</code>
          </span>
        </p>
      )}
      {now === null && failure.value === null && lostBecause.value !== null && (
        <Notice icon="plug" title="The settings are not known yet" />
      )}
      {now !== null &&
        sections.map((section) => (
          <section key={section} aria-labelledby={`section-${section}`}>
            <h2 id={`section-${section}`}>{sectionWords[section] ?? section}</h2>
            <div class="card">
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
      {/* Rendered after the settings, so that it does not move when they appear. */}
      {(now !== null || failure.value !== null) && <Doctor />}
      {now !== null && <Reload read={read} />}
    </div>
  );
}

/** Loads changes that were made in the file by hand. */
function Reload({ read }: { read(): Promise<void> }) {
  const { isBusy, failure, run } = useTask(async () => {
    const { restart_required } = await call("reloadConfig");
    waiting.value = restart_required;
    await read();
    announce(
      restart_required.length > 0
        ? `Reloaded. After a restart: ${restart_required.join(", ")}`
        : "The file was reloaded",
    );
  });
  return (
    <section class="settings-foot">
      <p class="muted">
        You can also edit the settings in their file; its comments are kept. <code>zapd config path</code> prints its
        path.
      </p>
      <Button
        label={isBusy.value ? "Reloading …" : "Reload the file"}
        icon="refresh-cw"
        kind="quiet"
        busy={isBusy.value}
        onPress={run}
      />
      {failure.value && <Refusal failure={failure.value} />}
      <p>
        <a href="docs">API documentation, with every field and error</a>
      </p>
    </section>
  );
}
