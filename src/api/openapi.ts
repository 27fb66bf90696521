/** The OpenAPI 3.1 document of the API, made from the table of operations, the zod schemas and the error codes. */

import { codes, type ErrorCode } from "./errors.ts";
import { envelopeOf, whenOf } from "./openapi-failures.ts";
import {
  bodySchema,
  componentSchemas,
  dataSchema,
  type OperationName,
  operationNames,
  querySchemas,
  ref,
  type Schema,
} from "./openapi-schemas.ts";
import { everywhere, type OperationText, operationTexts, tags } from "./openapi-texts.ts";
import { type Operation, operations } from "./operations.ts";

type Json = Readonly<Record<string, unknown>>;

export interface OpenApi {
  readonly openapi: "3.1.0";
  readonly info: Json;
  readonly servers: readonly Json[];
  readonly security: readonly Json[];
  readonly tags: readonly Json[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Json>>>>;
  readonly components: Readonly<Record<string, Json>>;
}

const about = `zapd is one local daemon that knows every TV and media player in the house. Scripts, dashboards, developers of TV apps and agents drive them in the same words whatever the brand.

**Envelope.** Everything below \`/v1\` answers \`{"ok": true, "data": …}\` or \`{"ok": false, "error": {"code", "message", "hint"?}}\`, unknown routes (404 \`not_found\`) and wrong methods (405 \`method_not_allowed\`, with \`Allow\`) included. Branch on \`code\`: codes are stable, while \`message\` and \`hint\` are for people. Absent facts are \`null\`, never missing. Fields may be added within v1: pass over those you do not know. HEAD answers like GET, without a body. Times are ISO 8601 in UTC.

**Devices.** \`{id}\` is a device's UUID, its name, or \`default\`. Commands to one device run one at a time, in order of arrival; reads never wait behind them.

**The door.** The API is bound to loopback, where \`daemon.http_host\` and \`daemon.http_port\` say, and knows no passwords: every program and every user of this machine can call it. Web pages are kept out before routing. \`Host\` must be a loopback name; a page may neither read nor write unless \`daemon.cors_enabled\` is true and \`daemon.cors_allowed_origins\` lists its exact origin; any other gets \`forbidden_origin\` for whatever writes or reaches a device (\`x-reaches\`), before its \`{id}\` is looked up. Calls without an \`Origin\` pass. The control socket, of the same API, needs none of this.

**Limits.** A JSON body has at most 1 MiB, 32 levels and 1,000 values; a package 100 MiB. A body that stops coming for 10 s is given up, and so is a package of which less than 16 KiB a second comes, over any 10 s. The path has at most 2,048 characters, the query 4,096. Up to 32 commands wait for a device, 5 s each, sequences as long as those ahead are known to take; then it is \`device_busy\`, and at once where that is known beforehand. Commands that waited while this machine slept (more than 5 s) are \`device_busy\`, too. Bodies from scripts need no content type; those from web pages must be \`application/json\`.`;

/** What each status says, before the codes. */
const statusTexts: Readonly<Record<number, string>> = {
  400: "What was asked for is not right, or not possible on this device",
  403: "Not let in",
  404: "Not known",
  413: "The body is too large",
  500: "The device failed, or zapd itself",
};

/** Responses that every operation has, kept among the components. */
const commonResponses: Readonly<Record<number, string>> = { 403: "Forbidden", 413: "TooLarge" };

const id = {
  ...{ name: "id", in: "path", required: true },
  description:
    "The device: its UUID, its name (exact, or without case if that is unique), or `default`. Encoded once (a space is `%20`), trimmed; a name holds neither `/` nor `%`",
  schema: { type: "string", minLength: 1 },
  examples: {
    name: { summary: "Its name", value: "Living Room" },
    uuid: { summary: "Its id", value: "c773fc2f-cb2f-5e1d-9763-7b5f3a2d8001" },
    default: { summary: "The default device", value: "default" },
  },
} as const;

const usualServer = "http://127.0.0.1:7272";

/** The document as it is served; without a `server` as it is kept in `src/api/openapi.json`, to the byte. */
export function openApiText(version: string, server = usualServer): string {
  return `${JSON.stringify(createOpenApi(version, server), null, 1)}\n`;
}

/** The document. `version` is zapd's own, `server` where it is reached. */
export function createOpenApi(version: string, server = usualServer): OpenApi {
  const used = new Set<ErrorCode>(operationNames.flatMap((name) => codesOf(name)));
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
      parameters: { DeviceId: id },
      responses: Object.fromEntries(
        Object.entries(commonResponses).map(([status, name]) => [name, failureResponse(Number(status), everywhere)]),
      ),
      examples: Object.fromEntries(
        [...used].toSorted().map((code) => [code, { summary: whenOf(code), value: envelopeOf(code) }]),
      ),
    },
  };
}

function paths(): OpenApi["paths"] {
  const all: Record<string, Record<string, Json>> = {};
  for (const name of operationNames) {
    const { method, path } = operations[name];
    const place = `/v1${path.replace(":id", "{id}")}`;
    all[place] = { ...all[place], [method]: operationObject(name) };
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

function operationObject(name: OperationName): Json {
  const { path, reaches }: Operation = operations[name];
  const { tag, summary, description }: OperationText = operationTexts[name];
  const parameters = [...(path.includes(":id") ? [{ $ref: "#/components/parameters/DeviceId" }] : []), ...query(name)];
  const requestBody = name === "installPackage" ? packageForm : jsonBody(name);
  return {
    operationId: name,
    tags: [tag],
    summary,
    description,
    "x-reaches": reaches,
    ...(parameters.length > 0 && { parameters }),
    ...(requestBody && { requestBody }),
    responses: responses(name),
  };
}

function query(name: OperationName): Json[] {
  const { query: texts = {} }: OperationText = operationTexts[name];
  return querySchemas(name).map(([field, schema]) => ({
    ...{ name: field, in: "query", required: false },
    ...{ description: texts[field], schema },
  }));
}

function jsonBody(name: OperationName): Json | null {
  const schema = bodySchema(name);
  const { optionalBody }: Operation = operations[name];
  const { example }: OperationText = operationTexts[name];
  return schema && { required: optionalBody !== true, content: { "application/json": { schema, example } } };
}

const packageForm: Json = {
  required: true,
  content: {
    "multipart/form-data": {
      schema: {
        type: "object",
        properties: {
          archive: {
            type: "string",
            format: "binary",
            contentMediaType: "application/zip",
            maxLength: 100 * 1024 * 1024,
            description: "The ZIP, at most 100 MiB; the form holds no other file",
          },
        },
        required: ["archive"],
      },
    },
  },
};

function codesOf(name: OperationName): ErrorCode[] {
  const { codes: own }: OperationText = operationTexts[name];
  return [...everywhere, ...own];
}

function responses(name: OperationName): Json {
  const own = codesOf(name);
  const statuses = [...new Set(own.map((code) => codes[code].status))].toSorted((one, other) => one - other);
  const failures = statuses.map((status) => [
    status,
    commonResponses[status]
      ? { $ref: `#/components/responses/${commonResponses[status]}` }
      : failureResponse(status, own),
  ]);
  const envelope: Schema = {
    type: "object",
    properties: { ok: { type: "boolean", enum: [true] }, data: dataSchema(name) },
    required: ["ok", "data"],
  };
  const success = { description: "Done", content: { "application/json": { schema: envelope } } };
  return { 200: success, ...Object.fromEntries(failures) };
}

/** A failure with one status, and which of the codes it can have. */
function failureResponse(status: number, among: readonly ErrorCode[]): Json {
  const own = among.filter((code) => codes[code].status === status);
  // Only the code is narrowed here. That the rest is known, linters and generators are told by `unevaluatedProperties`.
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
