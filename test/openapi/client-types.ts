/**
 * Writes the client's types out for the npm package: every method, request and answer by its name, with the words of the
 * OpenAPI document, which an editor shows. `bun test/openapi/client-types.ts FILE`.
 */
import { writeFileSync } from "node:fs";
import { z } from "zod";
import { createOpenApi } from "../../src/api/openapi.ts";
import { type Operation, operations } from "../../src/api/operations.ts";
import { version } from "../../src/system/version.ts";

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly description?: string;
}

const { components, paths } = createOpenApi(version);
const schemas = components["schemas"] as Readonly<Record<string, Schema>>;

function typeOf(schema: Schema): string {
  if (schema.$ref !== undefined) return schema.$ref.slice(schema.$ref.lastIndexOf("/") + 1);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(" | ");
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (Array.isArray(schema.type)) return schema.type.map((type: string) => typeOf({ ...schema, type })).join(" | ");
  if (schema.pattern?.startsWith("^literal:")) return `\`literal:$\{string}\``;
  if (schema.type === "array") return `(${typeOf(schema.items ?? {})})[]`;
  if (schema.type === "object" && schema.properties) return `{\n${fieldsOf(schema)}\n}`;
  if (schema.type === "object") return `Record<string, ${typeOf(Object(schema.additionalProperties))}>`;
  return schema.type === "integer" ? "number" : String(schema.type ?? "unknown");
}

function fieldsOf({ properties = {}, required = [] }: Schema): string {
  return Object.entries(properties)
    .map(([name, schema]) => {
      const key = /^\w+$/.test(name) ? name : JSON.stringify(name);
      return `${words(schema.description)}${key}${required.includes(name) ? "" : "?"}: ${typeOf(schema)};`;
    })
    .join("\n");
}

function words(...paragraphs: readonly (string | undefined)[]): string {
  const lines = paragraphs.filter((one) => one !== undefined).flatMap((one) => ["", ...one.split("\n")]);
  return lines.length === 0
    ? ""
    : `/**\n${lines
        .slice(1)
        .map((line) => ` * ${line.replaceAll("*/", "*\\/")}\n`)
        .join("")} */\n`;
}

const named = Object.entries(schemas).map(([name, schema]) =>
  schema.properties && !schema.anyOf
    ? `${words(schema.description)}export interface ${name} {\n${fieldsOf(schema)}\n}`
    : `${words(schema.description)}export type ${name} = ${typeOf(schema)};`,
);

function methodOf([name, operation]: readonly [string, Operation]): string {
  const { path, body, query, takes, optionalBody, summary, description, codes } = operation;
  const queried = query && (z.toJSONSchema(query, { io: "input" }) as Required<Schema>);
  // Its answer has no end, as in src/api/client-types.ts.
  if (queried) Reflect.deleteProperty(queried.properties, "follow");
  const fields: Record<string, string> = {};
  if (path.includes(":group")) fields["group"] = `${words("The devices: `all`, or a label")}group: string;`;
  if (path.includes(":scene")) fields["scene"] = `${words("The name of the scene")}scene: string;`;
  if (path.includes(":id")) fields["id"] = `${words("The device: its UUID, its name, or `default`")}id: string;`;
  if (path.includes(":app")) fields["app"] = `${words("The app: its id, its name, or its platform id")}app: string;`;
  if (queried) fields["query"] = `query${queried.required ? "" : "?"}: ${typeOf(queried)};`;
  if (body) fields["body"] = `body${optionalBody ? "?" : ""}: ${name.charAt(0).toUpperCase()}${name.slice(1)}Body;`;
  const optional = Object.entries(fields).every(([field, text]) => text.includes(`${field}?:`));
  const args = [...Object.values(fields), "signal?: AbortSignal | undefined;", "lease?: string | undefined;"].join(
    "\n",
  );
  const failures = codes.length > 0 && `Fails with ${codes.join(", ")}, and with what any call can fail with.`;
  return `${words(summary, description, failures || undefined)}readonly ${name}: (args${optional ? "?" : ""}: {\n${args}\n}${takes === "upload" ? " & Upload" : ""}) => ${resultOf(operation)};`;
}

/** The type of an operation's answer: `data` by its name in the document. */
function resultOf({ path, method, answers }: Operation): string {
  if (answers === "stream") return "AsyncIterable<Followed>";
  if (answers === "picture") return "Promise<Blob>";
  const { responses } = paths[`/v1${path.replaceAll(/:(\w+)/g, "{$1}")}`]?.[method] ?? {};
  const { 200: done } = responses as { 200: { content: { "application/json": { schema: Schema } } } };
  return `Promise<${typeOf(done.content["application/json"].schema.properties?.["data"] ?? {})}>`;
}

/** A type from a file beside this one. */
const beside = (word: string, name: string, file: string) =>
  `${word} type { ${name} } from ${JSON.stringify(`./${file}.js`)};`;

const text = `${beside("import", "Upload", "client")}
${beside("import", "Followed", "client-stream")}

${beside("export", "Followed", "client-stream")}
${beside("export", "ApiEvent", "events")}

${named.join("\n\n")}

/** One method for each operation. Each fails with an \`ApiError\`; a daemon that is not there is fetch's own TypeError. */
export interface Client {
${Object.entries(operations).map(methodOf).join("\n")}
}
`;
writeFileSync(process.argv[2] ?? "client-types.d.ts", text);
