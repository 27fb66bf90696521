/** The component schemas of the OpenAPI document, made from the zod schemas of the wire and of the config. */
import { z } from "zod";
import { restartKeys, settings } from "../config/schema.ts";
import { configSchema, settingSchema } from "../config/zod.ts";
import { keys } from "../platforms/platform.ts";
import { codes, type ErrorCode } from "./errors.ts";
import { envelopeOf, failureTable } from "./openapi-failures.ts";
import {
  appFields,
  deviceFields,
  playbackFields,
  reloadFields,
  settingTexts,
  stateFields,
  volumeFields,
} from "./openapi-fields.ts";
import { type FieldText, type OperationText, operationTexts } from "./openapi-texts.ts";
import { App, ConfigReload, Device, Failure, operations, State } from "./operations.ts";

export type Schema = z.core.JSONSchema.BaseSchema;
export type OperationName = keyof typeof operations;
type Texts = Readonly<Record<string, FieldText>>;

/** Components that others refer to, by the zod schema that each is made from. */
const shared: readonly (readonly [name: string, schema: z.ZodType, fields: Texts])[] = [
  ["Device", Device, deviceFields],
  ["App", App, appFields],
  ["State", State, stateFields],
  ["Playback", State.shape.playback.unwrap(), playbackFields],
  ["Volume", State.shape.volume.unwrap(), volumeFields],
  ["Config", configSchema, {}],
  ["ConfigReload", ConfigReload, reloadFields],
  ["Failure", Failure, {}],
  ["ErrorCode", Failure.shape.error.shape.code, {}],
];

/** Every operation's name. */
export const operationNames = Object.keys(operations) as OperationName[]; // the keys, which `Object.keys` forgets

/** The name of an operation's own component: `LaunchAppBody`, `LaunchAppResult`. */
const own = (name: OperationName, part: "Body" | "Result") => `${name.charAt(0).toUpperCase()}${name.slice(1)}${part}`;

export const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });

const nameOf = (schema: unknown) => shared.find(([, one]) => one === schema)?.[0];

/** The body of an operation, or `null`. */
export function bodySchema(name: OperationName): Schema | null {
  return "body" in operations[name] ? ref(own(name, "Body")) : null;
}

/** The `data` of an operation: a shared component, a list of one, or its own. */
export function dataSchema(name: OperationName): Schema {
  const { data }: { data: z.ZodType } = operations[name];
  const item = data instanceof z.ZodArray ? nameOf(data.element) : undefined;
  return item === undefined ? ref(nameOf(data) ?? own(name, "Result")) : { type: "array", items: ref(item) };
}

/** The fields of an operation's query. */
export function querySchemas(name: OperationName): [string, Schema][] {
  const operation = operations[name];
  return "query" in operation ? fieldsOf(z.toJSONSchema(operation.query, optionsFor("input"))) : [];
}

/** Every component. Answers are left open, as fields may be added within v1; requests are as strict as the daemon is. */
export function componentSchemas(): Record<string, Schema> {
  const answers = z.registry<{ id: string }>();
  const requests = z.registry<{ id: string }>();
  for (const [name, schema] of shared) answers.add(schema, { id: name });
  requests.add(operations.pressKey.body.shape.key, { id: "Key" });
  for (const name of operationNames) {
    const { body, data }: { body?: z.ZodType; data: z.ZodType } = operations[name];
    if (body) requests.add(body, { id: own(name, "Body") });
    if (dataSchema(name).$ref?.endsWith(own(name, "Result"))) answers.add(data, { id: own(name, "Result") });
  }
  const schemas = { ...converted(requests, "input"), ...converted(answers, "output") };
  for (const [name, , fields] of shared) describe(schemas[name], fields);
  for (const name of operationNames) {
    const { body = {}, data = {} }: OperationText = operationTexts[name];
    describe(schemas[own(name, "Body")], body);
    describe(schemas[own(name, "Result")], { ...acted, ...data });
  }
  const all = { ...schemas, ...refined(schemas), [own("patchConfig", "Body")]: configPatch() };
  return Object.fromEntries(Object.entries(all).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

const acted: Texts = { device: "As it is known after this", action: "Which action this was" };

/** Components with what their zod schemas leave to code, or to words. */
function refined(schemas: Readonly<Record<string, Schema>>): Record<string, Schema> {
  for (const [section, table] of fieldsOf(schemas["Config"]))
    describe(table, Object.fromEntries(fieldsOf(table).map(([key]) => [key, settingText(`${section}.${key}`)])));
  return {
    Config: { ...schemas["Config"], description: "Every setting; one that the file leaves out has its default" },
    Key: {
      ...schemas["Key"],
      description:
        "A key by its name, the same on every platform, or `literal:<text>` with 1 to 1,024 characters of any script, no control characters",
      anyOf: [
        { type: "string", enum: [...keys] },
        { type: "string", pattern: "^literal:.", examples: ["literal:Amélie"] },
      ],
    },
    ErrorCode: { ...schemas["ErrorCode"], description: `Stable: branch on it.\n\n${failureTable()}` },
    Failure: {
      ...schemas["Failure"],
      description: "Every refusal and failure. `message` and `hint` are for people; the hint says what mends it.",
      examples: (Object.keys(codes) as ErrorCode[]).map(envelopeOf), // the keys, which `Object.keys` forgets
    },
  };
}

/** The body of `PATCH /config`: every dotted key with its type, or `null`. */
function configPatch(): Schema {
  const properties = [...settings].map(([dotted, setting]): [string, Schema] => {
    const { list } = setting;
    const converted = z.toJSONSchema(settingSchema(setting), optionsFor("input"));
    const { $schema, default: usual, items, maxItems, type, enum: words, ...rest } = converted;
    const listed = list ? `. One text, with commas between its entries, at most ${maxItems}` : "";
    const description = `${settingText(dotted)}${listed}. \`null\`: back to ${JSON.stringify(usual)}`;
    const values = words ? { enum: [...words, null] } : { type: [list ? "string" : type, "null"] };
    return [dotted, { ...values, ...rest, description } as Schema]; // zod's type knows no list of types
  });
  return {
    description: "At most 64 keys, each a setting with a text, a number, a boolean or `null`",
    type: "object",
    properties: Object.fromEntries(properties),
    additionalProperties: false,
    maxProperties: 64,
  };
}

function settingText(dotted: string): string {
  const restart = restartKeys.some((key) => key === dotted) ? ". A change needs a restart" : "";
  return `${settingTexts[dotted]}${restart}`;
}

function converted(registry: z.core.$ZodRegistry<{ id: string }>, io: "input" | "output"): Record<string, Schema> {
  const uri = (id: string) => `#/components/schemas/${id}`;
  const { schemas } = z.toJSONSchema(registry, { ...optionsFor(io), uri });
  return Object.fromEntries(Object.entries(schemas).map(([name, { $schema, $id, id, ...schema }]) => [name, schema]));
}

function optionsFor(io: "input" | "output") {
  return {
    ...{ io, target: "draft-2020-12" as const },
    // A check that only code can make: what it demands stands in the words.
    unrepresentable: "any" as const,
    override: ({ jsonSchema }: { jsonSchema: Schema }) => plain(jsonSchema, io),
  };
}

/** Takes out what says nothing: patterns that repeat a format, and the bounds of what a number can be at all. */
function plain(schema: Schema, io: "input" | "output"): void {
  if (schema.format !== undefined) delete schema.pattern;
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  if (io === "output" && schema.additionalProperties === false) delete schema.additionalProperties;
  // Generators of clients read `enum` better than `const`.
  if (schema.const !== undefined) schema.enum = [schema.const];
  delete schema.const;
}

function describe(schema: Schema | undefined, texts: Texts): void {
  for (const [name, field] of fieldsOf(schema)) {
    const text = texts[name];
    if (text !== undefined) Object.assign(field, typeof text === "string" ? { description: text } : text);
  }
}

/** The fields of an object's schema. None is `true` or `false`: zod writes an object for each. */
function fieldsOf(schema: Schema | undefined): [string, Schema][] {
  return Object.entries(schema?.properties ?? {}) as [string, Schema][];
}
