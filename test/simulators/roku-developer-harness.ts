import { createHash } from "node:crypto";
import type { RokuSimulator, RokuSimulatorOptions } from "../../src/simulators/roku.ts";
import { ask, header, plugIn, type Reply } from "./roku-harness.ts";

export const PASSWORD = "open sesame";
const md5 = (text: string) => createHash("md5").update(text).digest("hex");

export const developerSet = (options: Partial<RokuSimulatorOptions> = {}) =>
  plugIn({ developer: { password: PASSWORD }, ...options });

export const door = (simulator: RokuSimulator) => ({ host: simulator.host, port: simulator.ports.installer ?? 0 });

export async function nonceOf(simulator: RokuSimulator): Promise<string> {
  const reply = await ask(door(simulator), "GET", "/plugin_install");
  return /nonce="(\d+)"/.exec(header(reply, "WWW-Authenticate") ?? "")?.[1] ?? "";
}

export interface Login {
  method: string;
  uri: string;
  nonce: string;
  password?: string;
  qop?: boolean;
}

export function login({ method, uri, nonce, password = PASSWORD, qop = true }: Login): Record<string, string> {
  const secret = md5(`rokudev:rokudev:${password}`);
  const count = qop ? "00000001:00c0ffee:auth:" : "";
  const response = md5(`${secret}:${nonce}:${count}${md5(`${method}:${uri}`)}`);
  const words = `username="rokudev", realm="rokudev", nonce="${nonce}", uri="${uri}", response="${response}"`;
  return { Authorization: `Digest ${words}${qop ? ', qop=auth, nc=00000001, cnonce="00c0ffee"' : ""}` };
}

export async function asDeveloper(simulator: RokuSimulator, method: string, uri: string): Promise<Reply> {
  return ask(door(simulator), method, uri, { headers: login({ method, uri, nonce: await nonceOf(simulator) }) });
}

export type Field = readonly [name: string, value: string | Uint8Array];

export async function submit(
  simulator: RokuSimulator,
  fields: readonly Field[],
  uri = "/plugin_install",
): Promise<Reply> {
  const nonce = await nonceOf(simulator);
  const parts = fields.flatMap(([name, value]) => {
    const file = typeof value === "string" ? "" : `; filename="app.zip"\r\nContent-Type: application/octet-stream`;
    return [
      Buffer.from(`--edge\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n`),
      Buffer.from(value),
      Buffer.from("\r\n"),
    ];
  });
  const body = Buffer.concat([...parts, Buffer.from("--edge--\r\n")]);
  const headers = { "Content-Type": "multipart/form-data; boundary=edge", ...login({ method: "POST", uri, nonce }) };
  return ask(door(simulator), "POST", uri, { headers, body });
}

export const install = (simulator: RokuSimulator, zip: Uint8Array, ...more: Field[]) =>
  submit(simulator, [["mysubmit", "Replace"], ["archive", zip], ...more]);

/** The messages of the page, each as `type: text`, from the JSON in its script. */
export function messages(reply: Reply): string[] | null {
  const [, json = ""] = /var params = JSON\.parse\('(.*)'\);/.exec(reply.body) ?? [];
  const params: { messages: { type: string; text: string }[] | null } = JSON.parse(
    json.replace(/\\(.)/g, (_, character: string) => (character === "n" ? "\n" : character)),
  );
  return params.messages?.map(({ type, text }) => `${type}: ${text}`) ?? null;
}
