import { useEffect, useRef, useState } from "preact/hooks";
import { type Entry, setVolume } from "../store.ts";

interface VolumeSliderProps {
  readonly entry: Entry;
  /** Its accessible name. */
  readonly label: string;
  /** The level that the device reports, 0 to 100; ignored while the slider is being moved. */
  readonly level: number;
  readonly isMuted: boolean;
}

/** While the slider moves, levels are set at most five times a second, and always the last one. */
const throttleMs = 200;
/** How long the device has to report a level that was set, before its reports are shown again. */
const settleMs = 800;

/** The volume as a slider, which moves at once and is corrected by the level that the device reports. */
export function VolumeSlider({ entry, label, level, isMuted }: VolumeSliderProps) {
  const [movedTo, setMovedTo] = useState<number | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const settle = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const pendingMoves = useRef(0);
  const last = useRef({ at: 0, wanted: null as number | null });
  /** Whether a finger has just touched it, and may only be about to scroll. */
  const isTouched = useRef(false);
  const send = () => {
    timer.current = undefined;
    const { wanted } = last.current;
    if (wanted === null) return;
    last.current = { at: performance.now(), wanted: null };
    clearTimeout(settle.current);
    pendingMoves.current++;
    void setVolume(entry, wanted).finally(() => {
      pendingMoves.current--;
      if (pendingMoves.current > 0) return;
      clearTimeout(settle.current);
      settle.current = setTimeout(() => {
        if (last.current.wanted === null) setMovedTo(null);
      }, settleMs);
    });
  };
  const move = (wanted: number) => {
    setMovedTo(wanted);
    last.current.wanted = wanted;
    if (!isTouched.current) sendThrottled();
    isTouched.current = false;
  };
  const sendThrottled = () => {
    const wait = last.current.at + throttleMs - performance.now();
    if (wait <= 0) send();
    else timer.current ??= setTimeout(send, wait);
  };
  useEffect(
    () => () => {
      clearTimeout(timer.current);
      clearTimeout(settle.current);
      send();
    },
    [],
  );
  const shown = movedTo ?? Math.round(level);
  return (
    <input
      class="slider"
      type="range"
      aria-label={label}
      aria-valuetext={isMuted ? `${shown}, muted` : String(shown)}
      min={0}
      max={100}
      value={shown}
      style={{ "--part": `${shown}%` }}
      // A finger moves it where it touches it. It sets that level once it moves on or goes, but not when it scrolls: then the
      // browser cancels the touch.
      onPointerDown={({ pointerType }) => {
        isTouched.current = pointerType === "touch";
      }}
      onPointerCancel={() => {
        clearTimeout(timer.current);
        timer.current = undefined;
        last.current.wanted = null;
        setMovedTo(null);
      }}
      onInput={(event) => move(event.currentTarget.valueAsNumber)}
      onChange={sendThrottled}
    />
  );
}
