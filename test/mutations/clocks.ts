/** Ways to send a key late, and to go by the wrong clock, each of which a test must notice (see doors.ts). */
import type { Mutation } from "./doors.ts";

const socket = "src/socket.ts";
const queue = ["test/devices/queue.test.ts"];
const sleep = ["test/reliability/sleep.test.ts"];

export const mutations: readonly Mutation[] = [
  {
    ...{ name: "keys that waited too long are sent late", file: "src/devices/queue.ts", tests: sleep },
    find: "const maxWait = 5_000;",
    replace: "const maxWait = 5_000_000;",
  },
  {
    ...{ name: "keys that waited while nothing ran are sent late", file: "src/devices/queue.ts", tests: queue },
    find: "const inTime = waited() <= wait;",
    replace: "const inTime = waited() >= 0;",
  },
  {
    ...{ name: "a sequence goes on after a sleep", file: "src/devices/press.ts", tests: sleep },
    find: "      if (pulse.missed) throw",
    replace: "      if (pulse.missed && delayMs < 0) throw",
  },
  {
    ...{ name: "a text goes on after a sleep", file: "src/platforms/roku/adapter.ts", tests: sleep },
    find: "      if (pulse.missed)\n",
    replace: "      if (pulse.missed && sent < 0)\n",
  },
  {
    ...{ name: "a sleep is noticed when a timer is", file: "src/clock.ts", tests: ["test/clock.test.ts"] },
    find: "return this.#missed || this.#beat() > asleepFrom;",
    replace: "return this.#missed;",
  },
  {
    ...{ name: "a sleep is forgotten at the next beat", file: "src/clock.ts", tests: ["test/clock.test.ts"] },
    find: "      this.#missed = this.missed;\n",
    replace: "",
  },
  {
    ...{ name: "the machine's sleep takes no time", file: "src/clock.ts", tests: ["test/clock.test.ts"] },
    find: "(booted() - was - 1) * 1_000",
    replace: "booted() - booted() - was",
  },
  {
    ...{ name: "a mark from the future holds the start", file: socket, tests: ["test/reliability/clock.test.ts"] },
    find: "Math.abs(Date.now() - made)",
    replace: "Date.now() - made",
  },
  {
    ...{ name: "uptime goes by the time of day", file: "src/routes/daemon.ts" },
    tests: ["test/reliability/clock.test.ts"],
    find: "(performance.now() - startedAt)",
    replace: "(Date.now() - performance.timeOrigin - startedAt)",
  },
];
