/** The house: every device with what it does, and the little that one does most. */

import type { Device } from "../../api/client-types.ts";
import { call } from "../calls.ts";
import { linkTo } from "../route.ts";
import { attempt, connection, type Entry, entries, press } from "../store.ts";
import { Button } from "../ui/button.tsx";
import { Notice } from "../ui/notice.tsx";
import { Refusal } from "../ui/refusal.tsx";
import { Slider } from "../ui/slider.tsx";
import { appOf, modelOf, playingOf, standingOf, standingWords } from "../words.ts";
import "./house.css";

export function House() {
  const all = entries.value;
  return (
    <>
      <h1 class="hidden">House</h1>
      {connection.value === "connecting" && <p class="muted house-loading">Asking zapd …</p>}
      {connection.value !== "connecting" && all.length === 0 && (
        <Notice icon="tv" title="No televisions yet">
          <p>zapd has found none on this network.</p>
        </Notice>
      )}
      <ul class="house">
        {all.map((entry) => (
          <Row key={entry.id} entry={entry} />
        ))}
      </ul>
    </>
  );
}

function Row({ entry }: { readonly entry: Entry }) {
  const device = entry.device.value;
  const state = entry.state.value;
  const standing = standingOf(device, state);
  const app = appOf(state);
  const playing = playingOf(state);
  const can = (capability: Device["capabilities"][number]) => device.capabilities.includes(capability);
  const level = state?.volume?.level ?? null;
  const refusal = entry.refusal.value;
  return (
    <li class="set">
      <div class="set-line">
        <a class="set-name" href={linkTo("remote", entry.id)}>
          <strong>{device.name}</strong>
          <span class="muted">{modelOf(device)}</span>
        </a>
        <p class="set-now">
          <span class={`standing is-${standing}`}>{entry.doing.value ?? standingWords[standing]}</span>
          {app && <span> · {app}</span>}
          {playing && <span class="set-playing muted">{playing}</span>}
        </p>
        {can("volume") && level !== null && standing === "on" && (
          <div class="set-volume">
            <Slider
              label={`Volume of ${device.name}`}
              value={level}
              max={100}
              onMove={(to) =>
                void attempt(entry, "setting the volume", () =>
                  call("setVolume", { id: entry.id, body: { level: to } }),
                )
              }
            />
          </div>
        )}
        {standing === "on"
          ? device.keys.includes("power-off") && (
              <Button
                label={`Turn ${device.name} off`}
                icon="power"
                iconOnly
                onPress={() => void press(entry, "power-off", "turning off")}
              />
            )
          : can("power_on") && (
              <Button
                label={`Turn ${device.name} on`}
                icon="power"
                iconOnly
                onPress={() => void press(entry, "power-on", "turning on")}
              />
            )}
      </div>
      {refusal && (
        <Refusal
          failure={refusal}
          onClose={() => {
            entry.refusal.value = null;
          }}
        />
      )}
    </li>
  );
}
