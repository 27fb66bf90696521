/** The OpenAPI 3.1 document of the API, made from the table of operations, its zod schemas and the error codes. */
import { z } from "zod";
import { configSchema, settings } from "../config/schema.ts";
import { codes, type ErrorCode, type ErrorOptions } from "./errors.ts";
import { ConsoleLine, ConsoleNews, events, SceneLine, SceneNews } from "./events.ts";
import { ConfigReload, commonCodes, Failure, leaseHeader, type Operation, operations, tags } from "./operations.ts";
import type { OperationName } from "./routes.ts";
import { SceneInfo, SceneInput, SceneResult, Step, StepResult, sceneName } from "./scenes.ts";
import { App, Channel, Device, Input, KeyName, KeyOrText, Lease, Picture, Playback, State, Volume } from "./schemas.ts";

type Json = Readonly<Record<string, unknown>>;
type Schema = z.core.JSONSchema.BaseSchema;

const about = `zapd is one local daemon that knows every TV and media player in the house. Scripts, dashboards, developers of TV apps and agents control them in the same way, whatever the brand.

**Envelope.** Everything below \`/v1\` answers \`{"ok": true, "data": …}\` or \`{"ok": false, "error": {"code", "message", "hint"?}}\`, unknown routes (404 \`not_found\`) and wrong methods (405 \`method_not_allowed\`, with \`Allow\`) included. Branch on \`code\`: codes are stable, while \`message\` and \`hint\` are for people. Absent facts are \`null\`, never missing. Fields may be added within v1: ignore those you do not know. HEAD answers like GET, without a body; it fetches no picture and begins no stream. Times are ISO 8601 in UTC.

**Devices.** \`{id}\` is a device's UUID, its name, or \`default\`. Commands to one device run one at a time, in order of arrival; reads never wait behind them.

**Who may call.** The API listens on loopback only, at \`daemon.http_host\` and \`daemon.http_port\`, and has no passwords: every program and every user of this machine can call it. Web pages are checked before routing. \`Host\` must be a loopback name; a page may neither read nor write unless \`daemon.cors_enabled\` is true and \`daemon.cors_allowed_origins\` lists its exact origin; any other page gets \`forbidden_origin\` for every call that writes or reaches a device (\`x-reaches\`), before its \`{id}\` is looked up. Calls without an \`Origin\` are allowed. The control socket serves the same API without these checks.

**Limits.** A JSON body has at most 1 MiB, 32 levels and 1,000 values; a package has at most 100 MiB. A body that pauses for 10 s is aborted, and so are a JSON body that takes 30 s and a package that takes three minutes, or arrives at less than 16 KiB a second over any 10 s. The path has at most 2,048 characters, the query 4,096. Up to 32 commands wait for a device, each for 5 s, a sequence for as long as the commands before it are known to take; after that a command fails with \`device_busy\`, or at once if zapd knows that beforehand. Commands that waited while this machine slept (more than 5 s) also fail with \`device_busy\`. Bodies from scripts need no content type; those from web pages must be \`application/json\`.`;

/** The description of each status, before its codes. */
const statusTexts: Readonly<Record<number, string>> = {
  400: "The request is not valid, or the device does not support it",
  403: "Not allowed",
  404: "Not found",
  413: "The body is too large",
  429: "Too many streams",
  500: "The device failed, or zapd itself",
};

/** Responses of every operation, as shared components. */
const commonResponses: Readonly<Record<number, string>> = { 403: "Forbidden", 413: "TooLarge" };

const inPath = (name: string, description: string, schema: Json) =>
  ({ name, in: "path", required: true, description, schema: { type: "string", ...schema } }) as const;

const id = {
  ...inPath(
    "id",
    "The device: its UUID, its name (exact, or ignoring case if that is unique), or `default`. Encoded once (a space is `%20`), trimmed; a name contains neither `/` nor `%`",
    { minLength: 1 },
  ),
  examples: {
    name: { summary: "Its name", value: "Living Room" },
    uuid: { summary: "Its id", value: "c773fc2f-cb2f-5e1d-9763-7b5f3a2d8001" },
    default: { summary: "The default device", value: "default" },
  },
} as const;

const lease = {
  name: leaseHeader,
  in: "header",
  required: false,
  description: "The token of the caller's lease of the device, if it has one; several tokens are separated by commas",
  schema: { type: "string" },
} as const;

const pathParameters: Readonly<Record<string, Json>> = {
  id: { $ref: "#/components/parameters/DeviceId" },
  app: inPath("app", "The app: its id, or its platform id, as in the catalog", { minLength: 1 }),
  group: inPath("group", "The group: `all`, or a label", { minLength: 1 }),
  scene: inPath("scene", "The scene: the name of its file, without `.toml`", { pattern: sceneName.source }),
};

/** Shared components: those of answers, and those of requests. */
const sharedAnswers = {
  Device,
  App,
  Channel,
  Input,
  State,
  Playback,
  Volume,
  Lease,
  Config: configSchema,
  ConfigReload,
  Failure,
  SceneInfo,
  SceneResult,
  StepResult,
  SceneNews,
  SceneLine,
  ConsoleNews,
  ConsoleLine,
};
const sharedRequests = { Key: KeyName, KeyOrText, SceneStep: Step };
/** Bodies that src/scenes checks, and reports all mistakes of. */
const checkedByCode: Readonly<Partial<Record<OperationName, z.ZodType>>> = { runSteps: SceneInput };

const pascal = (words: string) => words.replace(/(?:^|\W)(\w)/g, (_, letter: string) => letter.toUpperCase());
/** The events by the names of their components, such as `StateChangedEvent`. */
const sharedEvents = Object.fromEntries(Object.entries(events).map(([type, one]) => [`${pascal(type)}Event`, one]));
const eventNames = Object.keys(sharedEvents);

// `Object.entries` loses the types of the keys.
const namedOperations = Object.entries(operations) as [OperationName, Operation][];
const codeNames = Object.keys(codes) as ErrorCode[];

const defaultServer = "http://127.0.0.1:7272";

/** The document as it is served; without a `server` exactly as in `test/openapi/openapi.json`. */
export function openApiText(version: string, server = defaultServer): string {
  return `${JSON.stringify(createOpenApi(version, server), null, 1)}\n`;
}

/** The document. `server` is the URL at which the caller reaches zapd. */
export function createOpenApi(version: string, server = defaultServer) {
  const used = new Set(namedOperations.flatMap(([, { codes: own }]) => [...commonCodes, ...own]));
  return {
    openapi: "3.1.0",
    info: {
      title: "zapd",
      version,
      summary: "One loopback HTTP API for every TV and media player in the house",
      description: about,
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: server, description: "This daemon" }],
    security: [],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths: paths(),
    components: {
      schemas: componentSchemas(),
      parameters: { DeviceId: id, Lease: lease },
      responses: Object.fromEntries(
        Object.entries(commonResponses).map(([status, name]) => [name, failureResponse(Number(status), commonCodes)]),
      ),
      examples: Object.fromEntries(
        [...used].toSorted().map((code) => [code, { summary: codes[code].when, value: envelopeOf(code) }]),
      ),
    },
  };
}

function paths(): Record<string, Record<string, Json>> {
  const all: Record<string, Record<string, Json>> = {};
  for (const [name, operation] of namedOperations) {
    const path = `/v1${operation.path.replaceAll(/:(\w+)/g, "{$1}")}`;
    all[path] = { ...all[path], [operation.method]: operationObject(name, operation) };
  }
  return { ...all, "/openapi.json": { get: thisDocument } };
}

const thisDocument = {
  operationId: "readOpenApi",
  tags: ["daemon"],
  summary: "This document",
  description: "The document itself, without an envelope, and outside `/v1`.",
  responses: {
    200: {
      description: "OpenAPI 3.1",
      content: { "application/json": { schema: { type: "object", description: "An OpenAPI 3.1 document" } } },
    },
    403: { $ref: `#/components/responses/${commonResponses[403]}` },
    500: failureResponse(500, ["internal_error"]),
  },
};

function operationObject(name: OperationName, operation: Operation): Json {
  const { path, tag, summary, description, reaches, takes, body, query } = operation;
  const byPath = [...path.matchAll(/:(\w+)/g)].flatMap(([, place = ""]) => pathParameters[place] ?? []);
  // The commands of a scene use the lease tokens of its caller.
  const isLeasable = operation.codes.includes("device_leased") || (tag === "scenes" && operation.method === "post");
  const byLease = isLeasable ? [{ $ref: "#/components/parameters/Lease" }] : [];
  const parameters = [...byPath, ...(query ? queryParameters(query) : []), ...byLease];
  const requestBody = takes === "upload" ? packageForm : body && jsonBody(name, operation);
  return {
    operationId: name,
    tags: [tag],
    summary,
    description,
    "x-reaches": reaches,
    ...(parameters.length > 0 && { parameters }),
    ...(requestBody && { requestBody }),
    responses: responses(name, operation),
  };
}

function queryParameters(query: z.ZodObject): Json[] {
  const all = z.toJSONSchema(query, optionsFor("input"));
  // zod writes an object for each field, never `true` or `false`.
  const fields = Object.entries(all.properties ?? {}) as [string, Schema][];
  return fields.map(([name, { description, examples, ...schema }]) => ({
    name,
    in: "query",
    required: all.required?.includes(name) === true,
    description,
    schema,
    example: (examples as readonly unknown[] | undefined)?.[0],
  }));
}

function jsonBody(name: OperationName, { body, optionalBody }: Operation): Json {
  const [example] = (body?.meta()?.["examples"] ?? []) as readonly unknown[];
  const content = { "application/json": { schema: ref(componentOf(name, "Body")), example } };
  return { required: optionalBody !== true, content };
}

// A viewer fills its form with the examples; without them it would send `string`, also as the password.
const packageForm: Json = {
  required: true,
  content: {
    "multipart/form-data": {
      schema: {
        type: "object",
        properties: {
          params: {
            type: "string",
            description: "A JSON object that the package is started with, as `params` of a launch",
            examples: ["{}"],
          },
          password: {
            type: "string",
            format: "password",
            description: "The developer password of this device alone, stored once the device has accepted it",
            examples: [""],
          },
          archive: {
            type: "string",
            format: "binary",
            contentMediaType: "application/zip",
            description: "The ZIP file, at most 100 MiB; the form has no other file",
          },
        },
        required: ["archive"],
      },
    },
  },
};

function responses(name: OperationName, { codes: own, data, answers, streams }: Operation): Json {
  const all = [...commonCodes, ...own];
  const statuses = [...new Set(all.map((code) => codes[code].status))].toSorted((one, other) => one - other);
  const failures = statuses.map((status) => [
    status,
    commonResponses[status]
      ? { $ref: `#/components/responses/${commonResponses[status]}` }
      : failureResponse(status, all),
  ]);
  const envelope: Schema = {
    type: "object",
    properties: { ok: { type: "boolean", enum: [true] }, data: dataSchema(name, data) },
    required: ["ok", "data"],
  };
  const content = { "application/json": { schema: envelope }, ...(streams && streamContent(streams)) };
  const success = { description: "Done", content };
  const done = answers === "stream" ? streamResponse(name) : answers === "picture" ? pictureResponse : success;
  const none = answers === "picture" && {
    204: { description: "There is no picture; only with `missing=empty`" },
    304: { description: "The picture is still the one of `If-None-Match`" },
  };
  return { 200: done, ...none, ...Object.fromEntries(failures) };
}

const pictureResponse: Json = {
  description: "The picture, with an `ETag`",
  // OpenAPI 3.1 needs no schema here, but without one generators type the picture as unknown.
  content: Object.fromEntries(
    ["image/png", "image/jpeg", "image/webp"].map((type) => [type, { schema: { type: "string", format: "binary" } }]),
  ),
};

/** The answer to a caller that asks for a stream, by `accept` or in the query. */
function streamContent({ news, line }: NonNullable<Operation["streams"]>): Json {
  return {
    "text/event-stream": { schema: ref(sharedName(news) ?? "") },
    "application/x-ndjson": { schema: ref(sharedName(line) ?? "") },
  };
}

/** The stream of `/events`. In an event stream each event is the `data` of a frame with its type and id. */
function streamResponse(name: OperationName): Json {
  return {
    description: "The stream, until its reader disconnects or the daemon stops",
    content: {
      "text/event-stream": { schema: { oneOf: eventNames.map(ref) } },
      "application/x-ndjson": { schema: ref(componentOf(name, "Result")) },
    },
  };
}

/** The failure of one status, with the codes that it can have. */
function failureResponse(status: number, among: readonly ErrorCode[]): Json {
  const own = among.filter((code) => codes[code].status === status);
  // Only the code is narrowed; `unevaluatedProperties` tells linters and generators that `Failure` has the rest.
  const error = { type: "object", properties: { code: { enum: own } }, unevaluatedProperties: true };
  const narrowed = { type: "object", properties: { error } };
  return {
    description: `${statusTexts[status]}: ${own.map((code) => `\`${code}\``).join(", ")}`,
    content: {
      "application/json": {
        schema: { allOf: [ref("Failure"), narrowed] },
        examples: Object.fromEntries(own.map((code) => [code, { $ref: `#/components/examples/${code}` }])),
      },
    },
  };
}

/** An example of the envelope of a failure. */
function envelopeOf(code: ErrorCode): Json {
  const { message, hint, details }: ErrorOptions & { readonly message: string } = codes[code];
  return { ok: false, error: { code, message, ...(hint !== undefined && { hint }), ...(details && { details }) } };
}

/** The name of an operation's own component, such as `LaunchAppBody`. */
function componentOf(name: OperationName, part: "Body" | "Result"): string {
  return `${name.charAt(0).toUpperCase()}${name.slice(1)}${part}`;
}

function ref(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

function sharedName(schema: unknown): string | undefined {
  return Object.entries(sharedAnswers).find(([, one]) => one === schema)?.[0];
}

/** The schema of `data`: a shared component, a list of one, or a component of the operation. */
function dataSchema(name: OperationName, data: z.ZodType): Schema {
  const item = data instanceof z.ZodArray ? sharedName(data.element) : undefined;
  if (item !== undefined) return { type: "array", items: ref(item) };
  return ref(sharedName(data) ?? componentOf(name, "Result"));
}

/** Every schema. Answers are open, since fields may be added within v1; requests are as strict as the daemon. */
function componentSchemas(): Record<string, Schema> {
  const answers = z.registry<{ id: string }>();
  const requests = z.registry<{ id: string }>();
  for (const [name, schema] of Object.entries({ ...sharedAnswers, ...sharedEvents })) answers.add(schema, { id: name });
  answers.add(Failure.shape.error.shape.code, { id: "ErrorCode" });
  for (const [name, schema] of Object.entries(sharedRequests)) requests.add(schema, { id: name });
  for (const [name, { body, data }] of namedOperations) {
    const result = componentOf(name, "Result");
    if (body) requests.add(checkedByCode[name] ?? body, { id: componentOf(name, "Body") });
    if (data !== Picture && dataSchema(name, data).$ref?.endsWith(`/${result}`)) answers.add(data, { id: result });
  }
  const schemas = { ...converted(requests, "input"), ...converted(answers, "output") };
  const all: Record<string, Schema> = {
    ...schemas,
    Config: { ...schemas["Config"], description: "Every setting; one that the file leaves out has its default" },
    // Checked by `readPress`, which suggests a key.
    KeyOrText: {
      ...schemas["KeyOrText"],
      anyOf: [ref("Key"), { type: "string", pattern: "^literal:.", examples: ["literal:Amélie"] }],
    },
    ErrorCode: { ...schemas["ErrorCode"], description: `Stable: branch on it.\n\n${failureTable()}` },
    Failure: {
      ...schemas["Failure"],
      description: "Every refusal and failure. `message` and `hint` are for people; the hint says how to correct it.",
      examples: codeNames.map(envelopeOf),
    },
    PatchConfigBody: { ...schemas["PatchConfigBody"], ...configPatch() },
  };
  return Object.fromEntries(Object.entries(all).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

/** The table of codes in Markdown. */
function failureTable(): string {
  const rows = codeNames.map((code) => `| \`${code}\` | ${codes[code].status} | ${codes[code].when} |`);
  return ["| code | status | when |", "|---|---|---|", ...rows].join("\n");
}

/** The body of `PATCH /config`: every dotted key with its type, or `null`. */
function configPatch(): Schema {
  const properties = [...settings].map(([key, setting]): [string, Schema] => {
    const { list } = setting;
    const converted = z.toJSONSchema(setting.schema, optionsFor("input"));
    const { $schema, default: value, items, maxItems, type, enum: words, description: text, ...rest } = converted;
    const listed = list ? `. One string, with commas between its entries, at most ${maxItems}` : "";
    const description = `${text}${listed}. \`null\`: resets it to ${JSON.stringify(value)}`;
    const values = words ? { enum: [...words, null] } : { type: [list ? "string" : type, "null"] };
    return [key, { ...values, ...rest, description } as Schema]; // zod's type knows no list of types
  });
  return {
    description: "At most 64 keys, each a setting with a string, a number, a boolean or `null`",
    type: "object",
    properties: Object.fromEntries(properties),
    additionalProperties: false,
    maxProperties: 64,
  };
}

function converted(registry: z.core.$ZodRegistry<{ id: string }>, io: "input" | "output"): Record<string, Schema> {
  const uri = (id: string) => `#/components/schemas/${id}`;
  const { schemas } = z.toJSONSchema(registry, { ...optionsFor(io), uri });
  return Object.fromEntries(Object.entries(schemas).map(([name, { $schema, $id, id, ...schema }]) => [name, schema]));
}

function optionsFor(io: "input" | "output") {
  return {
    io,
    target: "draft-2020-12" as const,
    // Checks in code have no JSON Schema; the descriptions state them.
    unrepresentable: "any" as const,
    override: ({ jsonSchema }: { jsonSchema: Schema }) => simplify(jsonSchema, io),
  };
}

/** Removes patterns that repeat a format, and the bounds of all safe integers. */
function simplify(schema: Schema, io: "input" | "output"): void {
  if (schema.format !== undefined) delete schema.pattern;
  // Validators in Python know no `\p` and fail on the whole document. A document in UTF-8 cannot hold half a character (`Cs`).
  else schema.pattern &&= schema.pattern.replaceAll(String.raw`\p{Cc}\p{Cs}`, String.raw`\x00-\x1f\x7f-\x9f`);
  // A pattern is not between slashes: a generator that writes it so escapes each slash, a second time where it was escaped.
  schema.pattern &&= schema.pattern.replaceAll(String.raw`\/`, "/");
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  if (schema["restart"] === true) schema.description = `${schema.description}. A change needs a restart`;
  delete schema["restart"];
  if (io === "output" && schema.additionalProperties === false) delete schema.additionalProperties;
  // Client generators support `enum` better than `const`.
  if (schema.const !== undefined) schema.enum = [schema.const];
  delete schema.const;
}
