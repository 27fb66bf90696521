/** The document, for the tests: read like any JSON, and compiled by a validator that shares nothing with zod. */
import { join } from "node:path";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { createOpenApi } from "../../src/api/openapi.ts";
import { version } from "../../src/system/version.ts";
import { root } from "../support/sources.ts";

export const frozenFile = join(root, "test/openapi/openapi.json");

export type Path = readonly (string | number)[];
type Part = Readonly<Record<string, unknown>>;

/** Serialised, as its readers get it. */
export const document: unknown = JSON.parse(JSON.stringify(createOpenApi(version)));

/** The object at a path of keys; a `$ref` is followed. */
export function at(...path: Path): Part {
  return partAt(resolved(path));
}

/** The path where what is meant stands, once every `$ref` on the way is followed. */
function resolved(path: Path): Path {
  let way: Path = [];
  for (const key of path) {
    way = [...way, key];
    for (let { $ref } = partAt(way); typeof $ref === "string"; { $ref } = partAt(way)) way = $ref.slice(2).split("/");
  }
  return way;
}

function partAt(path: Path): Part {
  let found: unknown = document;
  for (const key of path) found = isPart(found) ? found[key] : undefined;
  if (isPart(found)) return found;
  throw new Error(`the document has nothing at ${path.join(" / ")}`);
}

function isPart(value: unknown): value is Part {
  return typeof value === "object" && value !== null;
}

export interface Operation {
  readonly path: string;
  readonly method: string;
  readonly operationId: string;
}

/** Every operation of the document. */
export const documented: readonly Operation[] = Object.keys(at("paths")).flatMap((path) =>
  Object.keys(at("paths", path)).map((method) => ({
    path,
    method,
    operationId: String(at("paths", path, method)["operationId"]),
  })),
);

const ajv = new Ajv2020({ strict: true, allErrors: true, allowUnionTypes: true });
addFormats(ajv);
ajv.addFormat("binary", true);
ajv.addVocabulary(["openapi", "info", "servers", "security", "tags", "paths", "components"]);
ajv.addSchema(closed(document) as object, "zapd");

/** Answers are documented as open, so that fields may be added; today's have none that the document does not know. */
function closed(value: unknown, whole = true): unknown {
  if (Array.isArray(value)) return value.map((one) => closed(one, whole));
  if (typeof value !== "object" || value === null) return value;
  const inside = Object.entries(value).map(([key, one]) => [key, closed(one, whole && key !== "allOf")]);
  const copy = Object.fromEntries(inside) as Record<string, unknown>;
  const shape = copy["type"] === "object" && copy["properties"] !== undefined;
  return shape && whole ? { additionalProperties: false, ...copy } : copy;
}

/** What is wrong with a value by the schema at a path, in words; nothing when it is right. */
export function problems(value: unknown, ...path: Path): string[] {
  const validate = validatorAt(path);
  if (validate(value)) return [];
  return (validate.errors ?? []).map(({ instancePath, message, params }) =>
    [instancePath, message, JSON.stringify(params)].join(" "),
  );
}

function validatorAt(path: Path): ValidateFunction {
  const pointer = path.map((key) => encodeURIComponent(String(key).replaceAll("~", "~0").replaceAll("/", "~1")));
  const validate = ajv.getSchema(`zapd#/${pointer.join("/")}`);
  if (!validate) throw new Error(`the document has no schema at ${path.join(" / ")}`);
  return validate;
}

/** What is wrong with an answer: its operation and its status must be documented, and its body be as the schema says. */
export function answerProblems(operationId: string, status: number, body: unknown): string[] {
  const operation = documented.find((one) => one.operationId === operationId);
  if (!operation) return [`${operationId} is not documented`];
  const { path, method } = operation;
  if (!Object.hasOwn(at("paths", path, method, "responses"), status)) return [`${operationId} documents no ${status}`];
  const response = resolved(["paths", path, method, "responses", status]);
  return problems(body, ...response, "content", "application/json", "schema");
}
