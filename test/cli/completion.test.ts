// The completion scripts, run by the shells they are for. A shell that is not installed is skipped.
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { portico } from "./command-line.js";

/** How each shell is asked what may follow some words, one word a line. */
const shells: Record<string, (script: string, words: readonly string[]) => string> = {
  bash: (script, words) =>
    `source '${script}'; COMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length - 1}
     _portico; printf '%s\\n' "\${COMPREPLY[@]}"`,
  zsh: (script, words) =>
    `compdef() { :; }; compadd() { shift; print -l -- "$@"; }; source '${script}'
     words=(${words.map((word) => `'${word}'`).join(" ")}); CURRENT=${words.length}; _portico`,
  fish: (script, words) => `source '${script}'; complete -C '${words.join(" ")}' | string replace -r '\\t.*' ''`,
};

const rows: [words: string[], offered: RegExp, refused: RegExp][] = [
  [["portico", ""], /^login$/m, /^rules$/m],
  [["portico", "auth", ""], /^explain$/m, /^login$/m],
  [["portico", "auth", "list", ""], /^rules$/m, /^rule$/m],
  [["portico", "auth", "create", "rule", "--"], /^--access$/m, /^--account$/m],
  [["portico", "usage", "--"], /^--span$/m, /^--access$/m],
  [["portico", "completion", ""], /^fish$/m, /^login$/m],
];

for (const [shell, question] of Object.entries(shells)) {
  const missing = spawnSync(shell, ["-c", "true"]).status !== 0;
  t.test(shell, { skip: missing && `${shell} is not installed` }, async (t) => {
    const { stdout } = await portico(["completion", shell]);
    const script = join(t.testdir(), "script");
    writeFileSync(script, stdout);
    for (const [words, offered, refused] of rows) {
      const { stdout: answer, stderr } = spawnSync(shell, ["-c", question(script, words)], { encoding: "utf8" });
      t.equal(stderr, "");
      t.match(answer, offered, `${words.join(" ")} offers`);
      t.notMatch(answer, refused, `${words.join(" ")} does not offer`);
    }
  });
}
