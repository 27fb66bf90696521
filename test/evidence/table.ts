/** The table of proofs as Markdown. Pure. */
import type { Figures, Proof } from "./proofs.ts";

const marks = ["<!-- evidence -->", "<!-- /evidence -->"] as const;

/** A row for each promise; one that nothing proves says so. */
export function tableOf(
  promises: Readonly<Record<string, string>>,
  proofs: readonly Proof[],
  figures: Figures,
): string {
  const rows = Object.entries(promises).map(([id, promise]) => {
    const files = [...new Set(proofs.filter((proof) => proof.id === id).map(({ file }) => file))];
    const shown = files.map((file) => `[${file.replace(/^test\//, "").replace(/\.test\.ts$/, "")}](${file})`);
    const measured = Object.entries(figures[id] ?? {}).map(([name, { figure }]) => `${name}: ${figure}`);
    return `| ${id} | ${promise} | ${shown.join(", ") || "**no proof**"} | ${measured.map(escaped).join("; ")} |`;
  });
  const days = Object.values(figures).flatMap((named) => Object.values(named).map(({ date }) => date));
  const since = days.toSorted();
  const span = since[0] === since.at(-1) ? since[0] : `${since[0]} to ${since.at(-1)}`;
  return [
    ...(days.length > 0 ? [`Figures of ${span}, from one machine with two cores that others share.`, ""] : []),
    "| | promised | proof | measured |",
    "|---|---|---|---|",
    ...rows,
  ].join("\n");
}

function escaped(text: string): string {
  return text.replaceAll("|", "\\|");
}

/** The README with the table between its marks. Fails when the marks are not there. */
export function withEvidence(readme: string, table: string): string {
  const [begin, end] = marks.map((mark) => readme.indexOf(mark));
  if (begin === undefined || end === undefined || begin < 0 || end < begin)
    throw new Error(`The README has no ${marks.join(" … ")} to write the table between`);
  return `${readme.slice(0, begin + marks[0].length)}\n${table}\n${readme.slice(end)}`;
}
