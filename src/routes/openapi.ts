import type { Hono } from "hono";
import type { AppDependencies } from "../app.ts";
import { answerMethod, type Env } from "./route.ts";

const path = "/openapi.json";

/** The description of the API itself: the document as it is, outside `/v1` and its envelope. Made when it is first asked for. */
export function openApiRoute(app: Hono<Env>, { version }: AppDependencies): void {
  let document: Promise<string> | undefined;
  app.get(path, async (c) => {
    document ??= made(version);
    return c.body(await document, 200, { "content-type": "application/json" });
  });
  app.all(path, (c) => answerMethod(c, path, ["GET"]));
}

async function made(version: string): Promise<string> {
  const { openApiText } = await import("../openapi.ts");
  return openApiText(version);
}
