/** The slope of the least-squares line through points: units of the second value for each of the first. */
export function slopeOf(points: readonly (readonly [number, number])[]): number {
  const mean = (values: readonly number[]) => values.reduce((sum, one) => sum + one, 0) / values.length;
  const x = mean(points.map(([one]) => one));
  const y = mean(points.map(([, one]) => one));
  const up = points.reduce((sum, [one, other]) => sum + (one - x) * (other - y), 0);
  return up / points.reduce((sum, [one]) => sum + (one - x) ** 2, 0);
}
