// The snippets for Python and Go, if these are installed. Each runs exactly as the page shows it.
import { spawnSync } from "node:child_process";
import t from "tap";
import { openShopFront } from "./shop-front.js";
import { checkSnippets, program } from "./snippets.js";

t.setTimeout(300_000);

const LANGUAGES = [
  { id: "python", probe: ["python3", "--version"], command: ["python3"], file: "call.py" },
  { id: "go", probe: ["go", "version"], command: ["go", "run"], file: "main.go" },
] as const;

const setting = await openShopFront(t);

for (const { id, probe, command, file } of LANGUAGES) {
  const [name, ...args] = probe;
  const missing = spawnSync(name, args).status !== 0;
  t.test(id, { skip: missing && `there is no ${name} here`, timeout: 240_000 }, (t) =>
    checkSnippets(t, setting, id, program(command, file, setting)),
  );
}
