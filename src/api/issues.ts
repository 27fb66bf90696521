/** The errors of zod as text: `must be at most 60000`. */
import type { z } from "zod";

const typeWords: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
};
/** What a bound counts, by type; numbers are compared as they are. */
const units: Readonly<Record<string, readonly [one: string, more: string]>> = {
  string: ["character", "characters"],
  array: ["entry", "entries"],
};

/** The first issue with its path: `delay_ms must be at most 60000`. */
export function describeIssue(issues: readonly z.core.$ZodIssue[]): string {
  const [issue] = issues;
  if (!issue) return "it has the wrong form";
  const place =
    issue.path
      .map(String)
      .filter((part) => part !== "")
      .join(".") || "it";
  return `${place} ${reasonOf(issue)}`;
}

/** One issue, as a predicate. */
export function reasonOf(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case "invalid_type": {
      if (issue.input === undefined) return "is missing";
      // As of a name that comes twice in a query.
      const notList = Array.isArray(issue.input) ? ", not a list" : "";
      return `must be ${typeWords[issue.expected] ?? issue.expected}${notList}`;
    }
    case "too_small":
      return bound("at least", Number(issue.minimum), issue.origin);
    case "too_big":
      return bound("at most", Number(issue.maximum), issue.origin);
    case "unrecognized_keys":
      return `must not have ${issue.keys.map((key) => JSON.stringify(key)).join(", ")}`;
    case "invalid_key":
      return `has an invalid name: it ${issue.issues[0] ? reasonOf(issue.issues[0]) : "is not allowed"}`;
    case "invalid_value":
      return `must be ${issue.values.length > 1 ? "one of " : ""}${issue.values.map(String).join(", ")}`;
    case "invalid_format":
      if (issue.format === "url") return "must be a full URL that begins with http:// or https://";
      return issue.format === "regex" ? issue.message : "is not valid";
    case "invalid_union": {
      // Of the alternatives the one with the type of the value is meant.
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
  const unit = units[origin];
  return unit ? `must have ${word} ${limit} ${limit === 1 ? unit[0] : unit[1]}` : `must be ${word} ${limit}`;
}
