/** The secrets of slow/secrets.slow.ts, and what it asks with them. The keys that sets give are planted when they are known. */
import { Canaries } from "./canaries.ts";

export const canaries = new Canaries();
const plant = (name: string) => canaries.plant(name, `c4n-${name.replaceAll(" ", "-")}-xq7`);
export const secret = {
  inFile: plant("vendor password in the file"),
  patched: plant("vendor password by the API"),
  byCli: plant("vendor password by the CLI"),
  refused: plant("vendor password refused\u0007"),
  kodi: canaries.plant("Kodi password", 'c4n "kodi" \\ päss#1'),
  wrong: plant("Kodi password refused"),
  wrongByCli: plant("Kodi password by the CLI"),
  pin: plant("pin refused by Kodi"),
  webosPin: plant("pin of webOS"),
  // A set takes its time for each character.
  typed: canaries.plant("typed text", "c4ntyp"),
  authorization: plant("Authorization of a caller"),
  cookie: plant("cookie of a caller"),
  inHost: plant("password in a host"),
  inQuery: plant("token in a query"),
  inBody: plant("password in a broken body"),
};

/** An answer may repeat these to whoever has just said them: an app's address, a text to type, an unknown word. */
export const repeatable: ReadonlySet<string> = new Set([
  "typed text",
  "password in a host",
  "password in a broken body",
]);

/** What the operations are asked with. */
export const bodies: Readonly<Record<string, readonly string[]>> = {
  addDevice: [`{"host":"kodi:${secret.inHost}@127.0.0.1"}`, `{"host":"http://u:${secret.inHost}@127.0.0.1/"}`],
  changeDevice: ["{}"],
  launchApp: ['{"app":"netflix"}', `{"app":"smb://nas:${secret.inHost}@127.0.0.1/film.mkv"}`],
  pressKey: ['{"key":"home"}', JSON.stringify({ key: `literal:${secret.typed}` })],
  pressKeys: ['{"keys":["up"],"delay_ms":0}'],
  patchConfig: ['{"daemon.log_level":"debug"}'],
};
