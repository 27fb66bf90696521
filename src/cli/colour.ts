/** The few colours there are, for what one looks for first. */
export interface Paint {
  good(text: string): string;
  warn(text: string): string;
  bad(text: string): string;
  faint(text: string): string;
}

/** Paints where the output takes colour, and leaves the text as it is elsewhere. */
export function paintFor(colour: boolean): Paint {
  const painted = (code: number) => (text: string) => (colour && text !== "" ? `\x1b[${code}m${text}\x1b[0m` : text);
  return { good: painted(32), warn: painted(33), bad: painted(31), faint: painted(2) };
}

/** Whether an output takes colour: `--no-color` and $NO_COLOR turn it off, $FORCE_COLOR on, and a terminal has it unless it is dumb. */
export function takesColour(
  terminal: boolean,
  refused: boolean,
  env: Readonly<Record<string, string | undefined>>,
): boolean {
  const { NO_COLOR, FORCE_COLOR, TERM } = env;
  if (refused || NO_COLOR || FORCE_COLOR === "0" || FORCE_COLOR === "false") return false;
  return Boolean(FORCE_COLOR) || (terminal && TERM !== "dumb");
}
