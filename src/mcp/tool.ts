/** What a tool is: what it takes, what it answers, and what it may do, all of it from the schemas of the API. */
import { z } from "zod";
import type { Client, Upload } from "../api/client.ts";
import { ZapdError } from "../api/errors.ts";
import { describeIssue } from "../api/issues.ts";
import { Device, State } from "../api/schemas.ts";

/** A package on the disk of who calls, ready to be sent. */
export interface Package {
  readonly archive: Upload["archive"];
  dispose(): Promise<void>;
}

/** A question to the person at the client. */
export interface Question {
  readonly key: string;
  readonly message: string;
  readonly field: {
    readonly name: string;
    readonly title: string;
    readonly type: "string" | "boolean";
    readonly maxLength?: number;
  };
}

/** What a tool works with while it is called. */
export interface Calling {
  readonly api: Client;
  readonly signal: AbortSignal;
  /** Opens a ZIP, or zips a folder; absent where the caller's disk is not at hand, as over HTTP. */
  readonly openPackage?: ((path: string) => Promise<Package>) | undefined;
  /** What the person answered to a question: the value of its field, `null` where they declined; `undefined` while it was not asked. */
  answerTo(question: string): string | boolean | null | undefined;
  /** Whether the client can ask its person at all. */
  readonly canAsk: boolean;
}

export interface Picture {
  readonly data: string;
  readonly mimeType: string;
}

/** What a tool has done: the API's own data with what was read around it, one sentence, and pictures. */
export type Outcome =
  | {
      readonly data: object;
      readonly text: string;
      readonly picture?: Picture;
    }
  | { readonly ask: Question };

/** The annotations of a tool. */
export interface Hints {
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly idempotentHint: boolean;
  readonly openWorldHint: false;
}

export interface Tool {
  readonly name: string;
  /** As clients are told it. */
  readonly listed: Readonly<Record<string, unknown>>;
  readonly hints: Hints;
  /** Fails with `invalid_payload` where the arguments are not what it takes, and with whatever the API fails with. */
  run(given: unknown, calling: Calling): Promise<Outcome>;
}

/** `R` read-only, `D` destructive, `I` idempotent. All of it stays in the house. */
type Marks = "RI" | "R" | "I" | "D" | "";

function hintsOf(marks: Marks): Hints {
  return {
    readOnlyHint: marks.startsWith("R"),
    destructiveHint: marks === "D",
    idempotentHint: marks.endsWith("I"),
    openWorldHint: false,
  };
}

interface Definition<Input extends z.ZodRawShape> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly marks: Marks;
  readonly takes: Input;
  /** What is in `structuredContent` when it succeeds. */
  readonly answers: z.ZodRawShape;
  run(args: z.output<z.ZodObject<Input, z.core.$strict>>, calling: Calling): Promise<Outcome>;
}

export function tool<Input extends z.ZodRawShape>(definition: Definition<Input>): Tool {
  const { name, title, description, marks, answers } = definition;
  const takes = z.strictObject(definition.takes);
  const hints = hintsOf(marks);
  return {
    name,
    hints,
    listed: {
      name,
      title,
      description,
      inputSchema: jsonSchema(takes, "input"),
      outputSchema: outline(z.object(answers)),
      annotations: { title, ...hints },
    },
    async run(given, calling) {
      const { success, data, error } = takes.safeParse(given ?? {}, { reportInput: true });
      if (!success)
        throw new ZapdError("invalid_payload", `${name}: ${describeIssue(error.issues)}`.slice(0, 500), {
          hint: `It takes: ${Object.keys(definition.takes).join(", ") || "nothing"}`,
        });
      return definition.run(data, calling);
    },
  };
}

/** The device that is meant. */
export const device = z
  .string()
  .max(1_024)
  .optional()
  .describe("Its name or id, as list_devices has them; the default device without it");

const usualWaitMs = 1_500;
export const waitMs = z
  .int()
  .min(0)
  .max(25_000)
  .default(usualWaitMs)
  .describe("How long the effect is looked for at the device, in milliseconds");

/** Beside what every command answers. */
export const read = {
  confirmed: z
    .boolean()
    .nullable()
    .describe(
      "true: seen at the device; false: it took the command, but does not show it yet; null: it cannot be known",
    ),
  before: State.nullable().describe("What the device did before; null where it did not say"),
  after: State.nullable().describe("What it did afterwards, read back from it; null where it did not say"),
};
export const known = { device: Device.describe("The device, as it is known after this") };

function jsonSchema(schema: z.ZodType, io: "input" | "output"): Record<string, unknown> {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io });
  return json;
}

/**
 * The schema of an answer, its first level alone: a model need not read with every tool what a device is. A failure is another
 * form of it, since some clients check failures against it, too.
 */
function outline(schema: z.ZodObject): Record<string, unknown> {
  const { properties = {}, required = [] } = jsonSchema(schema, "output") as {
    properties?: Readonly<Record<string, Outlined>>;
    required?: readonly string[];
  };
  return {
    type: "object",
    properties: {
      ...Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, shallow(one)])),
      code: { type: "string", description: "Of a failure: which" },
      message: { type: "string", description: "Of a failure: what happened" },
      hint: { type: "string", description: "Of a failure: what mends it" },
    },
    anyOf: [{ required }, { required: ["code", "message"] }],
  };
}

interface Outlined {
  readonly type?: string;
  readonly description?: string;
  readonly anyOf?: readonly Outlined[];
}

function shallow({ type, anyOf, description }: Outlined): object {
  const types = anyOf?.flatMap((one) => one.type ?? []) ?? type;
  return { ...(types !== undefined && { type: types }), ...(description !== undefined && { description }) };
}
