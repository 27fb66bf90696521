import { useEffect, useRef, useState } from "preact/hooks";
import { type Entry, setVolume } from "../store.ts";

/** A finger that has moved so far moves along the slider, or across it to scroll. */
const decidedPx = 10;

/**
 * What a finger does on a slider, which goes where it is touched. `cancel` is called when the finger scrolls: then browsers
 * cancel the touch, but Firefox does not scroll and goes on moving the slider.
 */
export function useFinger(cancel: () => void) {
  const from = useRef({ x: 0, y: 0 });
  const way = useRef<"unknown" | "along" | "across">("along");
  return {
    way,
    on: {
      onPointerDown({ pointerType, clientX: x, clientY: y }: PointerEvent) {
        from.current = { x, y };
        way.current = pointerType === "touch" ? "unknown" : "along";
      },
      onPointerMove({ clientX, clientY }: PointerEvent) {
        const x = Math.abs(clientX - from.current.x);
        const y = Math.abs(clientY - from.current.y);
        if (way.current !== "unknown" || Math.max(x, y) < decidedPx) return;
        way.current = x < y ? "across" : "along";
        if (x < y) cancel();
      },
      onPointerCancel: cancel,
      // Firefox moves the slider once more with the end of the touch, which comes next.
      onLostPointerCapture: () =>
        void setTimeout(() => {
          way.current = "along";
        }),
    },
  };
}

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
  const finger = useFinger(() => {
    clearTimeout(timer.current);
    timer.current = undefined;
    last.current.wanted = null;
    setMovedTo(null);
  });
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
    // A finger sets that level once it moves on or goes.
    if (finger.way.current !== "unknown") sendThrottled();
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
      {...finger.on}
      onInput={({ currentTarget }) => {
        if (finger.way.current === "across") currentTarget.value = String(shown);
        else move(currentTarget.valueAsNumber);
      }}
      onChange={sendThrottled}
    />
  );
}
