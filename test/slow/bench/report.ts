/** What a measure found, as a row of the table, and whether it reaches what it must. Pure. */
import { type Spread, short } from "./figures.ts";

/** How another program did at the same, or why it could not be asked. */
export interface Peer {
  /** With its version: `roku-client 6.0.0`. */
  readonly name: string;
  /** In the same terms as the row's own figure; `null` when it could not be measured. */
  readonly figure: number | null;
  /** Why it could not, or what it does otherwise. */
  readonly note?: string;
}

/** One figure at one size: `{ size: "100 devices", figure: 1.02 }`. */
export interface Growth {
  readonly size: string;
  readonly figure: number;
}

/** A line of the table. */
export interface Row {
  /** The number of the measure, 1 to 12. */
  readonly measure: number;
  readonly what: string;
  /** What is compared, with units: `51 µs ÷ 2 × 21 µs`. */
  readonly how: string;
  /** The physical limit, in the terms of `figure`. */
  readonly limit: number;
  readonly figure: Spread;
  /** `null` where the figure is told and not judged. */
  readonly must: Bound | null;
  readonly growth: readonly Growth[];
  readonly peers: readonly Peer[];
  /** What a reader has to know to judge the figure. */
  readonly note?: string;
}

/** What a figure must reach, in its own terms. */
export interface Bound {
  readonly at: "most" | "least";
  readonly value: number;
  /** Of the figure: `ms`, `MB`; nothing for a ratio. */
  readonly unit?: string;
}

export function reaches({ figure, must }: Pick<Row, "figure" | "must">): boolean {
  if (must === null) return true;
  return must.at === "most" ? figure.median <= must.value : figure.median >= must.value;
}

/** One sentence for each row that falls short. */
export function shortfalls(rows: readonly Row[]): string[] {
  return rows.flatMap(({ measure, what, figure, must }) => {
    if (must === null || reaches({ figure, must })) return [];
    return [
      `${measure} ${what}: ${middle(figure, must)}${unit(must)}, must be at ${must.at} ${must.value}${unit(must)}`,
    ];
  });
}

const heads = ["#", "measure", "compared", "limit", "zapd (spread)", "must reach", "", "growth", "peers"] as const;

/** The table in Markdown, the notes below it. */
export function tableOf(rows: readonly Row[]): string {
  const lines = [heads, heads.map(() => "---"), ...rows.map(cellsOf)];
  const notes = [
    ...new Set(rows.flatMap(({ measure, note }) => (note === undefined ? [] : [`- ${measure}: ${note}`]))),
  ];
  const table = lines.map((cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`).join("\n");
  return notes.length === 0 ? `${table}\n` : `${table}\n\n${notes.join("\n")}\n`;
}

function cellsOf(row: Row): string[] {
  const { measure, what, how, limit, figure, must, growth, peers } = row;
  const all = `${short(figure.least)}–${short(figure.most)}`;
  return [
    String(measure),
    what,
    how,
    short(limit),
    `**${middle(figure, must)}${unit(must)}** (${all})`,
    must === null ? "" : `${must.at === "most" ? "≤" : "≥"} ${must.value}${unit(must)}`,
    must === null ? "" : reaches(row) ? "yes" : "**no**",
    growth.map((one) => `${one.size}: ${short(one.figure)}`).join("<br>"),
    peers.map(peerText).join("<br>"),
  ];
}

/** With a digit more where three would hide on which side of the bound it is. */
function middle({ median }: Spread, must: Bound | null): string {
  return short(median, must !== null && short(median) === short(must.value) ? 4 : 3);
}

function peerText({ name, figure, note }: Peer): string {
  if (figure === null) return `${name}: not measured, ${note ?? "no reason was given"}`;
  return `${name}: ${short(figure)}${note === undefined ? "" : ` (${note})`}`;
}

function unit(must: Bound | null): string {
  return must?.unit === undefined ? "" : ` ${must.unit}`;
}

const marks = ["<!-- benchmark -->", "<!-- /benchmark -->"] as const;

/** The page with the benchmark's text between its marks. Fails when the marks are not there. */
export function withBenchmark(page: string, text: string): string {
  const [begin, end] = marks.map((mark) => page.indexOf(mark));
  if (begin === undefined || end === undefined || begin < 0 || end < begin)
    throw new Error(`The page has no ${marks.join(" … ")} to write the table between`);
  return `${page.slice(0, begin + marks[0].length)}\n${text.trim()}\n${page.slice(end)}`;
}
