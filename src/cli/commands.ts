/** Every command, a line each: the words of the API, loaded when they are asked for. */
import type { Context, Option } from "./context.ts";

/** What a command does with its words; gives its exit status, or none for 0. */
export type Run = (context: Context) => Promise<number> | Promise<void>;

export interface Command {
  /** Its words and own options, as the help shows them. */
  readonly use: string;
  readonly about: string;
  readonly options?: Readonly<Record<string, Option>>;
  /** How many words it takes at most; without a number it judges them itself. */
  readonly most?: number;
  readonly examples?: readonly string[];
  /** For programs: neither listed nor suggested, and its words are taken as they are. */
  readonly hidden?: boolean;
  load(): Promise<Run>;
}

/** For commands that wait for a device. */
export const timeout = {
  timeout: { type: "string", value: "TIME", about: "give up after so long, such as 30s, 500ms or 2m" },
} as const satisfies Record<string, Option>;

export const commands: Readonly<Record<string, Command>> = {
  serve: {
    ...{ use: "[--config FILE]", about: "run the daemon in the foreground", most: 0 },
    load: async () => (await import("./serve.ts")).serve,
  },
  demo: {
    ...{ use: "[--port PORT]", about: "run a daemon with simulated sets; nothing leaves this machine", most: 0 },
    options: { port: { type: "string", value: "PORT", about: "the port of its API (else 7272)" } },
    load: async () => (await import("./demo.ts")).demo,
  },
  status: {
    ...{ use: "", about: "what the daemon is doing, and where", most: 0 },
    load: async () => (await import("./daemon.ts")).status,
  },
  devices: {
    ...{ use: "", about: "every known device", most: 0 },
    load: async () => (await import("./devices.ts")).devices,
  },
  discover: {
    ...{ use: "", about: "look for devices now", most: 0 },
    options: timeout,
    load: async () => (await import("./devices.ts")).discover,
  },
  device: {
    ...{ use: "[NAME]", about: "one device, in full", most: 1 },
    load: async () => (await import("./devices.ts")).device,
  },
  add: {
    ...{ use: "HOST[:PORT] [--name NAME] [--platform NAME]", about: "add a device by its address", most: 1 },
    options: {
      name: { type: "string", value: "NAME", about: "what to call it (else what it calls itself)" },
      platform: { type: "string", value: "NAME", about: "its platform (else all are tried)" },
      ...timeout,
    },
    examples: ["zapd add 192.168.1.40", 'zapd add 192.168.1.40 --name "Living Room"'],
    load: async () => (await import("./devices.ts")).add,
  },
  rename: {
    ...{ use: "OLD NEW", about: "give a device another name", most: 2 },
    examples: ['zapd rename "Living Room" Den'],
    load: async () => (await import("./devices.ts")).rename,
  },
  pair: {
    ...{ use: "[NAME] [--host HOST[:PORT]] [--pin PIN | --user NAME]", about: "have a device let zapd in", most: 1 },
    options: {
      host: { type: "string", value: "HOST[:PORT]", about: "where it is now; it is paired anew there" },
      pin: { type: "string", value: "PIN", about: "what the device shows" },
      user: { type: "string", value: "NAME", about: "the name that is set on it; the password is read unseen" },
      ...timeout,
    },
    examples: ["zapd pair Bedroom", "zapd pair Cinema --user me", "zapd pair Bedroom --host 192.168.1.50"],
    load: async () => (await import("./devices.ts")).pair,
  },
  trust: {
    ...{ use: "NAME", about: "say that a device which has moved is the one it claims to be", most: 1 },
    load: async () => (await import("./devices.ts")).trust,
  },
  forget: {
    ...{ use: "NAME | --unused", about: "remove a device", most: 1 },
    options: { unused: { type: "boolean", about: "every device that was found and nobody has used" } },
    load: async () => (await import("./devices.ts")).forget,
  },
  default: {
    ...{ use: "[NAME]", about: "show or set the default device", most: 1 },
    load: async () => (await import("./devices.ts")).defaultDevice,
  },
  state: {
    ...{ use: "[NAME]", about: "what a device is doing", most: 1 },
    options: timeout,
    load: async () => (await import("./control.ts")).state,
  },
  apps: {
    ...{ use: "[--all]", about: "the apps of a device", most: 0 },
    options: { all: { type: "boolean", about: "those too that are no longer installed" }, ...timeout },
    load: async () => (await import("./control.ts")).apps,
  },
  launch: {
    ...{ use: "APP [KEY=VALUE …]", about: "launch an app, by name or id, with a deep link" },
    options: timeout,
    examples: [
      "zapd launch netflix",
      'zapd launch "Prime Video" -d Bedroom',
      "zapd launch youtube content_id=dQw4w9WgXcQ",
    ],
    load: async () => (await import("./control.ts")).launch,
  },
  stop: {
    ...{ use: "", about: "leave the app that is shown", most: 0 },
    options: timeout,
    load: async () => (await import("./control.ts")).stop,
  },
  refresh: {
    ...{ use: "[--clear]", about: "read the list of apps anew", most: 0 },
    options: {
      clear: { type: "boolean", about: "first drop all that is cached for the platform of the device" },
      ...timeout,
    },
    load: async () => (await import("./control.ts")).refresh,
  },
  key: {
    ...{ use: "KEY", about: "press a key" },
    options: timeout,
    examples: ["zapd key home", "zapd key volume-up -d Bedroom"],
    load: async () => (await import("./control.ts")).key,
  },
  keys: {
    ...{ use: "KEY … [--delay MS]", about: "press keys one after another" },
    options: { delay: { type: "string", value: "MS", about: "milliseconds between two keys (else 200)" }, ...timeout },
    examples: ["zapd keys down down select --delay 150"],
    load: async () => (await import("./control.ts")).keys,
  },
  text: {
    ...{ use: "TEXT", about: "type text into the field that has the focus" },
    options: timeout,
    examples: ["zapd text Amélie"],
    load: async () => (await import("./control.ts")).text,
  },
  install: {
    ...{ use: "PATH", about: "sideload a package: a ZIP, or a folder that is zipped", most: 1 },
    options: timeout,
    examples: ["zapd install ./my-app -d Workbench && zapd logs --follow -d Workbench"],
    load: async () => (await import("./install.ts")).install,
  },
  reload: {
    ...{ use: "", about: "start the sideloaded package anew", most: 0 },
    options: timeout,
    load: async () => (await import("./logs.ts")).reload,
  },
  logs: {
    ...{ use: "[--follow]", about: "the developer log of a device", most: 0 },
    options: { follow: { type: "boolean", short: "f", about: "go on as it grows, until Ctrl-C" } },
    load: async () => (await import("./logs.ts")).logs,
  },
  config: {
    use: "get [KEY] | set KEY VALUE … | unset KEY … | reload | path | edit",
    about: "read and change the config; comments and formatting stay",
    examples: [
      "zapd config get daemon.http_port",
      'zapd config set daemon.default_device "Living Room" discovery.interval_s 60',
      "zapd config set dev.vendor_password -        (reads the value, unseen, from the terminal or a pipe)",
      "zapd config unset discovery.hosts",
      "zapd config edit                            (opens $VISUAL or $EDITOR, and has the daemon read it)",
    ],
    load: async () => (await import("./config.ts")).config,
  },
  openapi: {
    ...{ use: "", about: "the API as an OpenAPI 3.1 document", most: 0 },
    load: async () => (await import("./daemon.ts")).openapi,
  },
  completion: {
    ...{ use: "bash | zsh | fish", about: "completion for a shell, with live device and app names", most: 1 },
    examples: ["source <(zapd completion bash)", "source <(zapd completion zsh)", "zapd completion fish | source"],
    load: async () => (await import("./completion.ts")).completion,
  },
  remote: {
    ...{ use: "[NAME]", about: "a remote that fills the terminal, with live state", most: 1 },
    load: async () => (await import("./remote/session.ts")).remote,
  },
  doctor: {
    ...{ use: "", about: "look for what is in the way, and say what to do", most: 0 },
    load: async () => (await import("./doctor/doctor.ts")).doctor,
  },
  service: {
    ...{ use: "install | uninstall | status [--print]", about: "keep the daemon running, from login on", most: 1 },
    options: { print: { type: "boolean", about: "show what would be installed, and install nothing" } },
    load: async () => (await import("./service.ts")).service,
  },
  version: {
    ...{ use: "", about: "print the version", most: 0 },
    load: async () => (await import("./daemon.ts")).printVersion,
  },
  __complete: {
    ...{ use: "WORD …", about: "what may stand in the place of the last word", hidden: true },
    load: async () => (await import("./completion.ts")).complete,
  },
};
