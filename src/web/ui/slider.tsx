import { useEffect, useRef, useState } from "preact/hooks";

interface SliderProps {
  /** Its name, as it is read out. */
  readonly label: string;
  /** What the device says now; while it is being moved, the person is right. */
  readonly value: number;
  readonly max: number;
  readonly step?: number;
  /** How a value is read out. */
  readonly textOf?: (value: number) => string;
  /** Called while it moves, at most five times a second, and with where it ends. */
  onMove(value: number): void;
}

const throttleMs = 200;
/** After it was let go, so long for the device to follow before what it says is shown again. */
const settleMs = 1_500;

/** A slider that answers at once and is corrected by the device. */
export function Slider({ label, value, max, step = 1, textOf = String, onMove }: SliderProps) {
  const [own, setOwn] = useState<number | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const settle = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const last = useRef({ at: 0, wanted: null as number | null });
  const send = () => {
    timer.current = undefined;
    const { wanted } = last.current;
    if (wanted === null) return;
    last.current = { at: performance.now(), wanted: null };
    onMove(wanted);
  };
  const move = (wanted: number) => {
    setOwn(wanted);
    last.current.wanted = wanted;
    const wait = last.current.at + throttleMs - performance.now();
    if (wait <= 0) send();
    else timer.current ??= setTimeout(send, wait);
    clearTimeout(settle.current);
    settle.current = setTimeout(() => setOwn(null), settleMs);
  };
  useEffect(
    () => () => {
      clearTimeout(timer.current);
      clearTimeout(settle.current);
      send();
    },
    [],
  );
  useEffect(() => {
    if (own === value) {
      clearTimeout(settle.current);
      setOwn(null);
    }
  }, [value]);
  const shown = own ?? value;
  return (
    <input
      class="slider"
      type="range"
      aria-label={label}
      aria-valuetext={textOf(shown)}
      min={0}
      max={max}
      step={step}
      value={shown}
      style={{ "--part": `${max === 0 ? 0 : (shown / max) * 100}%` }}
      onInput={(event) => move(event.currentTarget.valueAsNumber)}
    />
  );
}
