/** What a tool is: its input, its output and its hints, made from the schemas of the API. */
import { z } from "zod";
import type { Client, Upload } from "../api/client.ts";
import { ZapdError } from "../api/errors.ts";
import { describeIssue } from "../api/issues.ts";
import { Device, State } from "../api/schemas.ts";
import { isObject } from "../system/json.ts";

/** A package on the caller's disk, ready to be sent. */
export interface Package {
  readonly archive: Upload["archive"];
  dispose(): Promise<void>;
}

/** A question to the person at the client. */
export interface Question {
  readonly key: string;
  readonly message: string;
  readonly field: {
    readonly title: string;
    readonly type: "string" | "boolean";
    readonly maxLength?: number;
  };
}

/** The context of a call. */
export interface ToolContext {
  readonly api: Client;
  /** What this client reads is no use of a device: nobody has asked for that one. */
  readonly looking: Client;
  readonly signal: AbortSignal;
  /** The device of a call that names none: its name or id, a group, or `default`. */
  readonly device: string;
  /** The device of the steps that name none, in place of the one in the scene. */
  readonly sceneDevice?: string | undefined;
  /** Opens a ZIP, or zips a folder; absent where the caller's disk is not accessible, as over HTTP. */
  readonly openPackage?: ((path: string) => Promise<Package>) | undefined;
  /** The person's answer to a question; `null` where they declined, `undefined` before the question was asked. */
  answerTo(question: string): string | boolean | null | undefined;
  /** Whether the client can show questions. */
  readonly canAsk: boolean;
  /** Whether the call goes on while the person answers, as in the protocols before 2026-07-28. */
  readonly waitsForAnswer?: boolean;
}

export interface Picture {
  readonly data: string;
  readonly mimeType: string;
}

/** What a tool did: data, a sentence about it and a picture. */
export interface Done {
  readonly data: object;
  readonly text: string;
  readonly picture?: Picture;
}

/** The result of a tool: what it did, or a question. */
export type Outcome = Done | { readonly ask: Question };

export interface Tool {
  readonly name: string;
  /** Its entry in `tools/list`. */
  readonly listed: Readonly<Record<string, unknown>>;
  /** It changes nothing. */
  readonly readOnly: boolean;
  /** Fails with `invalid_payload` where the arguments are invalid, and as the API fails. */
  run(input: unknown, context: ToolContext): Promise<Outcome>;
}

interface Definition<Input extends z.ZodRawShape> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly hints: readonly ("readOnly" | "destructive" | "idempotent")[];
  readonly input: Input;
  /** The `structuredContent` of a success. */
  readonly output: z.ZodRawShape;
  run(args: z.output<z.ZodObject<Input, z.core.$strict>>, context: ToolContext): Promise<Outcome>;
}

export function tool<Input extends z.ZodRawShape>(definition: Definition<Input>): Tool {
  const { name, title, description, hints, output } = definition;
  const input = z.strictObject(definition.input);
  const readOnly = hints.includes("readOnly");
  return {
    name,
    readOnly,
    listed: {
      name,
      title,
      description,
      inputSchema: jsonSchema(input, "input"),
      outputSchema: outline(z.object(output)),
      annotations: {
        title,
        readOnlyHint: readOnly,
        destructiveHint: hints.includes("destructive"),
        idempotentHint: hints.includes("idempotent"),
        openWorldHint: false,
      },
    },
    async run(args, context) {
      const { success, data, error } = input.safeParse(withoutNulls(args) ?? {}, { reportInput: true });
      if (!success)
        throw new ZapdError("invalid_payload", `${name}: ${describeIssue(error.issues)}`.slice(0, 500), {
          hint: `Its arguments are: ${Object.keys(definition.input).join(", ") || "none"}`,
        });
      return definition.run(data, context);
    },
  };
}

/** As in a body of the API; far deeper ones, which only stdio lets through, overflow the stack. */
const maxLevels = 32;

/** A model in strict mode sends `null` for every argument that it leaves out, and no argument has a meaning for `null`. */
function withoutNulls(value: unknown, levels = maxLevels): unknown {
  if (levels < 0) throw new ZapdError("invalid_payload", `The arguments are nested deeper than ${maxLevels} levels`);
  if (Array.isArray(value)) return value.map((one) => withoutNulls(one, levels - 1));
  if (!isObject(value)) return value;
  const given = Object.entries(value).filter(([, one]) => one !== null);
  return Object.fromEntries(given.map(([name, one]) => [name, withoutNulls(one, levels - 1)]));
}

export const device = z
  .string()
  .min(1)
  .max(1_024)
  .optional()
  .describe("Its name or id from list_devices; without it the default device");

/** Clients wait a minute for a call. */
export const maxWaitMs = 25_000;
export const waitMs = z
  .int()
  .min(0)
  .max(maxWaitMs)
  .default(1_500)
  .describe("How long to wait for the effect at the device, in milliseconds");

/** What every command adds to its answer. */
export const readBack = {
  confirmed: z
    .boolean()
    .nullable()
    .describe(
      "true: the device shows the effect; false: it accepted the command, but does not show the effect yet; null: the device does not tell",
    ),
  before: State.nullable().describe("The state before; null where the device did not report it"),
  after: State.nullable().describe("The state afterwards, read back from the device; null where it did not report it"),
};
export const deviceField = { device: Device.describe("The device, as known after the command") };

/**
 * A schema as clients get it. Without what Gemini refuses a whole request for, and so every tool (google-gemini/gemini-cli#2237);
 * the call checks it nevertheless.
 */
export function jsonSchema(schema: z.ZodType, io: "input" | "output"): Record<string, unknown> {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    io,
    override: ({ jsonSchema: part }) => {
      delete part.format;
      delete part.propertyNames;
    },
  });
  return json;
}

/**
 * The schema of an answer, only its first level: a model need not read the schema of a device with every tool. It allows a
 * failure too, since some clients validate failures against it.
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
      code: { type: "string", description: "Of a failure: its code" },
      message: { type: "string", description: "Of a failure: what happened" },
      hint: { type: "string", description: "Of a failure: what to do about it" },
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
