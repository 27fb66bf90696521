import { useEffect, useRef, useState } from "preact/hooks";

interface SliderProps {
  /** Its name, as it is read out. */
  readonly label: string;
  /** What the device says now; while it is being moved, the person is right. */
  readonly value: number;
  readonly max: number;
  /** How a value is read out. */
  readonly textOf?: (value: number) => string;
  /** Called while it moves, at most five times a second, and with where it ends; what it answers with has been done. */
  onMove(value: number): Promise<unknown>;
}

const throttleMs = 200;
/** After it was done, so long for the device to say so before what it says is shown again. */
const settleMs = 800;

/** A slider that answers at once and is corrected by the device. */
export function Slider({ label, value, max, textOf = String, onMove }: SliderProps) {
  const [own, setOwn] = useState<number | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const settle = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  /** Moves that have not been done yet. */
  const under = useRef(0);
  const last = useRef({ at: 0, wanted: null as number | null });
  const send = () => {
    timer.current = undefined;
    const { wanted } = last.current;
    if (wanted === null) return;
    last.current = { at: performance.now(), wanted: null };
    clearTimeout(settle.current);
    under.current++;
    void onMove(wanted).finally(() => {
      under.current--;
      if (under.current > 0) return;
      clearTimeout(settle.current);
      settle.current = setTimeout(() => {
        if (last.current.wanted === null) setOwn(null);
      }, settleMs);
    });
  };
  const move = (wanted: number) => {
    setOwn(wanted);
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
  const shown = own ?? value;
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
