import { dice as chance } from "../support/shaken.ts";

/** Whole numbers from 0 to below `most`, the same for the same seed. */
export function dice(seed: number): (most: number) => number {
  const next = chance(seed);
  return (most) => Math.floor(next() * most);
}
