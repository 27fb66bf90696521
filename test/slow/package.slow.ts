/** The npm package: its files, and that it works, with its types, in an empty project under both runtimes. */
import { beforeAll, expect, test } from "bun:test";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../support/daemon.ts";
import { testFolder } from "../support/folder.ts";

const root = join(import.meta.dir, "..", "..");
const project = testFolder();
let files: string[] = [];
const deno = [
  join(root, "node_modules/.bin/deno"),
  ["run", "--no-prompt", "--node-modules-dir=manual", "--unstable-net", "--allow-all"],
] as const;

/** What an embedder writes: their own server, zapd below a path of it, called by the typed client. */
const consumer = `
import { createLog, createZapd } from "zapd";
import { createClient, type Device } from "zapd/client";
import { operations } from "zapd/api";

const log = createLog({ level: "info", format: "text", colour: false, write: (line) => process.stderr.write(line) });
const zapd = await createZapd({ config: "config.toml", state: "./state", prefix: "/tv", log });
const fetch = (request: Request) => {
  const headers = new Headers(request.headers);
  headers.set("host", "127.0.0.1");
  return zapd.fetch(new Request(request, { headers }));
};
const client = createClient({ url: "http://127.0.0.1/tv/v1", fetch });
const devices: Device[] = await client.listDevices();
const { status } = await client.health();
await client.patchConfig({ body: { "discovery.interval_s": 77 } });
console.log(JSON.stringify({ devices, status, operations: Object.keys(operations).length }));
await zapd.stop();
`;

/** The client's types are generated for the package: they must equal those of the schemas. */
const sameTypes = `
import type { z } from "zod";
import type { operations } from "zapd/api";
import type { ApiEvent, Arguments, Client, Result, ValueName } from "zapd/client";

type Operations = typeof operations;
type Body<O> = O extends { body: infer B extends z.ZodType } ? z.input<B> : unknown;
type Given<O> = O extends { body: z.ZodType; optionalBody: true } ? { body?: Body<O> } : O extends { body: z.ZodType } ? { body: Body<O> } : object;
type Equal<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
type Same = {
  [Name in ValueName]: Name extends "patchConfig" ? true
    : [Equal<Result<Name>, z.output<Operations[Name]["data"]>>, Arguments<Name> extends Given<Operations[Name]> ? true : false];
};
type Wrong = { [Name in keyof Same]: Same[Name] extends true | [true, true] ? never : Name }[keyof Same];
export const names: Equal<keyof Client, keyof Operations> = true;
export const wrong: Equal<Wrong, never> = true;

declare const client: Client;
void client.pressKey({ id: "Den", body: { key: "literal:a" } });
// @ts-expect-error no key is called so
void client.pressKey({ id: "Den", body: { key: "hom" } });
// @ts-expect-error its answer would have no end
void client.readLogs({ id: "Den", query: { follow: "true" } });
// @ts-expect-error a body is needed
void client.pressKey({ id: "Den" });
void client.listDevices();
const icon: Promise<Blob> = client.getIcon({ id: "Den", app: "netflix" });
void icon;
for await (const event of client.events()) if (event.type === "device.added") void (event satisfies ApiEvent);
`;

beforeAll(() => {
  const run = (command: string, words: string[], cwd = root) =>
    execFileSync(command, words, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  run("npm", ["run", "--silent", "build:package"]);
  const [packed] = JSON.parse(
    run("npm", ["pack", "--silent", "--ignore-scripts", "--json", "--pack-destination", project]),
  );
  files = packed.files.map((file: { path: string }) => file.path);
  mkdirSync(join(project, "node_modules"));
  run("tar", ["-xzf", join(project, packed.filename), "-C", join(project, "node_modules")]);
  execFileSync("mv", [join(project, "node_modules/package"), join(project, "node_modules/zapd")]);
  const { dependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  for (const name of [...Object.keys(dependencies), "bun-types", "@types"]) {
    if (name.includes("/")) mkdirSync(join(project, "node_modules", name.split("/")[0] ?? ""), { recursive: true });
    symlinkSync(join(root, "node_modules", name), join(project, "node_modules", name));
  }
  writeFileSync(join(project, "package.json"), '{"type":"module"}');
  writeFileSync(join(project, "consumer.ts"), consumer);
  writeFileSync(join(project, "same-types.ts"), sameTypes);
});

interface Example {
  readonly language: string;
  readonly code: string;
}

/** The examples of the README and of the page on embedding, each with a check behind it that ends what it began. */
function examples(): Example[] {
  const readme = readFileSync(join(root, "README.md"), "utf8");
  const shortest = readme.slice(readme.indexOf("## Embedding"), readme.indexOf("## Developing zapd"));
  const others = readFileSync(join(root, "src/server/README.md"), "utf8");
  return [...`${shortest}${others}`.matchAll(/```(ts|js)\n(.*?)```/gs)].map(([, language = "", code = ""]) => ({
    language,
    code,
  }));
}

const answered = `console.log((await fetch("http://127.0.0.1:7273/tv/v1/health")).status`;
const checks = [
  `${answered}, await (await fetch("http://127.0.0.1:7273/")).text());
await zapd.stop();
await server.stop(true);`,
  `console.log(devices.length, (await client.health()).status);
await zapd.stop();
await server.shutdown();`,
  `${answered}, await (await fetch("http://127.0.0.1:7273/")).text());
await zapd.stop();
await server.stop(true);`,
  `const { Agent, request } = await import("node:http");
await new Promise((over) => request("http://127.0.0.1:7273/", { method: "TRACE" }, over).on("error", over).end());
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const refused = () =>
  new Promise((over) =>
    request("http://127.0.0.1:7273/", { method: "POST", agent, signal: AbortSignal.timeout(5_000) })
      .on("response", (given) => given.resume().on("end", () => over(given.statusCode)))
      .on("error", over)
      .end(Buffer.alloc(200_000)),
  );
console.log(await refused(), await refused());
process.on("warning", ({ name }) => console.log(name));
const nobody = { method: "POST", body: '{"host":"127.0.0.1","port":9}' };
for (const _ of [1, 2]) await fetch("http://127.0.0.1:7273/tv/v1/devices", nobody);
const patch = { method: "PATCH", body: '{"discovery.on_start":false,"discovery.interval_s":0}' };
const { data } = await (await fetch("http://127.0.0.1:7273/tv/v1/config", patch)).json();
${answered}, data.config.discovery.interval_s, (await fetch("http://127.0.0.1:7273//evil.test/v1/health")).status);
const news = await fetch("http://127.0.0.1:7273/tv/v1/events?types=scene.*&snapshot=false");
const leave = new AbortController();
const run = { method: "POST", body: '{"steps":[{"wait_ms":3000}]}', signal: leave.signal };
fetch("http://127.0.0.1:7273/tv/v1/run", run).catch(() => {});
for await (const text of news.body.pipeThrough(new TextDecoderStream())) {
  if (text.includes("scene.started")) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    gc();
    leave.abort();
  }
  if (!text.includes("scene.finished")) continue;
  console.log(/"outcome":"\\w+"/.exec(text)[0]);
  break;
}
await zapd.stop();
server.close();`,
];

test("the examples of the README and of the page on embedding run", async () => {
  const said = await Promise.all(
    examples().map(async ({ language, code }, at) => {
      const port = await freePort();
      const file = join(project, `example-${at}.${language === "js" ? "mjs" : "ts"}`);
      const text = `${code}\n${checks[at]}\n`.replaceAll("7273", String(port));
      writeFileSync(file, text.replaceAll("./state", `./state-${at}`).replaceAll("config.toml", `config-${at}.toml`));
      const [command, words] =
        language === "js"
          ? (["node", ["--expose-gc"]] as const)
          : code.includes("Deno.")
            ? deno
            : ([process.execPath, []] as const);
      return execFileSync(command, [...words, file], {
        cwd: project,
        encoding: "utf8",
        stdio: ["ignore", "pipe", "inherit"],
      }).trim();
    }),
  );
  expect(said).toEqual([
    "200 your own page",
    expect.stringMatching(/^device_not_found .*\n0 ok$/),
    "200 a page of yours",
    '405 405\n200 0 404\n"outcome":"cancelled"',
  ]);
});

test("it holds the library, its types and its papers, and nothing else", () => {
  const strays = files.filter(
    (file) =>
      !/^(dist\/npm\/(package\.json|src\/.*\.(js|d\.ts))|package\.json|README\.md|LICENSE|CHANGELOG\.md|config\.toml|src\/cli\/zapd\.mjs)$/.test(
        file,
      ),
  );
  expect(strays).toEqual([]);
  expect(files.filter((file) => /simulators|\/cli\/|test/.test(file))).toEqual(["src/cli/zapd.mjs"]);
  expect(files).toContain("dist/npm/src/zapd.d.ts");
});

test("its command says that the program is made elsewhere", () => {
  const { status, stderr } = spawnSync("node", [join(project, "node_modules/zapd/src/cli/zapd.mjs"), "devices"], {
    encoding: "utf8",
  });
  expect([status, stderr]).toEqual([1, expect.stringContaining("npm run build")]);
});

test("its types hold in a strict project", () => {
  const options = [
    "--noEmit",
    "--strict",
    "--target",
    "esnext",
    "--module",
    "nodenext",
    "--types",
    "bun-types",
    "consumer.ts",
    "same-types.ts",
  ];
  const compiler = join(root, "node_modules/.bin/tsc");
  let said = "";
  try {
    execFileSync(compiler, options, { cwd: project, encoding: "utf8" });
  } catch (error) {
    said = String((error as { stdout?: string }).stdout);
  }
  expect(said).toBe("");
});

test("its client explains itself: each method and each field has its words", () => {
  const types = readFileSync(join(project, "node_modules/zapd/dist/npm/src/api/client-types.d.ts"), "utf8");
  for (const name of ["pressKey", "stopApp", "launchApp", "getState"])
    expect(types).toMatch(new RegExp(`\\*/\nreadonly ${name}: \\(args`));
  expect(types).toContain(" * Press a key, or type text\n");
  expect(types).toContain(" * Whether it has ever been used\n */\nused: boolean;");
});

test.each([
  ["Bun", process.execPath, ["consumer.ts"]],
  ["Deno", deno[0], [...deno[1], "consumer.ts"]],
] as const)("it works under %s", (_name, command, words) => {
  const output = execFileSync(command, [...words], {
    cwd: project,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  const said = JSON.parse(output.trim().split("\n").at(-1) ?? "");
  expect(said).toMatchObject({ devices: [], status: "ok" });
  expect(said.operations).toBeGreaterThan(18);
  // The first change has brought the annotated default, which the package holds.
  expect(readFileSync(join(project, "config.toml"), "utf8")).toBe(
    readFileSync(join(root, "config.toml"), "utf8").replace("interval_s = 300", "interval_s = 77"),
  );
  rmSync(join(project, "config.toml"));
});
