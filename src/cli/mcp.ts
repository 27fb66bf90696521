/** `zapd mcp`: the tools for agents over stdio, the token for HTTP, and the entry in the config of an MCP client. */
import { resolve } from "node:path";
import { type ClientOptions, createClient, createStream } from "../api/client.ts";
import { insideClient } from "../api/client-inside.ts";
import { exits, type Failure } from "../api/errors.ts";
import { homeFolder } from "../config/paths.ts";
import { systemClock } from "../system/sleep.ts";
import { tildePath } from "../system/text.ts";
import { apiOf, failureOf } from "./client.ts";
import { type Context, stderr } from "./context.ts";
import { CommandError, UsageError } from "./failure.ts";
import { packageAt } from "./install.ts";
import { locateDaemon } from "./running.ts";
import { pathsIn, runningNow, scriptWords, variables } from "./service-managers.ts";
import { findVerb } from "./words.ts";

/** A daemon that is away for longer is not restarting. */
const longestRestartMs = 60_000;

export async function mcp(context: Context): Promise<void> {
  const [word, client, ...more] = context.words;
  if (word !== "token" && context.flag("new")) throw new UsageError("--new is for the token: zapd mcp token --new");
  if (word === undefined) return serve(context);
  if (word === "token" && client === undefined) return token(context);
  if (word === "add" && more.length === 0) return add(context, client);
  findVerb({ token, add }, word);
  throw new UsageError(`zapd mcp has no ${context.words.join(" ")}`);
}

/** Serves until the client closes stdin. The daemon is called only for a tool, so it may start later or restart. */
async function serve(context: Context): Promise<void> {
  if (process.stdin.isTTY && stderr().isTTY)
    context.say(
      "zapd mcp is started by a program, which uses MCP over stdin and stdout. To add it to a client: zapd mcp add claude",
    );
  const { serveOverStdio } = await import("../mcp/stdio.ts");
  context.caller = "mcp";
  const api = findingOthers(context, apiOf(context));
  const upload = apiOf(context, true);
  await serveOverStdio({
    looking: createClient(insideClient("doctor", api.fetch)),
    api: { ...createClient(api), installPackage: createClient(upload).installPackage },
    follow: (signal) => createStream({ ...api, resumed: true }, "events", { signal }),
    explain: (error) => explained(error, context),
    device: context.device,
    // As for `zapd run`: a scene runs on the devices that it names, whatever $ZAPD_DEVICE says.
    sceneDevice: context.option("device"),
    // The agent may be in another folder than zapd: a failure then shows where it looked.
    openPackage: (path) => packageAt(resolve(path)),
  });
}

/** Calls that look for another daemon once the one that has answered is away for good: an agent may run for days. */
export function findingOthers(
  context: Pick<Context, "otherSocket">,
  api: Required<ClientOptions>,
  clock = systemClock,
): Required<ClientOptions> {
  let lostAt: number | undefined;
  const fetch = async (request: Request) => {
    const isAway = lostAt !== undefined && clock.now() - lostAt > longestRestartMs;
    if (isAway && context.otherSocket === null) context.otherSocket = undefined;
    try {
      const response = await api.fetch(request);
      lostAt = undefined;
      return response;
    } catch (error) {
      if (!request.signal.aborted) lostAt ??= clock.now();
      throw error;
    }
  };
  return { ...api, fetch };
}

async function explained(error: unknown, context: Context): Promise<Failure> {
  const { code, message, hint } = await failureOf(error, context);
  return { code, message, ...(hint !== undefined && { hint }) };
}

/** Prints the token of `/mcp`, and makes it where there is none. */
async function token(context: Context): Promise<void> {
  const { mcpToken, renewToken, tokenFile } = await import("../mcp/token.ts");
  const state = resolve((await locateDaemon(context)).stateFolder);
  const found = await (context.flag("new") ? renewToken(state) : mcpToken(state));
  const file = tokenFile(state);
  context.print(context.json ? JSON.stringify({ token: found, file }) : found);
  if (!context.json && stderr().isTTY)
    context.say(`It is kept in ${tildePath(file)}; send it as: authorization: Bearer TOKEN`);
}

async function add(context: Context, word: string | undefined): Promise<void> {
  const { addToClient, clientNames } = await import("../mcp/clients.ts");
  const client = clientNames.find((one) => one === word);
  if (client === undefined) throw new UsageError(`which client? One of ${clientNames.join(", ")}`);
  const place = { platform: process.platform, home: homeFolder(), env: process.env };
  const added = await addToClient(client, programNow(context), place);
  if (context.json) return context.print(JSON.stringify({ added }));
  for (const { title, file, wasThere } of added)
    context.say(`${title} ${wasThere ? "knew zapd already" : "knows zapd now"}: ${tildePath(file)}`);
  context.say("Restart it, and ask it what is on");
}

/** The command line of this program, with the options and variables to find the same daemon. */
function programNow(context: Context) {
  const running = runningNow();
  const { execPath } = running;
  const args = [...scriptWords(running), "mcp"];
  for (const name of ["config", "socket"]) {
    const given = context.option(name);
    if (given !== undefined) args.push(`--${name}`, resolve(given));
  }
  const device = context.option("device");
  if (device !== undefined) args.push("--device", device);
  const known = pathsIn(process.env, [...variables, "ZAPD_SOCKET"]);
  if ([execPath, ...args, ...known.flat()].some((one) => /[\x00-\x1f\x7f]/.test(one)))
    throw new CommandError("a path with a control character cannot be written to a config", exits.failed);
  return { command: execPath, args, env: Object.fromEntries(known) };
}
