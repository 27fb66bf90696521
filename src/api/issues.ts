/** What is wrong with a value that a schema refused, in words: `must be at most 60000`. */
import type { z } from "zod";

/** What the schema's types are called. */
const typeWords: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
};
/** What is counted in a value of each kind; numbers themselves are compared. */
const counted: Readonly<Record<string, readonly [one: string, more: string]>> = {
  string: ["character", "characters"],
  array: ["entry", "entries"],
};

/** The first thing that is wrong, with its place: `delay_ms must be at most 60000`. */
export function describeIssue(issues: readonly z.core.$ZodIssue[]): string {
  const [issue] = issues;
  if (!issue) return "it is not what was asked for";
  const place =
    issue.path
      .map(String)
      .filter((part) => part !== "")
      .join(".") || "it";
  return `${place} ${reasonOf(issue)}`;
}

/** What one issue comes to, as a predicate of the value's place. */
export function reasonOf(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return issue.input === undefined ? "is missing" : `must be ${typeWords[issue.expected] ?? issue.expected}`;
    case "too_small":
      return bound("at least", Number(issue.minimum), issue.origin);
    case "too_big":
      return bound("at most", Number(issue.maximum), issue.origin);
    case "unrecognized_keys":
      return `does not take ${issue.keys.map((key) => JSON.stringify(key)).join(", ")}`;
    case "invalid_key":
      return `has a name that ${issue.issues[0] ? reasonOf(issue.issues[0]) : "is not allowed"}`;
    case "invalid_value":
      return `must be ${issue.values.length > 1 ? "one of " : ""}${issue.values.map(String).join(", ")}`;
    case "invalid_format":
      if (issue.format === "url") return "must be a whole address that begins with http:// or https://";
      return issue.format === "regex" ? issue.message : "is not valid";
    case "invalid_union": {
      // One of its forms is meant: that of whose kind the value is.
      const [meant] = issue.errors.find(([first]) => first?.code !== "invalid_type") ?? [];
      return meant ? reasonOf(meant) : "is not valid";
    }
    case "custom":
      return issue.message;
    default:
      return "is not valid";
  }
}

function bound(word: string, limit: number, origin: string): string {
  const unit = counted[origin];
  return unit ? `must have ${word} ${limit} ${limit === 1 ? unit[0] : unit[1]}` : `must be ${word} ${limit}`;
}
