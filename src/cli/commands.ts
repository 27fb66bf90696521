/** The table of commands, in the groups of the help. The module of a command is loaded when it runs. */
import type { Context, Option } from "./context.ts";

/** Runs a command and gives its exit status; nothing means 0. */
export type Run = (context: Context) => Promise<number> | Promise<void>;

export interface Command {
  /** Its words and its own options, as the help shows them. */
  readonly use: string;
  readonly about: string;
  readonly options?: Readonly<Record<string, Option>>;
  /** How many words it takes at most; 0 by default. */
  readonly maxWords?: number;
  readonly examples?: readonly string[];
  /** What completes its words: a kind of thing to look up, or the possible first words. */
  readonly completes?: Completed | readonly string[];
  /** What other tools call it, for "did you mean". */
  readonly synonyms?: readonly string[];
  /** A word such as `-5` is a number, not an option. */
  readonly takesNumbers?: boolean;
  /** Called by programs: not listed, not suggested, and its words are not parsed. */
  readonly hidden?: boolean;
  load(): Promise<Run>;
}

/** What the words of a command name. The first group completes the first word only. */
export type Completed =
  | ("device" | "app" | "input" | "channel" | "key" | "scene" | "file")
  | ("devices" | "part" | "label" | "keys" | "config" | "mcp");

const value = (value: string, about: string): Option => ({ type: "string", value, about });
const flag = (about: string): Option => ({ type: "boolean", about });
/** The command checks its words itself. */
const anyNumber = Number.POSITIVE_INFINITY;

export const timeout = { timeout: value("TIME", "stop waiting after this time, such as 30s, 500ms or 2m") };

const output: Readonly<Record<string, Option>> = {
  output: { type: "string", short: "o", value: "FILE", about: "the file for the picture; - is stdout" },
};

const leasing: Readonly<Record<string, Option>> = {
  wait: value("TIME", "how long to wait while somebody else has it (default: fail at once)"),
  owner: value("NAME", "the holder's name, shown to others (default: you, and this machine)"),
  note: value("TEXT", "what the lease is for, shown to others"),
};

/** Modules that are loaded when one of their commands is asked for. */
const serve = () => import("./serve.ts");
const demo = () => import("./demo.ts");
const daemon = () => import("./daemon.ts");
const devices = () => import("./devices.ts");
const pair = () => import("./pair.ts");
const keys = () => import("./keys.ts");
const apps = () => import("./apps.ts");
const controls = () => import("./controls.ts");
const scenes = () => import("./scenes.ts");
const play = () => import("./play.ts");
const install = () => import("./install.ts");
const logs = () => import("./logs.ts");
const config = () => import("./config.ts");
const completion = () => import("./completion.ts");
const watch = () => import("./watch.ts");
const remote = () => import("./remote/session.ts");
const doctor = () => import("./doctor.ts");
const opening = () => import("./open.ts");
const service = () => import("./service.ts");
const mcp = () => import("./mcp.ts");
const leases = () => import("./lease.ts");
const withLease = () => import("./with-lease.ts");
const fleet = () => import("./fleet.ts");

function from<Name extends string>(module: () => Promise<Readonly<Record<Name, Run>>>, name: Name): Command["load"] {
  return async () => (await module())[name];
}

function command(
  use: string,
  about: string,
  load: Command["load"],
  more: Omit<Command, "use" | "about" | "load"> = {},
): Command {
  return { use, about, load, ...more };
}

/** A command that waits for a device, for as long as `--timeout` says. */
const waiting: typeof command = (use, about, load, more = {}) =>
  command(use, about, load, { ...more, options: { ...more.options, ...timeout } });

/** The commands by the titles under which the help lists them. */
export const groups: Readonly<Record<string, Readonly<Record<string, Command>>>> = {
  "The remote": {
    key: waiting("KEY", "press a key", from(keys, "key"), {
      maxWords: anyNumber,
      completes: "key",
      synonyms: ["press", "send"],
      examples: ["zapd key home", "zapd key volume-up -d Bedroom"],
    }),
    keys: waiting("KEY … [--delay MS]", "press keys one after another", from(keys, "keys"), {
      maxWords: anyNumber,
      completes: "keys",
      options: { delay: value("MS", "milliseconds between two keys (default: 200)") },
      examples: ["zapd keys down down select --delay 150"],
    }),
    text: waiting("TEXT", "type text into the focused field", from(keys, "text"), {
      maxWords: anyNumber,
      synonyms: ["type"],
      examples: ["zapd text Amélie"],
    }),
    launch: waiting("APP [KEY=VALUE …]", "launch an app, by name or id, with a deep link", from(apps, "launch"), {
      maxWords: anyNumber,
      completes: "app",
      synonyms: ["open"],
      examples: [
        "zapd launch netflix",
        'zapd launch "Prime Video" -d Bedroom',
        "zapd launch youtube content_id=dQw4w9WgXcQ",
      ],
    }),
    stop: waiting("", "leave the app that is shown", from(apps, "stop")),
    hold: waiting("KEY [TIME]", "hold a key for a second, or for TIME (10s at most)", from(controls, "hold"), {
      completes: "key",
      maxWords: 2,
      examples: ["zapd hold down 3s"],
    }),
    volume: waiting("LEVEL | +STEP | -STEP", "set the volume, or change it by a step", from(controls, "volume"), {
      maxWords: 1,
      takesNumbers: true,
      examples: ["zapd volume 20", "zapd volume -5 -d Bedroom"],
    }),
    mute: waiting("[on | off]", "mute or unmute; without a word press the mute key", from(controls, "mute"), {
      maxWords: 1,
      completes: ["on", "off"],
      synonyms: ["volume-mute"],
    }),
    play: waiting(
      "[URL | FILE]",
      "play a URL, or a file from this machine; without one press play",
      from(play, "play"),
      {
        maxWords: 1,
        completes: "file",
        options: { type: value("TYPE", "its media type, such as video/mp4 (default: by the file extension)") },
        examples: [
          "zapd play http://192.168.1.5/film.mp4",
          "zapd play holiday.mp4 -d Cinema            (served from here until it ends; Ctrl-C stops it on the device)",
        ],
      },
    ),
    seek: waiting("TIME", "go to a position in what is playing", from(controls, "seek"), {
      maxWords: 1,
      examples: ["zapd seek 12:30"],
    }),
    inputs: waiting("", "list the inputs of a device", from(controls, "inputs")),
    input: waiting("INPUT", "show an input, by its name or id", from(controls, "input"), {
      completes: "input",
      maxWords: anyNumber,
    }),
    channels: waiting("", "list the channels of a device", from(controls, "channels")),
    channel: waiting("CHANNEL", "tune to a channel, by its number, name or id", from(controls, "channel"), {
      completes: "channel",
      maxWords: anyNumber,
    }),
    notify: waiting("MESSAGE", "show a message on the screen", from(controls, "notify"), {
      maxWords: anyNumber,
    }),
    icon: waiting("APP -o FILE", "save the icon of an app to a file", from(controls, "icon"), {
      completes: "app",
      maxWords: 1,
      options: output,
    }),
    run: waiting(
      "SCENE | FILE | - [--dry-run]",
      "run a scene, and print each step as it happens",
      from(scenes, "run"),
      {
        maxWords: 1,
        completes: "scene",
        synonyms: ["scene", "macro"],
        options: { "dry-run": flag("only check it") },
        examples: ["zapd run movie-night", "zapd run goodnight -d label:bar --dry-run"],
      },
    ),
    scenes: command("", "list the scenes beside the config, each checked", from(scenes, "scenes")),
    state: waiting("[NAME]", "show what a device is doing", from(devices, "state"), {
      completes: "device",
      maxWords: 1,
    }),
    watch: command("[NAME …] [--types TYPE,…]", "print events, one per line, until Ctrl-C", from(watch, "watch"), {
      completes: "devices",
      maxWords: anyNumber,
      synonyms: ["events", "follow"],
      options: { types: value("TYPES", "only events of these types, such as state.changed,device.*") },
      examples: ["zapd watch", "zapd watch Den --json | jq .state.app"],
    }),
    wait: waiting("WHAT …", "wait for a state: exit 0 when it holds, 124 when the time is over", from(watch, "wait"), {
      maxWords: anyNumber,
      examples: [
        "zapd wait power:on -d Kitchen --timeout 30s",
        "zapd launch netflix && zapd wait app:netflix playback:playing",
      ],
    }),
    remote: command("[NAME]", "a full-screen remote with live state", from(remote, "remote"), {
      completes: "device",
      maxWords: 1,
      examples: ["zapd remote", "zapd remote Kitchen"],
    }),
  },
  Devices: {
    devices: command("", "list all known devices", from(devices, "devices"), { synonyms: ["list", "ls"] }),
    discover: waiting("", "search for devices now", from(devices, "discover"), {
      synonyms: ["scan", "find"],
    }),
    device: command("[NAME]", "show one device in full", from(devices, "device"), { completes: "device", maxWords: 1 }),
    add: waiting("HOST[:PORT] [--name NAME] [--platform NAME]", "add a device by its address", from(devices, "add"), {
      maxWords: 1,
      options: {
        name: value("NAME", "its name in zapd (default: its own)"),
        platform: value("NAME", "its platform (default: try all)"),
      },
      examples: ["zapd add 192.168.1.40", 'zapd add 192.168.1.40 --name "Living Room"'],
    }),
    pair: waiting(
      "[NAME] [--host HOST[:PORT]] [--pin PIN | --user NAME --password - | --cancel] [--platform NAME]",
      "pair with a device",
      from(pair, "pair"),
      {
        completes: "device",
        maxWords: 1,
        options: {
          host: value("HOST[:PORT]", "its address now; it is paired again there"),
          pin: value("PIN", "the code that the device shows"),
          platform: value("NAME", "which of its platforms (default: the one that needs pairing)"),
          user: value("NAME", "the user name set on it; zapd asks for the password without showing it"),
          password: value("-", "read the password from the terminal, without showing it, or from a pipe"),
          cancel: flag("cancel the running pairing"),
        },
        examples: ["zapd pair Bedroom", "zapd pair Cinema --user me", "zapd pair Bedroom --host 192.168.1.50"],
      },
    ),
    trust: command("NAME", "confirm that a device that has moved is the one it claims to be", from(devices, "trust"), {
      completes: "device",
      maxWords: 1,
    }),
    join: command("NAME WITH", "make one device of two, with the platforms of both", from(devices, "join"), {
      completes: "devices",
      maxWords: 2,
      examples: ['zapd join "Living Room" "Media Box"'],
    }),
    split: command("NAME PLATFORM", "make a separate device of one platform of a device", from(devices, "split"), {
      completes: "part",
      maxWords: 2,
      examples: ['zapd split "Living Room" dlna'],
    }),
    label: command(
      "NAME add | remove LABEL …",
      "label a device, so that it belongs to a group",
      from(controls, "label"),
      {
        completes: "label",
        maxWords: anyNumber,
        examples: ["zapd label Den add bar && zapd off -d label:bar", "zapd off -d all"],
      },
    ),
    rename: command("OLD NEW", "rename a device", from(devices, "rename"), {
      completes: "device",
      maxWords: 2,
      examples: ['zapd rename "Living Room" Den'],
    }),
    forget: command("NAME | --unused", "remove a device", from(devices, "forget"), {
      completes: "device",
      synonyms: ["remove", "delete", "rm"],
      maxWords: 1,
      options: { unused: flag("all devices that were found but never used") },
    }),
    default: command("[NAME]", "show or set the default device", from(devices, "defaultDevice"), {
      completes: "device",
      synonyms: ["use"],
      maxWords: 1,
    }),
    apps: waiting("[--all]", "list the apps of a device", from(apps, "apps"), {
      options: { all: flag("include apps that are no longer installed") },
    }),
    refresh: waiting("[--clear]", "read the list of apps again", from(apps, "refresh"), {
      options: { clear: flag("first delete all that is cached for the device's platform") },
    }),
  },
  "For developers": {
    install: waiting("PATH [KEY=VALUE …]", "sideload a package: a ZIP file or a folder", from(install, "install"), {
      completes: "file",
      synonyms: ["sideload"],
      maxWords: anyNumber,
      options: {
        password: value(
          "-",
          "read the password of this device without showing it; dev.vendor_password is for all others",
        ),
      },
      examples: [
        "zapd install ./my-app -d Workbench && zapd logs --follow -d Workbench",
        "zapd install ./my-app content_id=42        (started with a deep link)",
      ],
    }),
    reload: waiting(
      "[KEY=VALUE …]",
      "restart the sideloaded package, optionally with a deep link",
      from(logs, "reload"),
      {
        maxWords: anyNumber,
      },
    ),
    logs: command("[--follow]", "show the developer log of a device", from(logs, "logs"), {
      synonyms: ["log"],
      options: { follow: { type: "boolean", short: "f", about: "follow the log until Ctrl-C" } },
    }),
    screenshot: waiting("-o FILE", "save a picture of the device's screen to a file", from(controls, "screenshot"), {
      options: output,
    }),
    lease: command(
      "[take | renew | free | break | list]",
      "reserve a device: others can only read it until you free it",
      from(leases, "lease"),
      {
        completes: ["take", "renew", "free", "break", "list"],
        maxWords: 1,
        synonyms: ["lock", "reserve", "leases"],
        options: { ttl: value("TIME", "how long the lease lasts, an hour at most (default: 10m)"), ...leasing },
        examples: [
          "export ZAPD_LEASE=$(zapd lease -d Workbench --ttl 30m)      (commands carry the token)",
          "zapd lease free -d Workbench",
          "zapd lease break -d Workbench               (takes it from its holder)",
          "zapd lease list",
        ],
      },
    ),
    "with-lease": command(
      "-- PROGRAM [WORD …]",
      "run a program with a reserved device, such as the first free one of -d label:lab",
      from(withLease, "withLease"),
      {
        completes: "file",
        maxWords: anyNumber,
        options: {
          ttl: value("TIME", "how long the lease outlives this command if it is killed (default: 60s)"),
          ...leasing,
        },
        examples: [
          "zapd with-lease -d label:lab -- npm test    (the program gets $ZAPD_DEVICE and $ZAPD_LEASE, which zapd uses, too)",
          "zapd with-lease -d Workbench --wait 10m -- ./smoke.sh",
        ],
      },
    ),
    fleet: command(
      "ls | state | key KEY | run WORDS | install URL [KEY=VALUE …]",
      "list and command the devices of many sites over one MQTT broker",
      from(fleet, "fleet"),
      {
        completes: ["ls", "state", "key", "run", "install"],
        maxWords: anyNumber,
        takesNumbers: true,
        synonyms: ["sites", "mqtt"],
        options: {
          label: value("LABEL,…", "devices with all of these labels, their own or their site's"),
          site: value("SITE", "devices of this site"),
          file: value("FILE", "install: a copy of the package at the address, to give its size and SHA-256"),
          sha256: value("HEX", "install: its SHA-256, without a copy of the file"),
          bytes: value("COUNT", "install: its size in bytes"),
          ...timeout,
          broker: value("URL", "the broker (default: mqtt.url of the config, likewise the following)"),
          username: value("NAME", "the user name at the broker"),
          "password-file": value("FILE", "the file with the password, mode 0600 (or $ZAPD_MQTT_PASSWORD)"),
          ca: value("FILE", "the CA that signed the broker's certificate, PEM"),
          cert: value("FILE", "the client certificate, PEM"),
          key: value("FILE", "the key of the client certificate, PEM, mode 0600"),
          prefix: value("WORD", "the start of every topic"),
        },
        examples: [
          "zapd fleet ls",
          "zapd fleet key home --label lobby",
          "zapd fleet run launch netflix --label room=lab2,player --timeout 20s",
          "zapd fleet run volume 15 --site lab2",
          "zapd fleet run scene goodnight --label room=lab2",
          "zapd fleet install https://ci.example.org/app.zip --file ./app.zip --label lab",
        ],
      },
    ),
    openapi: command("", "print the API as an OpenAPI 3.1 document", from(daemon, "openapi")),
  },
  "The daemon": {
    serve: command("[--config FILE]", "run the daemon in the foreground", from(serve, "serve"), {
      synonyms: ["start", "daemon"],
      options: { "no-page": flag("do not serve the page, whatever daemon.page says") },
    }),
    demo: command(
      "[--port PORT]",
      "run a daemon with simulated devices; nothing leaves this machine",
      from(demo, "demo"),
      {
        options: {
          port: value("PORT", "the port of its API (default: 7272)"),
          "no-page": flag("do not serve the page, only the API"),
        },
      },
    ),
    open: command("", "open the page in your browser; with -d, the remote of that device", from(opening, "open"), {
      options: { docs: flag("open the documentation of the API instead") },
      examples: ["zapd open", "zapd open -d Kitchen", "zapd open --docs"],
    }),
    status: command("", "show what the daemon is doing, and where", from(daemon, "status")),
    doctor: command("", "find out what is wrong, and what to do about it", from(doctor, "doctor")),
    config: command(
      "get [KEY] | set KEY VALUE … | unset KEY … | reload | path | edit",
      "read and change the config; comments and formatting stay",
      from(config, "config"),
      {
        maxWords: anyNumber,
        completes: "config",
        examples: [
          "zapd config get daemon.http_port",
          'zapd config set daemon.default_device "Living Room" discovery.interval_s 60',
          "zapd config set dev.vendor_password -        (reads the value without showing it, or from a pipe)",
          "zapd config unset discovery.hosts",
          "zapd config edit                            (opens $VISUAL or $EDITOR, then reloads the config)",
        ],
      },
    ),
    mcp: command(
      "[add claude | cursor | vscode] | [token [--new]]",
      "tools for agents over stdin and stdout; or add them to a client",
      from(mcp, "mcp"),
      {
        completes: "mcp",
        synonyms: ["agent", "claude", "cursor"],
        maxWords: anyNumber,
        options: { new: flag("create another token for `/mcp`; the previous one becomes invalid") },
        examples: [
          "zapd mcp add claude                         (adds its own entry to the client's config, and nothing else)",
          "zapd config set mcp.http true && zapd mcp token        (for clients that call http://127.0.0.1:7272/mcp)",
        ],
      },
    ),
    service: command(
      "install | uninstall | status [--print]",
      "keep the daemon running from login on",
      from(service, "service"),
      {
        completes: ["install", "uninstall", "status"],
        maxWords: 1,
        options: { print: flag("only show what would be installed") },
      },
    ),
    completion: command(
      "bash | zsh | fish",
      "completion for a shell, with live device and app names",
      from(completion, "completion"),
      {
        completes: ["bash", "zsh", "fish"],
        maxWords: 1,
        examples: ["source <(zapd completion bash)", "source <(zapd completion zsh)", "zapd completion fish | source"],
      },
    ),
    version: command("", "print the version", from(daemon, "printVersion")),
  },
};

export const commands: Readonly<Record<string, Command>> = {
  ...Object.assign({}, ...Object.values(groups)),
  __complete: command("WORD …", "the possible values of the last word", from(completion, "complete"), {
    maxWords: anyNumber,
    hidden: true,
  }),
};
