// The completion scripts in real shells: the user types some text and Tab, and the test checks the
// line afterwards. Needs bash, zsh and fish (the Debian packages with these names).
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { spawn } from "@lydell/node-pty";
import t, { type Test } from "tap";
import { installation } from "../../support/installation.js";
import { start } from "../../support/process.js";
import { portico } from "../command-line.js";

const folder = t.testdir({ data: {}, home: {} });
const data = await installation(join(folder, "data"));
const home = join(folder, "home");
const server = await start(["server"], { PORTICO_DATA: data });
t.teardown(() => server.stop());
mkdirSync(join(home, "bin"));
symlinkSync(resolve("dist/portico.js"), join(home, "bin/portico"));
const env = {
  PATH: `${join(home, "bin")}:${process.env.PATH}`,
  HOME: home,
  XDG_CONFIG_HOME: join(home, "config"),
  PORTICO_URL: server.address("HTTP"),
  TERM: "xterm",
  PS1: "> ",
};
const password = readFileSync(join(data, "admin-password"), "utf8").trim();
await portico(["login"], { env: { ...env, PORTICO_PASSWORD: password } });

/**
 * How each shell starts without the settings of this machine. In zsh, compinit has not run then.
 */
const shells: Record<string, readonly string[]> = {
  bash: ["--norc", "--noprofile", "-i"],
  zsh: ["-f", "-i"],
  fish: ["--no-config", "-i"],
};

const rows: [typed: string, completed: string][] = [
  ["portico logi", "portico login"],
  ["portico auth del", "portico auth delete"],
  ["portico auth delete rule de", "portico auth delete rule default"],
  ["portico auth create rule --access=gr", "portico auth create rule --access=granted"],
  [
    "portico auth create rule --resource=service:helloworld:Helloworld.C",
    "--resource=service:helloworld:Helloworld.Call",
  ],
  ["portico hellow", "portico helloworld"],
  ["portico helloworld cal", "portico helloworld call"],
  ["portico helloworld call --na", "portico helloworld call --name="],
  ["portico auth set scopes adm", "portico auth set scopes admin"],
  ["portico completion fi", "portico completion fish"],
];

for (const [shell, args] of Object.entries(shells)) {
  t.test(shell, async (t) => {
    t.equal(spawnSync(shell, ["-c", "true"]).status, 0, `${shell} is installed`);
    const { stdout } = await portico(["completion", shell]);
    const script = join(t.testdir(), "script");
    writeFileSync(script, stdout);
    for (const [typed, completed] of rows) await completes(t, shell, args, { script, typed, completed });
  });
}

interface Row {
  readonly script: string;
  readonly typed: string;
  readonly completed: string;
}

/** Types into a new shell, and waits until the line is completed. */
async function completes(t: Test, shell: string, args: readonly string[], { script, typed, completed }: Row) {
  const terminal = spawn(shell, [...args], { cwd: home, env, cols: 200, rows: 50 });
  let shown = "";
  let changed = () => {};
  terminal.onData((text) => {
    shown += text;
    changed();
  });
  const screen = () => stripVTControlCharacters(shown).replaceAll("\u0007", "");
  const late = AbortSignal.timeout(20_000);
  const shows = async (text: string) => {
    while (!screen().includes(text) && !late.aborted) {
      await new Promise<void>((resolve) => {
        changed = resolve;
        late.addEventListener("abort", () => resolve(), { once: true });
      });
    }
    return screen().includes(text);
  };
  // The typed word differs from the printed word, so the echo of the input does not match.
  terminal.write(`source '${script}'; echo rea''dy\r`);
  t.ok(await shows("ready"), `${shell} reads the script`);
  shown = "";
  terminal.write(`${typed}\t`);
  t.ok(await shows(completed), `${typed}: ${screen()}`);
  terminal.kill("SIGKILL");
}
