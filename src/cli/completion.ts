/** `portico completion`: scripts that let a shell complete commands and options. */
import { Argument, type Command } from "commander";
import { examples, newCommand } from "./command.js";
import type { Io } from "./io.js";

const SCRIPTS = { bash, zsh, fish };

export function completion(io: Io, program: Command): Command {
  const command = newCommand("completion", "print a script by which a shell completes");
  command.addArgument(new Argument("<shell>").choices(Object.keys(SCRIPTS)));
  examples(
    command,
    "source <(portico completion bash)            in ~/.bashrc",
    "source <(portico completion zsh)             in ~/.zshrc",
    "portico completion fish | source             in ~/.config/fish/config.fish",
  );
  return command.action((shell: keyof typeof SCRIPTS) => void io.stdout.write(SCRIPTS[shell](wordsOf(program))));
}

/** What may follow each command, by the words that lead to it: "" is portico itself. */
type Words = ReadonlyMap<string, readonly string[]>;

function wordsOf(program: Command): Words {
  const words = new Map<string, string[]>();
  const visit = (command: Command, at: string) => {
    const names = command.commands.map((sub) => sub.name());
    const options = command.options.map((option) => option.long ?? "").filter((long) => long !== "");
    const choices = command.registeredArguments.flatMap((argument) => argument.argChoices ?? []);
    words.set(at, [...names, ...choices, ...options, "--help"]);
    for (const sub of command.commands) visit(sub, `${at} ${sub.name()}`.trim());
  };
  visit(program, "");
  return words;
}

/** The words typed so far, as far as they lead to a command, choose the case. Works in bash 3.2, which macOS has. */
function bash(words: Words): string {
  return `_portico() {
  local current="\${COMP_WORDS[COMP_CWORD]}" at="" word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "\${at:+$at }$word" in
      ${known(words).map(quote).join("|")}) at="\${at:+$at }$word" ;;
    esac
  done
  case "$at" in
${cases(words, (list) => `COMPREPLY=($(compgen -W ${quote(list.join(" "))} -- "$current"))`)}
  esac
}
complete -o default -F _portico portico
`;
}

function zsh(words: Words): string {
  return `#compdef portico
_portico() {
  local at="" word
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "\${at:+$at }$word" in
      ${known(words).map(quote).join("|")}) at="\${at:+$at }$word" ;;
    esac
  done
  case "$at" in
${cases(words, (list) => `compadd -- ${list.map(quote).join(" ")}`)}
  esac
}
compdef _portico portico
`;
}

function fish(words: Words): string {
  const lines = [...words].map(([at, list]) => {
    const condition = `test (__portico_path) = ${quote(at)}`;
    return `complete -c portico -f -n ${quote(condition)} -a ${quote(list.join(" "))}`;
  });
  return `function __portico_path
  set -l at ""
  for word in (commandline -opc)[2..-1]
    switch (string trim "$at $word")
      case ${known(words).map(quote).join(" ")}
        set at (string trim "$at $word")
    end
  end
  echo $at
end
${lines.join("\n")}
`;
}

function known(words: Words): string[] {
  return [...words.keys()].filter((at) => at !== "");
}

function cases(words: Words, action: (list: readonly string[]) => string): string {
  return [...words].map(([at, list]) => `    ${quote(at)}) ${action(list)} ;;`).join("\n");
}

/** Our own names have no quote; a shell takes all else between single quotes as it is. */
function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
