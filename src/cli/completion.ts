/** `zapd __complete`: candidates for the last word. Asks the daemon; gives none when it does not answer within a second. */
import { parseArgs } from "node:util";
import { allWord, isOfGroup, labelPrefix } from "../api/routes.ts";
import type { Device } from "../api/schemas.ts";
import { keys } from "../platforms/platform.ts";
import { printable } from "../system/printable.ts";
import { call } from "./client.ts";
import { split } from "./command.ts";
import { type Command, type Completed, commands } from "./commands.ts";
import { readSettings, verbs } from "./config.ts";
import { Context, common, type Option } from "./context.ts";
import { keyCommand, keyCommands } from "./key-commands.ts";
import { findVerb } from "./words.ts";

interface Candidate {
  readonly word: string;
  readonly about?: string;
  /** Another word for the same, such as an id; offered only to those who have begun to type it. */
  readonly also?: string;
}

type Source = (request: CompletionRequest) => Promise<readonly Candidate[]> | readonly Candidate[];

interface CompletionRequest {
  readonly context: Context;
  readonly signal: AbortSignal;
  /** The complete words behind the command, without options. */
  readonly before: readonly string[];
  readonly command: string;
  /** How many words the command takes. */
  readonly maxWords: number;
}

/** How long a person waits after Tab. */
const timeoutMs = 1_000;
/** The candidate that makes the shell's script complete files. */
const filesWord = ":files";

const plain = (words: readonly string[]): Candidate[] => words.map((word) => ({ word }));
/** Completes the first word only. */
const first =
  (source: Source): Source =>
  (request) =>
    request.before.length === 0 ? source(request) : [];

const deviceList = async ({ context, signal }: CompletionRequest) =>
  (await call(context, "listDevices", { signal }, { quiet: true })).data;
const nameOf = ({ name, model, platform }: Device): Candidate => ({ word: name, about: model ?? platform });
const devices: Source = async (request) => (await deviceList(request)).map(nameOf);

/** The platforms of the device that is the first word. */
const platformsOf: Source = async ({ context, signal, before }) => {
  const [id, ...more] = before;
  if (id === undefined || more.length > 0) return [];
  return plain((await call(context, "getDevice", { id, signal }, { quiet: true })).data.platforms);
};

const apps: Source = async ({ context, signal }) => {
  const { data } = await call(context, "listApps", { id: context.device, signal }, { quiet: true });
  return data.apps.filter((app) => app.installed).map(({ name, id }) => ({ word: name, about: id, also: id }));
};

const inputs: Source = async ({ context, signal }) => {
  const { data } = await call(context, "listInputs", { id: context.device, signal }, { quiet: true });
  return data.inputs.map(({ id, name }) => ({ word: name, about: id, also: id }));
};

const channels: Source = async ({ context, signal }) => {
  const { data } = await call(context, "listChannels", { id: context.device, signal }, { quiet: true });
  return data.channels.map(({ number, name }) => ({
    word: name,
    ...(number !== null && { about: number, also: number }),
  }));
};

/** Commands that can go to a group of devices; so can the keys. */
const forGroups: readonly string[] = [
  ...(["key", "keys", "text", "hold", "launch", "stop"] as const),
  ...(["volume", "mute", "play", "seek", "notify", "run", "lease", "with-lease"] as const),
];

/** Devices, and groups of devices where the command takes them. */
const devicesAndGroups: Source = async (request) => {
  const all = await deviceList(request);
  const names = all.map(nameOf);
  if (!forGroups.includes(request.command) && !keyCommand(request.command)) return names;
  const groups = [
    ...labelsOf(all)
      .sort()
      .map((label) => labelPrefix + label),
    allWord,
  ];
  const sizeOf = (group: string) => all.filter(({ labels }) => isOfGroup(labels, group)).length;
  const about = (count: number) => (count === 1 ? "one device" : `${count} devices`);
  return [...names, ...groups.map((word) => ({ word, about: about(sizeOf(word)) }))];
};

function labelsOf(all: readonly Device[]): string[] {
  return [...new Set(all.flatMap(({ labels = [] }) => labels))];
}

/** A device, then `add` or `remove`, then labels: any that exist to add, its own to remove. */
const labels: Source = async (request) => {
  const { before, context, signal } = request;
  const [id, verb] = before;
  if (id === undefined) return devices(request);
  if (verb === undefined) return plain(["add", "remove"]);
  const all = await deviceList(request);
  const { labels: ownLabels = [] } = (await call(context, "getDevice", { id, signal }, { quiet: true })).data;
  const offered = verb === "add" ? labelsOf(all).filter((label) => !ownLabels.includes(label)) : ownLabels;
  return plain(offered.filter((label) => !before.slice(2).includes(label)).sort());
};

/** A verb, then settings; behind `set` each with its value. */
const config: Source = async (request) => {
  const [verb, ...given] = request.before;
  if (verb === undefined) return plain(Object.keys(verbs));
  const { settings } = await readSettings(request.context, request.signal);
  const keys = [...settings].map(([word, value]) => ({ word, about: JSON.stringify(value) }));
  if (verb === "unset" || (verb === "get" && given.length === 0)) return keys;
  if (verb !== "set") return [];
  if (given.length % 2 === 0) return keys;
  const key = given.at(-1) ?? "";
  if (key === "daemon.default_device") return devices(request);
  return typeof settings.get(key) === "boolean" ? plain(["true", "false"]) : [];
};

const mcp: Source = async ({ before }) => {
  const [verb, ...given] = before;
  if (verb === undefined) return plain(["add", "token"]);
  if (verb !== "add" || given.length > 0) return [];
  return plain((await import("../mcp/clients.ts")).clientNames);
};

const scenes: Source = async ({ context, signal }) => {
  const { data } = await call(context, "listScenes", { signal }, { quiet: true });
  const runnable = data.scenes.filter(({ steps }) => steps !== null);
  return runnable.map(({ name, about, ok }) => ({ word: name, about: ok ? (about ?? "") : "has mistakes" }));
};

const commandWords = () => [
  ...Object.entries(commands).flatMap(([word, { about, hidden }]) => (hidden ? [] : [{ word, about }])),
  { word: "help", about: "how it is used" },
  // Last, because there are many.
  ...Object.entries(keyCommands).map(([word, { about }]) => ({ word, about })),
];

const files = () => plain([filesWord]);

const sources: Readonly<Record<Completed, Source>> = {
  device: first(devices),
  devices: (request) => (request.before.length < request.maxWords ? devices(request) : []),
  part: (request) => (request.before.length === 0 ? devices(request) : platformsOf(request)),
  app: first(apps),
  input: first(inputs),
  channel: first(channels),
  scene: first(scenes),
  label: labels,
  key: first(() => plain(keys)),
  keys: () => plain(keys),
  config,
  mcp,
  file: first(files),
};

/** What completes the words of a command. */
function sourceFor({ completes = [] }: Command): Source {
  return typeof completes === "string" ? sources[completes] : first(() => plain(completes));
}

const helpTopics = first(() => [...commandWords(), { word: "exit", about: "the exit statuses" }]);

/** What completes the value of an option. */
const optionSources: Readonly<Record<string, Source>> = {
  device: devicesAndGroups,
  socket: files,
  config: files,
  output: files,
  file: files,
  ca: files,
  cert: files,
  key: files,
  "password-file": files,
};

export async function complete(context: Context): Promise<void> {
  const line = context.words.slice(0, -1);
  // Some shells give `--device=Den` as one word, others as three.
  const [, option, value] = /^(--[\w-]+=)(.*)$/s.exec(context.words.at(-1) ?? "") ?? [];
  const current = value ?? context.words.at(-1) ?? "";
  const prefix = option ?? "";
  const found = await candidates(option ? [...line, option.slice(0, -1)] : line, current).catch(() => []);
  if (found[0]?.word === filesWord) return context.print(filesWord);
  const lower = current.toLowerCase();
  const fitting = found.filter(({ word }) => word.toLowerCase().startsWith(lower));
  const others = found.flatMap(({ word, also }) =>
    also?.toLowerCase().startsWith(lower) ? [{ word: also, about: word }] : [],
  );
  const lines = (fitting.length > 0 ? fitting : others)
    .filter(({ word }) => word === printable(word))
    .map(({ word, about }) => (about ? `${prefix}${word}\t${printable(about)}` : prefix + word));
  if (lines.length > 0) context.print(lines.join("\n"));
}

async function candidates(line: readonly string[], current: string): Promise<readonly Candidate[]> {
  const { word: name, words: given } = await split(line.filter((word) => word !== "="));
  const command = Object.hasOwn(commands, name) ? commands[name] : keyCommand(name);
  const other = name === "" ? commandWords : name === "help" ? helpTopics : undefined;
  const options: Record<string, Option> = { ...command?.options, ...common };
  const { before, openOption, values } = readWords(given, options);
  if (openOption === undefined && current.startsWith("-") && !given.includes("--"))
    return Object.entries(options).map(([word, { about }]) => ({ word: `--${word}`, ...(about && { about }) }));
  const source = openOption !== undefined ? optionSources[openOption] : command ? sourceFor(command) : other;
  const context = new Context({ values, positionals: [] });
  const signal = AbortSignal.timeout(timeoutMs);
  return (await source?.({ context, signal, before, command: name, maxWords: command?.maxWords ?? 0 })) ?? [];
}

/** The words without options, the option whose value is to be completed, and the options that say which daemon to ask. */
function readWords(given: readonly string[], options: Readonly<Record<string, Option>>) {
  const before: string[] = [];
  const values: Record<string, string> = {};
  let openOption: string | undefined;
  for (const token of parseArgs({ args: [...given], options, strict: false, tokens: true }).tokens) {
    if (token.kind === "positional") before.push(token.value);
    if (token.kind !== "option" || options[token.name]?.type !== "string") continue;
    if (token.value === undefined) openOption = token.name;
    else if (Object.hasOwn(common, token.name)) values[token.name] = token.value;
  }
  return { before, openOption, values };
}

export async function completion(context: Context): Promise<void> {
  const script = findVerb(scripts, context.words[0] ?? "");
  context.print(context.json ? JSON.stringify({ script }) : script);
}

/** Bash passes words as they were typed, with their quotes, and inserts the candidates unchanged: the script unquotes and quotes. */
const bash = `# zapd completion for bash. Load it with: source <(zapd completion bash)
_zapd() {
  local zapd=\${1/#\\~/$HOME} cur=\${COMP_WORDS[COMP_CWORD]} word line quote=
  local -a typed=()
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD}"; do
    case $word in
      \\'*) word=\${word//\\'\\\\\\'\\'/$'\\1'} word=\${word#\\'} word=\${word%\\'} word=\${word//$'\\1'/\\'} ;;
      *)
        word=\${word//\\\\\\\\/$'\\1'} word=\${word//\\\\\\"/$'\\2'}
        [[ $word == \\"* ]] && word=\${word#\\"} word=\${word%\\"}
        word=\${word//\\\\/} word=\${word//$'\\2'/\\"} word=\${word//$'\\1'/\\\\}
        ;;
    esac
    typed+=("$word")
  done
  case $cur in
    # A quote that is closed, and whose last character is not an escaped one, is replaced as a whole.
    \\"*\\\\\\"|\\'*\\\\\\'\\') quote=\${cur:0:1} ;;
    \\"*\\"|\\'*\\') ;;
    \\"*|\\'*) quote=\${cur:0:1} ;;
    =) cur= typed[\${#typed[@]}-1]= ;;
  esac
  # A colon ends a word here: what stands around that of label:NAME is joined.
  local label= at=\${#typed[@]}
  if ((at >= 3)) && [[ \${typed[at-3]}\${typed[at-2]} == label: ]]; then
    label=label: typed=("\${typed[@]:0:at-3}" "label:\${typed[at-1]}")
  elif ((at >= 2)) && [[ \${typed[at-2]}\${typed[at-1]} == label: ]]; then
    label=label: typed=("\${typed[@]:0:at-2}" label:)
  fi
  COMPREPLY=()
  while IFS= read -r line; do
    line=\${line%%$'\\t'*} line=\${line#"$label"}
    if [[ $line == ${filesWord} ]]; then
      compopt -o filenames 2>/dev/null
      while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "\${typed[\${#typed[@]}-1]}")
      return
    fi
    case $quote in
      \\") line=\${line//\\\\/\\\\\\\\} line=\${line//\\"/\\\\\\"} line=\${line//\\$/\\\\$} line=\${line//\\\`/\\\\\\\`} ;;
      \\') line=\${line//\\'/\\'\\\\\\'\\'} ;;
      *) printf -v line %q "$line"; line=\${line//:/\\\\:} line=\${line//=/\\\\=} ;;
    esac
    COMPREPLY+=("$line")
  done < <("$zapd" __complete "\${typed[@]}" 2>/dev/null)
}
complete -F _zapd zapd`;

const zsh = `#compdef zapd
# zapd completion for zsh. Load it with: source <(zapd completion zsh)
_zapd() {
  local line word
  local -a typed found
  typed=("\${(@Q)words[2,CURRENT-1]}" "\${(Q)PREFIX}")
  for line in "\${(@f)$("\${\${(Q)words[1]}/#\\~\\//$HOME/}" __complete "\${typed[@]}" 2>/dev/null)}"; do
    [[ $line == ${filesWord} ]] && { compset -P 1 '--*='; _files; return; }
    [[ -n $line ]] || continue
    word=\${\${line%%$'\\t'*}//\\\\/\\\\\\\\} word=\${word//:/\\\\:}
    [[ $line == *$'\\t'* ]] && word+=:\${line#*$'\\t'}
    found+=("$word")
  done
  (( $#found )) && _describe -V zapd found -M 'm:{[:lower:][:upper:]}={[:upper:][:lower:]}'
}
if [[ $funcstack[1] == _zapd ]]; then
  _zapd "$@"
else
  compdef _zapd zapd
fi`;

const fish = `# zapd completion for fish. Load it with: zapd completion fish | source
function __zapd_complete
    set -l typed (commandline -opc)
    set -l current (commandline -ct | string replace -r '^(--[\\w-]+=|)["\\']' '$1' | string replace -ra '\\\\\\\\(.)' '$1')
    set -l zapd (string replace -r '^~/' ~/ -- $typed[1])
    type -q $zapd; or return
    set -e typed[1]
    set -l found ($zapd __complete $typed "$current" 2>/dev/null)
    if test "$found[1]" = ${filesWord}
        set -l option (commandline -ct | string match -r '^--[\\w-]+=')
        __fish_complete_path (commandline -ct | string replace -r '^--[\\w-]+=' '') | string replace -r -- '^' "$option"
    else
        printf '%s\\n' $found
    end
end
complete -c zapd -f -k -a '(__zapd_complete)'`;

const scripts: Readonly<Record<string, string>> = { bash, zsh, fish };
