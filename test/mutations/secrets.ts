/** Ways to tell a secret, or to leave it lying about, each of which a test must notice (see doors.ts). */
import type { Mutation } from "./doors.ts";

const files = "src/files.ts";
const credentials = "src/devices/credentials.ts";
const socket = "src/socket.ts";
const modes = ["test/security/modes.test.ts"];
const start = ["test/start.test.ts"];
const stories = ["test/reliability/stories.test.ts"];
const secrets = ["test/security/secrets.test.ts"];

export const mutations: readonly Mutation[] = [
  {
    ...{ name: "files are for all to read", file: files, tests: modes },
    find: 'open(temporary, "wx", 0o600)',
    replace: 'open(temporary, "wx", 0o666)',
  },
  {
    ...{ name: "folders are for all to enter", file: files, tests: modes },
    find: "recursive: true, mode: 0o700",
    replace: "recursive: true, mode: 0o777",
  },
  {
    ...{ name: "the umask is the user's", file: "src/cli/serve.ts", tests: modes },
    find: "  process.umask(0o077);\n",
    replace: "",
  },
  {
    ...{ name: "the socket is as the umask makes it", file: socket, tests: start },
    find: "  chmodSync(path, 0o600);\n",
    replace: "  void chmodSync;\n",
  },
  {
    ...{ name: "an upload is for all to read", file: "src/routes/upload.ts", tests: modes },
    find: 'open(path, "wx", 0o600)',
    replace: 'open(path, "wx", 0o666)',
  },
  {
    ...{ name: "secrets are kept in a backup, too", file: credentials, tests: secrets },
    find: "...{ path, damaged, parse, maxBytes",
    replace: "...{ path, damaged, parse, backup: true, maxBytes",
  },
  {
    ...{ name: "a device that is forgotten leaves its key", file: "src/devices/control.ts", tests: stories },
    find: "    await this.#deps.credentials.forget(id);\n",
    replace: "",
  },
  {
    ...{ name: "nothing is redacted in the log", file: "src/log.ts", tests: secrets },
    find: "printable(redact(message))",
    replace: "printable(message)",
  },
  {
    ...{ name: "the message of an error is not redacted", file: "src/routes/route.ts", tests: secrets },
    find: "message: log.redact(body.message)",
    replace: "message: body.message",
  },
  {
    ...{ name: "the password is in the answers of the config", file: "src/config/schema.ts" },
    tests: ["test/config/secret.test.ts"],
    find: 'vendor_password: vendor_password === "" ? "" : redacted',
    replace: "vendor_password",
  },
  {
    ...{ name: "secrets read from disk are not hidden", file: credentials, tests: secrets },
    find: "    for (const kept of Object.values(store.value.credentials)) this.#hideAll(kept);\n",
    replace: "",
  },
  {
    ...{ name: "new secrets are not hidden", file: credentials, tests: ["test/devices/pairing.test.ts"] },
    find: "        this.#hideAll(kept);\n",
    replace: "",
  },
  {
    ...{ name: "secrets go with no device", file: "src/devices/control.ts", tests: ["test/devices/pairing.test.ts"] },
    find: "    await this.#deps.credentials.forget(id);\n",
    replace: "",
  },
  {
    ...{ name: "a device that is removed while it is paired leaves its key", file: "src/devices/control.ts" },
    tests: ["test/devices/pairing.test.ts"],
    find: "      await this.#dropIfGone(entry);\n",
    replace: "      void this.#dropIfGone;\n",
  },
];
