/** The document is complete: every route, every code with its status and an example, every setting, every limit. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { codes } from "../../src/api/errors.ts";
import { sequenceLimits } from "../../src/api/limits.ts";
import { openApiText } from "../../src/api/openapi.ts";
import { Failure, operations } from "../../src/api/operations.ts";
import { settings } from "../../src/config/schema.ts";
import { checkName } from "../../src/devices/names.ts";
import { readPress } from "../../src/devices/press.ts";
import { keys } from "../../src/platforms/platform.ts";
import { version } from "../../src/system/version.ts";
import { createZapd, type Zapd } from "../../src/zapd.ts";
import { testFolder } from "../support/folder.ts";
import { answerProblems, at, documented, frozenFile, problems } from "./document.ts";

const folder = testFolder();
let zapd: Zapd;
beforeAll(async () => {
  zapd = await createZapd({ config: join(folder, "config.toml"), state: join(folder, "state") });
});
afterAll(() => zapd.stop());

async function call(method: string, path = "/openapi.json", headers: Record<string, string> = {}, body?: string) {
  const init = { method, headers: { host: "127.0.0.1:7272", ...headers }, ...(body !== undefined && { body }) };
  return zapd.fetch(new Request(`http://127.0.0.1:7272${path}`, init));
}

test("test/openapi/openapi.json is current", () => {
  const current = readFileSync(frozenFile, "utf8") === openApiText(version);
  expect(current ? "current" : "test/openapi/openapi.json is not what the code says: npm run openapi").toBe("current");
});

describe("served", () => {
  test("exactly as the file, without an envelope", async () => {
    for (const _again of ["first", "cached"]) {
      const response = await call("GET");
      expect(response.status).toBe(200);
      expect(response.headers.get("content-type")).toBe("application/json");
      expect(await response.text()).toBe(readFileSync(frozenFile, "utf8"));
    }
  });

  test("other methods are 405 with Allow, and below /v1 there is no such route", async () => {
    for (const method of ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
      const response = await call(method);
      expect([method, response.status, response.headers.get("allow")]).toEqual([method, 405, "GET, HEAD"]);
      expect(Failure.parse(await response.json()).error.code).toBe("method_not_allowed");
    }
    for (const path of ["/v1/openapi.json", "/openapi.json/", "/openapi"])
      expect([path, (await call("GET", path)).status]).toEqual([path, 404]);
  });

  test("behind the guard", async () => {
    const foreign = await call("GET", "/openapi.json", { host: "evil.example" });
    expect([foreign.status, Failure.parse(await foreign.json()).error.code]).toEqual([403, "forbidden_host"]);
  });
});

describe("complete", () => {
  test("every field of a component has a description", () => {
    const silent = Object.entries(at("components", "schemas"))
      // What an envelope is stands in the words of the document.
      .filter(([name]) => name !== "Failure")
      .flatMap(([name, schema]) =>
        Object.entries((schema as { properties?: Record<string, { description?: string }> }).properties ?? {})
          .filter(([, { description }]) => !description)
          .map(([field]) => `${name}.${field}`),
      );
    const sections = ["daemon", "discovery", "devices", "dev", "mcp", "mqtt", "fleet"];
    expect(silent).toEqual(sections.map((section) => `Config.${section}`));
  });

  test("no pattern escapes a slash, which generators of regular expression literals would escape again", () => {
    expect(openApiText(version)).not.toMatch(/"pattern":.*\\\//);
  });

  test("no pattern has a class that Python does not know", () => {
    expect(openApiText(version)).not.toMatch(/"pattern":.*\\[pP]\{/);
  });

  test("every route, by the name of its operation", () => {
    const real = Object.entries(operations).map(
      ([name, { method, path }]) => `${name} ${method} /v1${path.replaceAll(/:(\w+)/g, "{$1}")}`,
    );
    const shown = documented.map(({ operationId, method, path }) => `${operationId} ${method} ${path}`);
    expect(shown.toSorted()).toEqual([...real, "readOpenApi get /openapi.json"].toSorted());
  });

  test("each has texts, a tag, parameters and a body", () => {
    const tags = Object.values(at("tags")).map((tag) => (tag as { name: string }).name);
    for (const { operationId, path, method } of documented) {
      const operation = at("paths", path, method);
      for (const word of ["summary", "description"])
        expect([operationId, typeof operation[word]]).toEqual([operationId, "string"]);
      expect(tags).toContain(String(at("paths", path, method, "tags")[0]));
      const known = (operations as Record<string, object>)[operationId] ?? {};
      const parameters = JSON.stringify(operation["parameters"] ?? []);
      expect({
        operationId,
        id: parameters.includes("DeviceId"),
        query: parameters.includes('"in":"query"'),
        body: operation["requestBody"] !== undefined,
      }).toEqual({
        operationId,
        id: path.includes("{id}"),
        query: "query" in known,
        body: "body" in known || operationId === "installPackage",
      });
    }
  });

  test("required fields, the fields of forms, and further answers", () => {
    const [unused] = at("paths", "/v1/devices", "delete", "parameters") as unknown as { required: boolean }[];
    expect(unused?.required).toBe(true);
    const form = at("paths", "/v1/devices/{id}/dev/install", "post", "requestBody", "content", "multipart/form-data");
    const { schema } = form as { schema: { properties: object } };
    expect(Object.keys(schema.properties)).toEqual(["params", "password", "archive"]);
    expect(Object.keys(at("paths", "/v1/devices/{id}/artwork", "get", "responses"))).toContain("304");
    const logs = at("paths", "/v1/devices/{id}/dev/logs", "get", "responses", "200", "content");
    expect(Object.keys(logs)).toEqual(["application/json", "text/event-stream", "application/x-ndjson"]);
    expect(
      Object.keys(
        at("paths", "/v1/devices/{id}/inputs", "post", "responses", "404", "content", "application/json", "examples"),
      ),
    ).toContain("app_not_found");
  });

  test("every code has a valid example, under its own status", () => {
    const examples = new Map(
      Object.values(at("components", "schemas", "Failure", "examples")).map((example) => [
        Failure.parse(example).error.code as string,
        example,
      ]),
    );
    expect([...examples.keys()]).toEqual(Object.keys(codes));
    for (const example of examples.values()) expect(problems(example, "components", "schemas", "Failure")).toEqual([]);
    const statuses = new Map(Object.entries(codes).map(([code, entry]) => [code, entry.status as number]));
    const reached = new Set<string>();
    for (const { path, method, operationId } of documented) {
      for (const status of Object.keys(at("paths", path, method, "responses")).filter((one) => Number(one) >= 400)) {
        const place = ["paths", path, method, "responses", status, "content", "application/json", "examples"] as const;
        for (const code of Object.keys(at(...place))) {
          reached.add(code);
          const value = at(...place, code)["value"];
          expect(value).toEqual(examples.get(code));
          expect([operationId, code, answerProblems(operationId, Number(status), value)]).toEqual([
            operationId,
            code,
            [],
          ]);
          expect([operationId, code, statuses.get(code)]).toEqual([operationId, code, Number(status)]);
        }
      }
    }
    // No operation answers these: one is for routes that do not take the method, one for sites behind a broker.
    const unreached = Object.keys(codes).filter((code) => !reached.has(code));
    expect(unreached).toEqual(["method_not_allowed", "site_offline"]);
  });

  test("the patch of the config lists every dotted key", () => {
    const properties = at("components", "schemas", "PatchConfigBody", "properties");
    expect(Object.keys(properties)).toEqual([...settings.keys()]);
    const patch = (value: unknown) => problems(value, "components", "schemas", "PatchConfigBody").length === 0;
    expect(patch({ "daemon.http_port": 7373, "daemon.log_level": "debug", "discovery.hosts": "a, b" })).toBe(true);
    for (const dotted of settings.keys()) expect([dotted, patch({ [dotted]: null })]).toEqual([dotted, true]);
    for (const value of [{ "daemon.http_port": 0 }, { "daemon.http_prot": 1 }, { "discovery.hosts": ["a"] }])
      expect([value, patch(value)]).toEqual([value, false]);
    expect(patch({ "daemon.log_level": "loud" })).toBe(false);
  });

  test("it has the keys and the limits of sequences", () => {
    expect(at("components", "schemas", "Key")).toMatchObject({ type: "string", enum: [...keys] });
    const { delay_ms, keys: steps } = at("components", "schemas", "PressKeysBody", "properties");
    expect(steps).toMatchObject({ minItems: 1, maxItems: sequenceLimits.keys });
    expect(delay_ms).toMatchObject({
      minimum: 0,
      maximum: sequenceLimits.delayMs,
      default: sequenceLimits.defaultDelayMs,
    });
    const { description } = at("paths", "/v1/devices/{id}/remote/sequence", "post");
    expect(description).toContain(`add up to ${sequenceLimits.totalMs / 1_000} s`);
  });

  test("limits have the numbers by which the daemon refuses", async () => {
    const nested = `${"[".repeat(40)}${"]".repeat(40)}`;
    const many = JSON.stringify({ keys: Array(1_200).fill("up") });
    const patch = JSON.stringify(Object.fromEntries(Array.from({ length: 70 }, (_, at) => [`k${at}`, 1])));
    const refusals = [
      await call("POST", "/v1/devices", {}, nested),
      await call("POST", "/v1/devices", {}, many),
      await call("POST", "/v1/devices", { "content-length": "2000000" }, " ".repeat(2_000_000)),
      await call("GET", `/v1/devices/${"x".repeat(3_000)}`),
      await call("PATCH", "/v1/config", {}, patch),
    ];
    // The examples of failures say them too, but that is no description.
    const { Failure: _examples, ...schemas } = at("components", "schemas");
    const said = JSON.stringify([at("info"), at("paths"), schemas]).replaceAll(",", "");
    const messages = refusals.map(async (response) => Failure.parse(await response.json()).error.message);
    const refused: (() => unknown)[] = [
      () => readPress(`literal:${"x".repeat(1_100)}`),
      () => checkName("x".repeat(200), []),
    ];
    for (const refuse of refused) messages.push(Promise.try(refuse).then(String, (error: Error) => error.message));
    const limits = (await Promise.all(messages)).flatMap((message) => message.match(/\b\d+ [A-Za-z]+/g) ?? [message]);
    expect(limits).toEqual([
      "32 levels",
      "1000 values",
      "1 MiB",
      "2048 characters",
      "64 keys",
      "1024 characters",
      "128 characters",
    ]);
    for (const limit of limits) expect([limit, said.includes(limit)]).toEqual([limit, true]);
  });

  test("requests refuse what the daemon refuses", () => {
    const body = (name: string, value: unknown) => problems(value, "components", "schemas", name).length === 0;
    expect(body("PressKeyBody", { key: "home" })).toBe(true);
    expect(body("PressKeyBody", { key: "literal:Amélie" })).toBe(true);
    for (const wrong of [{}, { key: "hoem" }, { key: "literal:" }, { key: "home", more: 1 }])
      expect([wrong, body("PressKeyBody", wrong)]).toEqual([wrong, false]);
    expect(body("PressKeysBody", { keys: ["up"] })).toBe(true);
    for (const wrong of [{ keys: [] }, { keys: Array(257).fill("up") }, { keys: ["up"], delay_ms: 60_001 }])
      expect(body("PressKeysBody", wrong)).toBe(false);
    const params = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`p${at}`, "x"]));
    expect(body("LaunchAppBody", { app: "a", params: params(32) })).toBe(true);
    expect(body("LaunchAppBody", { app: "a", params: params(33) })).toBe(false);
  });
});
