/** The activity view: the last 200 events in words, the newest first. */
import { useSignal } from "@preact/signals";
import { Fragment } from "preact";
import { linkTo } from "../route.ts";
import { connection, entryOf, events } from "../store.ts";
import { Button } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import { Notice } from "../ui/notice.tsx";
import { formatTime, withLocalTimes } from "../words.ts";
import { type Line, lineOf } from "./activity-words.ts";
import "./activity.css";

/** A line with its event. */
interface DatedLine extends Line {
  readonly id: string;
  readonly at: Date;
  readonly deviceId: string | null;
  /** The name in the event, for a device that was removed since. */
  readonly lastName: string | null;
}

const choices = [
  { word: "all", label: "Everything" },
  { word: "commands", label: "Commands" },
  { word: "failures", label: "Failures" },
] as const;
type Choice = (typeof choices)[number]["word"];

const passes: Readonly<Record<Choice, (line: Line, type: string) => boolean>> = {
  all: () => true,
  commands: (_, type) => type === "action.finished",
  failures: ({ failure }) => failure !== null,
};

export function Activity() {
  const choice = useSignal<Choice>("all");
  const lines = events.value.flatMap((event): DatedLine[] => {
    const line = lineOf(event);
    if (line === null || !passes[choice.value](line, event.type)) return [];
    const deviceId = "device_id" in event ? event.device_id : null;
    const lastName = "device" in event ? event.device.name : null;
    return [{ ...line, id: event.id, at: new Date(event.at), deviceId, lastName }];
  });
  return (
    <>
      <header class="activity-head">
        <h1>Activity</h1>
        <fieldset class="activity-choice">
          <legend class="hidden">What is shown</legend>
          {choices.map(({ word, label }) => (
            <Button
              key={word}
              label={label}
              kind="quiet"
              pressed={choice.value === word}
              onPress={() => {
                choice.value = word;
              }}
            />
          ))}
        </fieldset>
      </header>
      {lines.length === 0 ? <EmptyActivity choice={choice.value} /> : <Lines lines={lines} />}
    </>
  );
}

function EmptyActivity({ choice }: { readonly choice: Choice }) {
  if (connection.value === "connecting") return null;
  const title = { all: "Nothing has happened yet", commands: "No command yet", failures: "Nothing failed" }[choice];
  return (
    <Notice icon="activity" title={title}>
      <p>The last 200 events appear here: what the devices do, and who sends them commands.</p>
    </Notice>
  );
}

function Lines({ lines }: { readonly lines: readonly DatedLine[] }) {
  return (
    <ol class="activity">
      {lines.map((line, at) => (
        <Fragment key={line.id}>
          {isOtherDay(line.at, lines[at - 1]?.at ?? new Date()) && (
            <li class="activity-day">
              {line.at.toLocaleDateString(undefined, { weekday: "long", day: "numeric", month: "long" })}
            </li>
          )}
          <Row line={line} />
        </Fragment>
      ))}
    </ol>
  );
}

const isOtherDay = (one: Date, other: Date) => one.toDateString() !== other.toDateString();

function Row({ line }: { readonly line: DatedLine }) {
  const { deviceId, at } = line;
  const device = deviceId === null ? undefined : entryOf(deviceId)?.device.value;
  const name = device?.name ?? line.lastName ?? (deviceId === null ? null : "a removed device");
  return (
    <li class={`activity-line${line.failure ? " is-failure" : ""}`}>
      <time dateTime={at.toISOString()} title={at.toLocaleString()}>
        {formatTime(at)}
      </time>
      <Icon name={line.icon} size={18} />
      <p>
        {name !== null &&
          (device ? (
            <a href={linkTo("remote", device.id)} dir="auto">
              {name}
            </a>
          ) : (
            <strong dir="auto">{name}</strong>
          ))}{" "}
        {line.text}
        {line.source && <span class="activity-by">{line.source}</span>}
        {line.failure && <span class="activity-hint">{line.failure.message}</span>}
        {line.failure?.hint && <span class="activity-hint">{withLocalTimes(line.failure.hint)}</span>}
      </p>
    </li>
  );
}
