/** `zapd doctor`: runs the checks, whether a daemon runs or not. */
import { exits } from "../api/errors.ts";
import { findings, reportOf } from "../doctor/doctor.ts";
import { type Finding, type FindingStatus, type NamedFinding, warn } from "../doctor/examination.ts";
import { pluralize, withHint } from "../system/text.ts";
import type { Context } from "./context.ts";
import { isColoured, wrap } from "./print.ts";
import { tryCall } from "./requests.ts";
import { configMismatch, locateDaemon, severalDaemons } from "./running.ts";

export async function doctor(context: Context): Promise<number> {
  context.caller = "doctor";
  const places = await locateDaemon(context);
  const all: NamedFinding[] = [];
  const shown = { colour: isColoured(context), width: context.width };
  const add = (each: readonly NamedFinding[]) => {
    all.push(...each);
    if (!context.json) for (const one of each) context.print(findingLine(one, shown));
  };
  const several = places.running ? null : await severalDaemons(context);
  if (several) add([{ id: "daemons", ...warn(several.text, several.hint) }]);
  const remark = configMismatch(context, places);
  const found = findings({
    ...places,
    remarks: remark === null ? [] : [remark],
    ask: (name, given, timeoutMs) => tryCall(context, name, given, timeoutMs),
  });
  for await (const each of found) add(each);
  const report = reportOf(all);
  if (context.json) context.print(JSON.stringify(report));
  else context.print(summary(report.problems, report.remarks));
  return report.problems > 0 ? exits.failed : exits.ok;
}

export function summary(problems: number, remarks: number): string {
  const parts = [problems > 0 && pluralize(problems, "problem"), remarks > 0 && pluralize(remarks, "remark")];
  return parts.filter(Boolean).join(", ") || "all is well";
}

const labels: Record<FindingStatus, { word: string; colour: string }> = {
  ok: { word: "ok", colour: "\x1b[32m" },
  warn: { word: "warn", colour: "\x1b[33m" },
  fail: { word: "FAIL", colour: "\x1b[31;1m" },
};
const indent = 6;

/** `FAIL  what was found. What to do`, wrapped at the width of the terminal. */
export function findingLine(
  { status, text, hint }: Finding,
  { colour, width }: { readonly colour: boolean; readonly width: number },
): string {
  const { word, colour: start } = labels[status];
  const label = colour ? `${start}${word}\x1b[0m` : word;
  return (
    label +
    " ".repeat(indent - word.length) +
    wrap(withHint(text, hint), width - indent).join(`\n${" ".repeat(indent)}`)
  );
}
