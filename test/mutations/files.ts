/** Ways to lose what was answered, or to stumble over a file, each of which a test must notice (see doors.ts). */
import type { Mutation } from "./doors.ts";

const files = "src/files.ts";
const store = "src/devices/store.ts";
const config = "src/config/config.ts";
const socket = "src/socket.ts";
const order = ["test/reliability/order.test.ts"];
const errors = ["test/reliability/io-errors.test.ts"];
const storeTests = ["test/devices/store.test.ts"];
const start = ["test/start.test.ts"];
const stories = ["test/reliability/stories.test.ts"];

export const mutations: readonly Mutation[] = [
  {
    ...{ name: "the file is not synced", file: files, tests: order },
    find: "      await file.sync();\n",
    replace: "",
  },
  {
    ...{ name: "the folder is not synced", file: files, tests: order },
    find: "    await syncFolder(folder);\n",
    replace: "    void syncFolder;\n",
  },
  {
    ...{ name: "the folder is synced by and by", file: files, tests: order },
    find: "    await syncFolder(folder);\n",
    replace: "    void syncFolder(folder);\n",
  },
  {
    ...{ name: "the file is written in its place", file: files, tests: order },
    find: "    await rename(temporary, path);\n",
    replace:
      '    await (await import("node:fs/promises")).writeFile(path, text);\n    await rm(temporary, { force: true });\n',
  },
  {
    ...{ name: "a temporary file may be there already", file: files, tests: order },
    find: 'open(temporary, "wx", 0o600)',
    replace: 'open(temporary, "w", 0o600)',
  },
  {
    ...{ name: "a write that failed is not undone", file: files, tests: errors },
    find: "    await undo().catch(() => {});\n",
    replace: "    void undo;\n",
  },
  {
    ...{ name: "a write that failed leaves its file", file: files, tests: errors },
    find: "for (const left of [temporary, before]) await rm(left, { force: true }).catch(() => {});",
    replace: "",
  },
  {
    ...{ name: "what a killed daemon left stays", file: "src/zapd.ts" },
    tests: ["test/reliability/kill.test.ts"],
    find: "  sweepTemporaries(state);\n",
    replace: "  void sweepTemporaries;\n",
  },
  {
    ...{ name: "what was left beside the config stays", file: config, tests: ["test/reliability/kill.test.ts"] },
    find: "    sweepTemporaries(dirname(file), basename(file));\n",
    replace: "    void [sweepTemporaries, basename];\n",
  },
  {
    ...{ name: "links are followed", file: files, tests: storeTests },
    find: "constants.O_NOFOLLOW ?? 0",
    replace: "0",
  },
  {
    ...{ name: "a pipe in the place of a file holds the start", file: files, tests: storeTests },
    find: " | (constants.O_NONBLOCK ?? 0)",
    replace: "",
  },
  {
    ...{ name: "a file may be of any size", file: files, tests: storeTests },
    find: "found.size > maxBytes",
    replace: "found.size > 1e15",
  },
  {
    ...{ name: "bad files are kept without end", file: files, tests: storeTests },
    find: "kept.slice(0, -3)",
    replace: "kept.slice(0, -300)",
  },
  {
    ...{ name: "no backup is kept of the devices", file: "src/devices/registry.ts" },
    tests: ["test/reliability/damage.test.ts"],
    find: "parse, backup: true,",
    replace: "parse,",
  },
  {
    ...{ name: "a change is answered before it is written", file: store, tests: order },
    find: "      failure = await writeWhole(",
    replace: "      for (const change of applied) change.settle();\n      failure = await writeWhole(",
  },
  {
    ...{ name: "a change is answered before it is written, and then the power goes", file: store, tests: stories },
    find: "      failure = await writeWhole(",
    replace:
      "      for (const change of applied) change.settle();\n      this.#value = next;\n      failure = await writeWhole(",
  },
  {
    ...{ name: "a patch is written though a key of it is refused", file: "src/config/changes.ts", tests: stories },
    find: "  if (problem !== null) throw refuse(problem);\n  return value;",
    replace:
      '  if (problem !== null && dotted !== "daemon.log_level") throw refuse(problem);\n  return problem === null ? value : "info";',
  },
  {
    ...{ name: "a change that failed is answered as made", file: store, tests: errors },
    find: "change.settle(failure);",
    replace: "change.settle();",
  },
  {
    ...{ name: "a change that failed stays in memory", file: store, tests: errors },
    find: "if (!failure) this.#value = next;",
    replace: "this.#value = next;",
  },
  {
    ...{ name: "a change is seen before it is on disk", file: store, tests: storeTests },
    find: "      const text = `${JSON.stringify({ version",
    replace: "      this.#value = next;\n      const text = `${JSON.stringify({ version",
  },
  {
    ...{ name: "each change is a write of its own", file: store, tests: ["test/reliability/write-cost.test.ts"] },
    find: "const batch = this.#waiting;\n      this.#waiting = [];",
    replace: "const batch = this.#waiting.splice(0, 1);",
  },
  {
    ...{ name: "a patch of the config is answered before it is written", file: config, tests: order },
    find: "        await writeWhole(targetOf(this.path), last.text);\n",
    replace: "        void writeWhole(targetOf(this.path), last.text);\n",
  },
  {
    ...{ name: "a patch of the config is taken though it failed", file: config, tests: errors },
    find: "        await writeWhole(targetOf(this.path), last.text);\n",
    replace: "        await writeWhole(targetOf(this.path), last.text).catch(() => {});\n",
  },
  {
    ...{ name: "a refused patch leaves what was right of it", file: config },
    tests: ["test/config/config.test.ts", "test/config/refusals.test.ts", "test/config/edit.test.ts"],
    find: "    for (const [dotted, value] of values) patched = await write(patched, dotted, value);\n",
    replace:
      "    for (const [dotted, value] of values) {\n      patched = await write(patched, dotted, value);\n      await writeWhole(targetOf(this.path), patched);\n    }\n",
  },
  {
    ...{ name: "a daemon with a taken lock goes on", file: socket, tests: start },
    find: "if (isFree(path) || !(await answers(path)))",
    replace: "if (isFree(path) || path)",
  },
];
