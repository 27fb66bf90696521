/** Every command, a line each: the words of the API, loaded when they are asked for. */
import type { Context, Option } from "./context.ts";

/** What a command does with its words; gives its exit status, or none for 0. */
export type Run = (context: Context) => Promise<number> | Promise<void>;

export interface Command {
  /** Its words and own options, as the help shows them. */
  readonly use: string;
  readonly about: string;
  readonly options?: Readonly<Record<string, Option>>;
  load(): Promise<Run>;
}

export const commands: Readonly<Record<string, Command>> = {
  serve: { use: "[--config FILE]", about: "run the daemon", load: async () => (await import("./serve.ts")).serve },
  demo: {
    use: "[--port PORT]",
    about: "run the daemon with simulated sets; nothing leaves this machine",
    options: { port: { type: "string" } },
    load: async () => (await import("./demo.ts")).demo,
  },
  status: { use: "", about: "what the daemon is doing", load: async () => (await import("./daemon.ts")).status },
  devices: { use: "", about: "every known device", load: async () => (await import("./devices.ts")).devices },
  discover: { use: "", about: "look for devices now", load: async () => (await import("./devices.ts")).discover },
  device: { use: "[NAME]", about: "one device, in full", load: async () => (await import("./devices.ts")).device },
  add: {
    use: "HOST[:PORT] [--name NAME] [--platform NAME]",
    about: "add a device by its address",
    options: { name: { type: "string" }, platform: { type: "string" } },
    load: async () => (await import("./devices.ts")).add,
  },
  rename: {
    use: "OLD NEW",
    about: "give a device another name",
    load: async () => (await import("./devices.ts")).rename,
  },
  forget: { use: "NAME", about: "remove a device", load: async () => (await import("./devices.ts")).forget },
  default: {
    use: "[NAME]",
    about: "show or set the default device",
    load: async () => (await import("./devices.ts")).defaultDevice,
  },
  state: { use: "[NAME]", about: "what a device is doing", load: async () => (await import("./state.ts")).state },
  apps: {
    use: "[--all]",
    about: "its apps",
    options: { all: { type: "boolean" } },
    load: async () => (await import("./apps.ts")).apps,
  },
  launch: {
    use: "APP [KEY=VALUE …]",
    about: "launch an app, with a deep link",
    load: async () => (await import("./apps.ts")).launch,
  },
  stop: { use: "", about: "leave the app that is shown", load: async () => (await import("./apps.ts")).stop },
  refresh: {
    use: "[--clear]",
    about: "read its apps anew",
    options: { clear: { type: "boolean" } },
    load: async () => (await import("./apps.ts")).refresh,
  },
  key: { use: "KEY", about: "press a key", load: async () => (await import("./keys.ts")).key },
  keys: {
    use: "KEY … [--delay MS]",
    about: "press keys one after another",
    options: { delay: { type: "string" } },
    load: async () => (await import("./keys.ts")).keys,
  },
  text: { use: "TEXT", about: "type text", load: async () => (await import("./keys.ts")).text },
  version: { use: "", about: "print the version", load: async () => (await import("./daemon.ts")).printVersion },
};
