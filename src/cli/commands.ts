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
  readonly takesNegativeNumbers?: boolean;
  /** Called by programs: not listed, not suggested, and its words are not parsed. */
  readonly hidden?: boolean;
  load(): Promise<Run>;
}

/** What the words of a command name. The first group completes the first word only. */
export type Completed =
  | ("device" | "app" | "input" | "channel" | "key" | "scene" | "file")
  | ("devices" | "part" | "label" | "keys" | "config");

const value = (value: string, about: string): Option => ({ type: "string", value, about });
const flag = (about: string): Option => ({ type: "boolean", about });
/** The command checks its words itself. */
const anyNumber = Number.POSITIVE_INFINITY;

export const timeout = { timeout: value("TIME", "give up after so long, such as 30s, 500ms or 2m") };

const output: Readonly<Record<string, Option>> = {
  output: { type: "string", short: "o", value: "FILE", about: "where the picture goes; - is stdout" },
};

const leasing: Readonly<Record<string, Option>> = {
  wait: value("TIME", "wait in line for so long where somebody else has it (else it fails at once)"),
  owner: value("NAME", "who has it, for others to read (else you, and this machine)"),
  note: value("TEXT", "what for, for others to read"),
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
      options: { delay: value("MS", "milliseconds between two keys (else 200)") },
      examples: ["zapd keys down down select --delay 150"],
    }),
    text: waiting("TEXT", "type text into the field that has the focus", from(keys, "text"), {
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
    hold: waiting("KEY [TIME]", "hold a key, for a second or the time, 10s at most", from(controls, "hold"), {
      completes: "key",
      maxWords: 2,
      examples: ["zapd hold down 3s"],
    }),
    volume: waiting("LEVEL | +STEP | -STEP", "set how loud it is, or step it", from(controls, "volume"), {
      maxWords: 1,
      takesNegativeNumbers: true,
      examples: ["zapd volume 20", "zapd volume -5 -d Bedroom"],
    }),
    mute: waiting("[on | off]", "make it silent or not; without a word, press mute", from(controls, "mute"), {
      maxWords: 1,
      completes: ["on", "off"],
      synonyms: ["volume-mute"],
    }),
    play: waiting(
      "[URL | FILE]",
      "play what is at an address, or a file from here; else press play",
      from(play, "play"),
      {
        maxWords: 1,
        completes: "file",
        options: { type: value("TYPE", "what it is, such as video/mp4 (else told by its ending)") },
        examples: [
          "zapd play http://192.168.1.5/film.mp4",
          "zapd play holiday.mp4 -d Cinema            (served from here until it is over; Ctrl-C stops it on the device)",
        ],
      },
    ),
    seek: waiting("TIME", "go to a place in what plays", from(controls, "seek"), {
      maxWords: 1,
      examples: ["zapd seek 12:30"],
    }),
    inputs: waiting("", "the inputs of a device", from(controls, "inputs")),
    input: waiting("INPUT", "show an input, by its name or id", from(controls, "input"), {
      completes: "input",
      maxWords: anyNumber,
    }),
    channels: waiting("", "the channels of a device", from(controls, "channels")),
    channel: waiting("CHANNEL", "tune to a channel, by its number, name or id", from(controls, "channel"), {
      completes: "channel",
      maxWords: anyNumber,
    }),
    notify: waiting("MESSAGE", "show a message on the screen", from(controls, "notify"), {
      maxWords: anyNumber,
    }),
    icon: waiting("APP -o FILE", "the icon of an app, into a file", from(controls, "icon"), {
      completes: "app",
      maxWords: 1,
      options: output,
    }),
    run: waiting("SCENE | FILE | - [--dry-run]", "run a scene, telling each step as it happens", from(scenes, "run"), {
      maxWords: 1,
      completes: "scene",
      synonyms: ["scene", "macro"],
      options: { "dry-run": flag("check it, and run none of it") },
      examples: ["zapd run movie-night", "zapd run goodnight -d label:bar --dry-run"],
    }),
    scenes: command("", "the scenes beside the config, each checked", from(scenes, "scenes")),
    state: waiting("[NAME]", "what a device is doing", from(devices, "state"), {
      completes: "device",
      maxWords: 1,
    }),
    watch: command("[NAME …] [--types TYPE,…]", "what happens, a line each, until Ctrl-C", from(watch, "watch"), {
      completes: "device",
      maxWords: anyNumber,
      synonyms: ["events", "follow"],
      options: { types: value("TYPES", "only these types, such as state.changed,device.*") },
      examples: ["zapd watch", "zapd watch Den --json | jq .state.app"],
    }),
    wait: waiting("WHAT …", "until it is so: exit 0, or 124 when the time is over", from(watch, "wait"), {
      maxWords: anyNumber,
      examples: [
        "zapd wait power:on -d Kitchen --timeout 30s",
        "zapd launch netflix && zapd wait app:netflix playback:playing",
      ],
    }),
    remote: command("[NAME]", "a remote that fills the terminal, with live state", from(remote, "remote"), {
      completes: "device",
      maxWords: 1,
      examples: ["zapd remote", "zapd remote Kitchen"],
    }),
  },
  Devices: {
    devices: command("", "every known device", from(devices, "devices"), { synonyms: ["list", "ls"] }),
    discover: waiting("", "look for devices now", from(devices, "discover"), {
      synonyms: ["scan", "find"],
    }),
    device: command("[NAME]", "one device, in full", from(devices, "device"), { completes: "device", maxWords: 1 }),
    add: waiting("HOST[:PORT] [--name NAME] [--platform NAME]", "add a device by its address", from(devices, "add"), {
      maxWords: 1,
      options: {
        name: value("NAME", "what to call it (else what it calls itself)"),
        platform: value("NAME", "its platform (else all are tried)"),
      },
      examples: ["zapd add 192.168.1.40", 'zapd add 192.168.1.40 --name "Living Room"'],
    }),
    pair: waiting(
      "[NAME] [--host HOST[:PORT]] [--pin PIN | --user NAME --password - | --cancel] [--platform NAME]",
      "have a device let zapd in",
      from(pair, "pair"),
      {
        completes: "device",
        maxWords: 1,
        options: {
          host: value("HOST[:PORT]", "where it is now; it is paired anew there"),
          pin: value("PIN", "what the device shows"),
          platform: value("NAME", "over which of its platforms (else the one that wants it)"),
          user: value("NAME", "the name that is set on it; the password is read unseen"),
          password: value("-", "reads the password unseen, from the terminal or a pipe"),
          cancel: flag("gives up the pairing that is under way"),
        },
        examples: ["zapd pair Bedroom", "zapd pair Cinema --user me", "zapd pair Bedroom --host 192.168.1.50"],
      },
    ),
    trust: command("NAME", "say that a device which has moved is the one it claims to be", from(devices, "trust"), {
      completes: "device",
      maxWords: 1,
    }),
    join: command("NAME WITH", "say that two devices are one, over the platforms of both", from(devices, "join"), {
      completes: "devices",
      maxWords: 2,
      examples: ['zapd join "Living Room" "Media Box"'],
    }),
    split: command("NAME PLATFORM", "say that a platform of a device is a device of its own", from(devices, "split"), {
      completes: "part",
      maxWords: 2,
      examples: ['zapd split "Living Room" dlna'],
    }),
    label: command(
      "NAME add | remove LABEL …",
      "give a device labels, by which groups are meant",
      from(controls, "label"),
      {
        completes: "label",
        maxWords: anyNumber,
        examples: ["zapd label Den add bar && zapd off -d label:bar", "zapd off -d all"],
      },
    ),
    rename: command("OLD NEW", "give a device another name", from(devices, "rename"), {
      completes: "device",
      maxWords: 2,
      examples: ['zapd rename "Living Room" Den'],
    }),
    forget: command("NAME | --unused", "remove a device", from(devices, "forget"), {
      completes: "device",
      synonyms: ["remove", "delete", "rm"],
      maxWords: 1,
      options: { unused: flag("every device that was found and nobody has used") },
    }),
    default: command("[NAME]", "show or set the default device", from(devices, "defaultDevice"), {
      completes: "device",
      synonyms: ["use"],
      maxWords: 1,
    }),
    apps: waiting("[--all]", "the apps of a device", from(apps, "apps"), {
      options: { all: flag("those too that are no longer installed") },
    }),
    refresh: waiting("[--clear]", "read the list of apps anew", from(apps, "refresh"), {
      options: { clear: flag("first drop all that is cached for the platform of the device") },
    }),
  },
  "For developers": {
    install: waiting(
      "PATH [KEY=VALUE …]",
      "sideload a package: a ZIP, or a folder that is zipped",
      from(install, "install"),
      {
        completes: "file",
        synonyms: ["sideload"],
        maxWords: anyNumber,
        options: {
          password: value("-", "reads the password of this device alone unseen; dev.vendor_password is for all others"),
        },
        examples: [
          "zapd install ./my-app -d Workbench && zapd logs --follow -d Workbench",
          "zapd install ./my-app content_id=42        (started with a deep link)",
        ],
      },
    ),
    reload: waiting("[KEY=VALUE …]", "start the sideloaded package anew, with a deep link", from(logs, "reload"), {
      maxWords: anyNumber,
    }),
    logs: command("[--follow]", "the developer log of a device", from(logs, "logs"), {
      synonyms: ["log"],
      options: { follow: { type: "boolean", short: "f", about: "go on as it grows, until Ctrl-C" } },
    }),
    screenshot: waiting("-o FILE", "what a device shows, into a file", from(controls, "screenshot"), {
      options: output,
    }),
    lease: command(
      "[take | renew | free | break | list]",
      "have a device to yourself: others only read it until you free it",
      from(leases, "lease"),
      {
        completes: ["take", "renew", "free", "break", "list"],
        maxWords: 1,
        synonyms: ["lock", "reserve", "leases"],
        options: { ttl: value("TIME", "it ends by itself after so long, an hour at most (else 10m)"), ...leasing },
        examples: [
          "export ZAPD_LEASE=$(zapd lease -d Workbench --ttl 30m)      (commands carry the token)",
          "zapd lease free -d Workbench",
          "zapd lease break -d Workbench               (takes it away from whoever has it)",
          "zapd lease list",
        ],
      },
    ),
    "with-lease": command(
      "-- PROGRAM [WORD …]",
      "run a program that has a device to itself, the first free one of -d label:lab",
      from(withLease, "withLease"),
      {
        completes: "file",
        maxWords: anyNumber,
        options: {
          ttl: value("TIME", "how long the device is kept when this is killed; it is renewed meanwhile (else 60s)"),
          ...leasing,
        },
        examples: [
          "zapd with-lease -d label:lab -- npm test    (it finds $ZAPD_DEVICE and $ZAPD_LEASE, as zapd itself does)",
          "zapd with-lease -d Workbench --wait 10m -- ./smoke.sh",
        ],
      },
    ),
    fleet: command(
      "ls | state | key KEY | run WORDS | install URL [KEY=VALUE …]",
      "the devices of many sites on one MQTT broker, and a command to all that have a label",
      from(fleet, "fleet"),
      {
        completes: ["ls", "state", "key", "run", "install"],
        maxWords: anyNumber,
        takesNegativeNumbers: true,
        synonyms: ["sites", "mqtt"],
        options: {
          label: value("LABEL,…", "devices that have each of these, or whose site has"),
          site: value("SITE", "devices of this site"),
          file: value("FILE", "install: the package as it is at the address, by which it is known there"),
          sha256: value("HEX", "install: its SHA-256, where there is no such file here"),
          bytes: value("COUNT", "install: how many bytes it has"),
          ...timeout,
          broker: value("URL", "the broker (else mqtt.url of the config, as all that follows)"),
          username: value("NAME", "the name that the broker knows us by"),
          "password-file": value("FILE", "holds its password, 0600 (or $ZAPD_MQTT_PASSWORD)"),
          ca: value("FILE", "who signed the broker's certificate, PEM"),
          cert: value("FILE", "our own certificate, PEM"),
          key: value("FILE", "its key, PEM, 0600"),
          prefix: value("WORD", "what every topic begins with"),
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
    openapi: command("", "the API as an OpenAPI 3.1 document", from(daemon, "openapi")),
  },
  "The daemon": {
    serve: command("[--config FILE]", "run the daemon in the foreground", from(serve, "serve"), {
      synonyms: ["start", "daemon"],
      options: { "no-page": flag("serve no page, whatever daemon.page says") },
    }),
    demo: command(
      "[--port PORT]",
      "run a daemon with simulated sets; nothing leaves this machine",
      from(demo, "demo"),
      {
        options: {
          port: value("PORT", "the port of its API (else 7272)"),
          "no-page": flag("serve no page, only the API"),
        },
      },
    ),
    open: command("", "the page in your browser, with -d the remote of that device", from(opening, "open"), {
      options: { docs: flag("the documentation of the API in its place") },
      examples: ["zapd open", "zapd open -d Kitchen", "zapd open --docs"],
    }),
    status: command("", "what the daemon is doing, and where", from(daemon, "status")),
    doctor: command("", "look for what is in the way, and say what to do", from(doctor, "doctor")),
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
          "zapd config set dev.vendor_password -        (reads the value, unseen, from the terminal or a pipe)",
          "zapd config unset discovery.hosts",
          "zapd config edit                            (opens $VISUAL or $EDITOR, and has the daemon read it)",
        ],
      },
    ),
    mcp: command(
      "[add claude | cursor | vscode] | [token [--new]]",
      "the tools of agents, over stdin and stdout; or tell a client of them",
      from(mcp, "mcp"),
      {
        completes: ["add", "token"],
        synonyms: ["agent", "claude", "cursor"],
        maxWords: anyNumber,
        options: { new: flag("makes another token for `/mcp`: the one before lets nobody in any more") },
        examples: [
          "zapd mcp add claude                         (adds its own entry to the client's config, and nothing else)",
          "zapd config set mcp.http true && zapd mcp token        (for clients that call http://127.0.0.1:7272/mcp)",
        ],
      },
    ),
    service: command(
      "install | uninstall | status [--print]",
      "keep the daemon running, from login on",
      from(service, "service"),
      {
        completes: ["install", "uninstall", "status"],
        maxWords: 1,
        options: { print: flag("show what would be installed, and install nothing") },
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
  __complete: command("WORD …", "what may stand in the place of the last word", from(completion, "complete"), {
    maxWords: anyNumber,
    hidden: true,
  }),
};
