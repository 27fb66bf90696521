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
  /** Its last name, for a device that was removed, or has become a part of another, since. */
  readonly lastName: string | null;
}

/** A choice of what is shown. */
interface Choice {
  readonly label: string;
  /** The title of an empty list. */
  readonly empty: string;
  passes(line: Line, type: string): boolean;
}

const choices: readonly [Choice, ...Choice[]] = [
  { label: "Everything", empty: "Nothing has happened yet", passes: () => true },
  { label: "Commands", empty: "No command yet", passes: (_, type) => type === "action.finished" },
  { label: "Failures", empty: "Nothing failed", passes: ({ failure }) => failure !== null },
];

export function Activity() {
  const choice = useSignal(choices[0]);
  const lastNames = new Map<string, string>();
  for (const event of events.value)
    if (event.type === "device.removed") lastNames.set(event.device_id, event.device.name);
  const lines = events.value.flatMap((event): DatedLine[] => {
    const line = lineOf(event);
    if (line === null || !choice.value.passes(line, event.type)) return [];
    const deviceId = "device_id" in event ? event.device_id : null;
    const lastName = "device" in event ? event.device.name : (lastNames.get(deviceId ?? "") ?? null);
    return [{ ...line, id: event.id, at: new Date(event.at), deviceId, lastName }];
  });
  return (
    <>
      <header class="activity-head">
        <h1>Activity</h1>
        <fieldset class="activity-choice">
          <legend class="hidden">What is shown</legend>
          {choices.map((one) => (
            <Button
              key={one.label}
              label={one.label}
              kind="quiet"
              pressed={choice.value === one}
              onPress={() => {
                choice.value = one;
              }}
            />
          ))}
        </fieldset>
      </header>
      {lines.length === 0 ? <EmptyActivity title={choice.value.empty} /> : <Lines lines={lines} />}
    </>
  );
}

function EmptyActivity({ title }: { readonly title: string }) {
  if (connection.value === "connecting") return null;
  return (
    <Notice icon="activity" title={title}>
      <p>The last 200 events appear here: what the devices do, and who sends them commands.</p>
    </Notice>
  );
}

function Lines({ lines }: { readonly lines: readonly DatedLine[] }) {
  return (
    <ol>
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
  const device = entryOf(deviceId)?.device.value;
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
