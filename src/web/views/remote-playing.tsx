/** What plays: artwork, title, position and controls. */
import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { Device, State } from "../../api/client-types.ts";
import { addressOf, call } from "../calls.ts";
import { applyPlayback, command, type Entry } from "../store.ts";
import { Button } from "../ui/button.tsx";
import { useNow } from "../ui/clock.ts";
import { useFinger } from "../ui/slider.tsx";
import { formatDuration, playingOf, positionOf } from "../words.ts";

type Playback = NonNullable<State["playback"]>;

interface PlayingProps {
  readonly entry: Entry;
  readonly device: Device;
  readonly state: State | null;
}

export function Playing({ entry, device, state }: PlayingProps) {
  const playback = state?.playback ?? null;
  const title = playingOf(state);
  const can = (what: Device["capabilities"][number]) => device.capabilities.includes(what);
  if (playback === null || title === null) {
    // The place is kept, so that the keys below do not move when something plays.
    return can("playback") ? <p class="playing card muted">Nothing is playing, as far as it reports</p> : null;
  }
  const control = (what: "play" | "pause" | "next" | "previous") =>
    void command(entry, what === "pause" ? "pausing" : what, () =>
      call("controlPlayback", { id: entry.id, body: { do: what } }),
    );
  const isPaused = playback.status === "paused";
  return (
    <section class="playing card" aria-label="Now playing">
      <div class="playing-top">
        {can("artwork") && <Artwork id={entry.id} what={`${title} ${state?.app?.id ?? ""} ${playback.artwork}`} />}
        <div class="playing-about">
          <p class="playing-title ellipsis" dir="auto" title={title}>
            {title}
          </p>
          {can("playback") && (
            <div class="playing-does">
              {can("seek") && (
                <Button label="Previous" icon="skip-back" iconOnly kind="quiet" onPress={() => control("previous")} />
              )}
              <Button
                label={isPaused ? "Resume" : "Pause"}
                icon={isPaused ? "play" : "pause"}
                iconOnly
                onPress={() => control(isPaused ? "play" : "pause")}
              />
              {can("seek") && (
                <Button label="Next" icon="skip-forward" iconOnly kind="quiet" onPress={() => control("next")} />
              )}
            </div>
          )}
        </div>
      </div>
      <Position entry={entry} playback={playback} canSeek={can("seek")} />
    </section>
  );
}

/** The artwork of what plays, requested once per item, and again when the device has a picture of it; nothing if there is none. */
function Artwork({ id, what }: { readonly id: string; readonly what: string }) {
  const missing = useSignal<string | null>(null);
  if (missing.value === what) return null;
  return (
    <img
      key={what}
      class="playing-art"
      alt=""
      src={addressOf("getArtwork", { id, query: { missing: "empty", of: what } })}
      onError={() => {
        missing.value = what;
      }}
    />
  );
}

function Position({
  entry,
  playback,
  canSeek,
}: {
  readonly entry: Entry;
  readonly playback: Playback;
  readonly canSeek: boolean;
}) {
  const now = useNow(500, playback.status === "playing");
  const wanted = useSignal<number | null>(null);
  /** Where to seek to next. A place that the slider only passes is none. */
  const chosen = useRef<number | null>(null);
  const isSeeking = useRef(false);
  const finger = useFinger(() => {
    wanted.value = null;
  });
  const position = wanted.value ?? positionOf(playback, now);
  const { duration_ms: duration } = playback;
  if (position === null) return playback.live === true ? <p class="muted">live</p> : null;
  if (duration === null || duration <= 0) return <p class="playing-times muted">{formatDuration(position)}</p>;
  const seek = async () => {
    chosen.current = wanted.value;
    if (isSeeking.current) return;
    isSeeking.current = true;
    let to: number | null = null;
    // Seeks wanted while one is under way are merged into the last of them.
    while (chosen.current !== null && chosen.current !== to) {
      to = chosen.current;
      const body = { do: "seek", position_ms: Math.round(to) } as const;
      const result = await command(entry, "seeking", () => call("controlPlayback", { id: entry.id, body }));
      if (result?.playback) applyPlayback(entry, result.playback);
    }
    // It may be on its way to another place by now.
    if (wanted.value === to) wanted.value = null;
    isSeeking.current = false;
  };
  const part = { "--part": `${Math.min(100, (position / duration) * 100)}%` };
  return (
    <div class="playing-times muted">
      <span>{formatDuration(position)}</span>
      {canSeek ? (
        <input
          class="slider"
          type="range"
          aria-label="Position"
          aria-valuetext={`${formatDuration(position)} of ${formatDuration(duration)}`}
          min={0}
          max={duration}
          step={1_000}
          value={position}
          style={part}
          {...finger.on}
          onInput={({ currentTarget }) => {
            if (finger.way.current === "across") currentTarget.value = String(position);
            else wanted.value = currentTarget.valueAsNumber;
          }}
          onChange={() => void seek()}
          // There is no change if it is moved back to where it was, although it has played on meanwhile.
          onPointerUp={() => void seek()}
        />
      ) : (
        <span class="playing-bar" aria-hidden="true" style={part} />
      )}
      <span>{formatDuration(duration)}</span>
    </div>
  );
}
