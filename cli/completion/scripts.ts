/**
 * `portico completion`: scripts for completion in a shell. They run `portico __complete` to get the
 * candidates, so they stay correct when the program is updated.
 */
import { Argument, type Command } from "commander";
import { examples, newCommand } from "../terminal/command.js";
import type { Io } from "../terminal/io.js";

const SCRIPTS = { bash: bash(), zsh: zsh(), fish: fish() };

export function completion(io: Io): Command {
  const command = newCommand("completion", "print a script by which a shell completes");
  command.addArgument(new Argument("<shell>").choices(Object.keys(SCRIPTS)));
  examples(
    command,
    "source <(portico completion bash)            in ~/.bashrc",
    "source <(portico completion zsh)             in ~/.zshrc, after compinit",
    "portico completion fish | source             in ~/.config/fish/config.fish",
  );
  return command.action((shell: keyof typeof SCRIPTS) => void io.stdout.write(SCRIPTS[shell]));
}

/**
 * Works in bash 3.2, the version of macOS. bash itself adds no space: `__complete` prints it when
 * one must follow.
 */
function bash(): string {
  return `_portico() {
  local candidate
  COMPREPLY=()
  while IFS= read -r candidate; do
    COMPREPLY+=("$candidate")
  done < <("\${COMP_WORDS[0]}" __complete bash "\${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" 2>/dev/null)
}
complete -o default -o nospace -F _portico portico
`;
}

/** Runs compinit if it has not run yet: without it, zsh has no compdef. */
function zsh(): string {
  return `#compdef portico
_portico() {
  local end text words_after
  local -a closed closed_shown open open_shown
  while IFS=$'\\t' read -r end text words_after; do
    if [[ $end == open ]]; then
      open+=("$text")
      open_shown+=("$text\${words_after:+  -- $words_after}")
    else
      closed+=("$text")
      closed_shown+=("$text\${words_after:+  -- $words_after}")
    fi
  done < <("\${words[1]}" __complete zsh "\${(@Q)words[2,CURRENT-1]}" "\${(Q)PREFIX}" 2>/dev/null)
  (( \${#closed} )) && compadd -l -d closed_shown -a closed
  (( \${#open} )) && compadd -l -S '' -d open_shown -a open
  (( \${#closed} + \${#open} )) || { (( $+functions[_files] )) && _files }
}
if (( ! $+functions[compdef] )); then
  autoload -Uz compinit && compinit -i
fi
if [[ \${funcstack[1]} == _portico ]]; then
  _portico "$@"
else
  compdef _portico portico
fi
`;
}

function fish(): string {
  return `function __portico_complete
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  $words[1] __complete fish $words[2..] "$current" 2>/dev/null
end
complete -c portico -f -a '(__portico_complete)'
`;
}
