/**
 * MCP with others' test tools: the protocol's public conformance suite, as far as it needs no tools of its own, and the command
 * line of its Inspector, where $ZAPD_INSPECTOR says in which folder it is installed (`npm install
 * --ignore-scripts --prefix FOLDER @modelcontextprotocol/inspector@2.12.0`). Under Bun, Deno, and as a binary that is built.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { createServer, request, type Server } from "node:http";
import { join } from "node:path";
import { tools } from "../../src/mcp/tools.ts";
import { freePort, startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { root } from "../support/sources.ts";

const modules = join(root, "node_modules");
const conformance = join(modules, "@modelcontextprotocol/conformance/dist/index.js");
const inspectorFolder = process.env["ZAPD_INSPECTOR"] ?? "";
/** Scenarios for any server; the others call tools and read resources of the suite's own. */
const scenarios = [
  "server-initialize",
  "ping",
  "tools-list",
  "resources-list",
  "server-sse-multiple-streams",
  "dns-rebinding-protection",
];

async function run(...words: readonly string[]): Promise<{ status: number | null; out: string }> {
  const child = Bun.spawn([process.execPath, "--bun", ...words], { stdout: "pipe", stderr: "pipe", cwd: root });
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return { status: await child.exited, out: out + err };
}

async function tokenOf({ port, stateFolder }: TestDaemon): Promise<string> {
  await fetch(`http://127.0.0.1:${port}/mcp`, { method: "POST" });
  return readFileSync(join(stateFolder, "mcp.token"), "utf8").trim();
}

/** Forwards requests with the token, which the suite cannot send. */
async function withToken(daemon: TestDaemon): Promise<{ server: Server; url: string }> {
  const token = await tokenOf(daemon);
  const server = createServer((asked, answer) => {
    const headers = { ...asked.headers, authorization: `Bearer ${token}` };
    const { method, url: path } = asked;
    const passed = request({ host: "127.0.0.1", port: daemon.port, path, method, headers }, (response) => {
      answer.writeHead(response.statusCode ?? 500, response.headers);
      response.pipe(answer);
    });
    passed.on("error", () => answer.destroy());
    answer.on("close", () => passed.destroy());
    asked.pipe(passed);
  });
  const port = await freePort();
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return { server, url: `http://127.0.0.1:${port}/mcp` };
}

describe.each(["bun", "deno", "binary"] as const)("under %s", (runtime) => {
  const isThere = runtime !== "binary" || existsSync(join(root, "dist/zapd"));
  let daemon: TestDaemon;
  let judged: Awaited<ReturnType<typeof withToken>>;
  beforeAll(async () => {
    if (!isThere) return;
    daemon = await startTestDaemon({ runtime, config: { mcp: { http: true } }, speed: 1 });
    judged = await withToken(daemon);
  });
  afterAll(async () => {
    judged?.server.close();
    await daemon?.dispose();
  });

  test.skipIf(!isThere).each(scenarios)("conformance: %s", async (scenario) => {
    const { status, out } = await run(conformance, "server", "--url", judged.url, "--scenario", scenario);
    expect([scenario, status, status === 0 ? "" : out]).toEqual([scenario, 0, ""]);
    expect(out).toMatch(/Passed: ([1-9]\d*)\/\1, 0 failed/);
  });

  test.skipIf(!isThere || inspectorFolder === "")("the Inspector lists the tools", async () => {
    const folder = join(inspectorFolder, "node_modules/@modelcontextprotocol/inspector");
    const { bin } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { bin: Record<string, string> };
    const launcher = join(folder, Object.values(bin)[0] ?? "");
    const words = ["--cli", judged.url, "--transport", "http", "--method", "tools/list"];
    const { status, out } = await run(launcher, ...words);
    expect([status, status === 0 ? "" : out]).toEqual([0, ""]);
    const listed = JSON.parse(out.slice(out.indexOf("{"), out.lastIndexOf("}") + 1)) as { tools: { name: string }[] };
    expect(listed.tools.map(({ name }) => name)).toEqual(tools.map(({ name }) => name));
  });
});
