/** `zapd completion`: the script of a shell. All of them ask `zapd __complete`, which knows what may stand where. */
import { filesWord } from "./complete.ts";
import type { Context } from "./context.ts";
import { UsageError } from "./failure.ts";

export async function completion(context: Context): Promise<void> {
  const [shell] = context.words;
  if (shell === undefined) throw new UsageError("for which shell?");
  const script = Object.hasOwn(scripts, shell) ? scripts[shell] : undefined;
  if (script === undefined) throw new UsageError(`there is no completion for ${JSON.stringify(shell)}`);
  context.print(context.json ? JSON.stringify({ script }) : script);
}

/** Words reach a bash function as they were typed, quotes and all, and what it gives back is put there as it is. */
const bash = `# zapd completion for bash. Load it with: source <(zapd completion bash)
_zapd() {
  local zapd=\${1/#\\~/$HOME} cur=\${COMP_WORDS[COMP_CWORD]} word line quote=
  local -a typed=()
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD}"; do
    case $word in
      \\"*) word=\${word#\\"} word=\${word%\\"} ;;
      \\'*) word=\${word#\\'} word=\${word%\\'} ;;
      *) word=\${word//\\\\/} ;;
    esac
    typed+=("$word")
  done
  case $cur in
    \\"*|\\'*) quote=\${cur:0:1} ;;
    =) cur= typed[\${#typed[@]}-1]= ;;
  esac
  COMPREPLY=()
  while IFS= read -r line; do
    line=\${line%%$'\\t'*}
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
  local line
  local -a typed found
  typed=("\${(@Q)words[2,CURRENT-1]}" "\${(Q)PREFIX}")
  for line in "\${(@f)$("\${(Q)words[1]}" __complete "\${typed[@]}" 2>/dev/null)}"; do
    [[ $line == ${filesWord} ]] && { _files; return; }
    [[ -n $line ]] || continue
    if [[ $line == *$'\\t'* ]]; then
      found+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
    else
      found+=("\${line//:/\\\\:}")
    fi
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
    set -l current (commandline -ct | string replace -r '^["\\']' '' | string replace -a '\\\\' '')
    set -l zapd $typed[1]
    set -e typed[1]
    set -l found ($zapd __complete $typed "$current" 2>/dev/null)
    if test "$found[1]" = ${filesWord}
        __fish_complete_path (commandline -ct)
    else
        printf '%s\\n' $found
    end
end
complete -c zapd -f -k -a '(__zapd_complete)'`;

const scripts: Readonly<Record<string, string>> = { bash, zsh, fish };
