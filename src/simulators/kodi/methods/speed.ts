const SPEEDS = [-32, -16, -8, -4, -2, 1, 2, 4, 8, 16, 32];

/** One step on the scale, where normal speed lies between the two twofold ones; rewind of four goes to two (players.md 7.3). */
export function faster(speed: number, direction: 1 | -1): number {
  const at = SPEEDS.indexOf(speed) + direction;
  return SPEEDS[Math.max(0, Math.min(SPEEDS.length - 1, at))] ?? speed;
}

export const allowed: readonly number[] = [...SPEEDS, -1, 0];
