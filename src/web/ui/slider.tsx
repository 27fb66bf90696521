import { useEffect, useRef, useState } from "preact/hooks";

interface SliderProps {
  /** Its accessible name. */
  readonly label: string;
  /** The level that the device reports; ignored while the slider is being moved. */
  readonly value: number;
  readonly max: number;
  /** How screen readers read a value. */
  readonly textOf?: (value: number) => string;
  /** Called while the slider moves, at most five times a second, and with the last value. Resolves when the value was set. */
  onMove(value: number): Promise<unknown>;
}

const throttleMs = 200;
/** How long the device has to report a value that was set, before its reports are shown again. */
const settleMs = 800;

/** A slider that moves at once and is corrected by the value that the device reports. */
export function Slider({ label, value, max, textOf = String, onMove }: SliderProps) {
  const [movedTo, setMovedTo] = useState<number | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const settle = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const pendingMoves = useRef(0);
  const last = useRef({ at: 0, wanted: null as number | null });
  const send = () => {
    timer.current = undefined;
    const { wanted } = last.current;
    if (wanted === null) return;
    last.current = { at: performance.now(), wanted: null };
    clearTimeout(settle.current);
    pendingMoves.current++;
    void onMove(wanted).finally(() => {
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
  const shown = movedTo ?? value;
  return (
    <input
      class="slider"
      type="range"
      aria-label={label}
      aria-valuetext={textOf(shown)}
      min={0}
      max={max}
      value={shown}
      style={{ "--part": `${max === 0 ? 0 : (shown / max) * 100}%` }}
      onInput={(event) => move(event.currentTarget.valueAsNumber)}
    />
  );
}
