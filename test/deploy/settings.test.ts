// The names in the files of deploy/ exist: the settings, the roles and the services. The time to
// stop is longer than the drain.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { BUILT_IN_SERVICES } from "../../cli/roles/built-in-services.js";
import { loadConfig, SETTINGS } from "../../src/config/config.js";

const FILES = readdirSync("deploy", { recursive: true, encoding: "utf8" })
  .filter((name) => /Dockerfile$|\.(?:yaml|tpl|txt|md|service)$/.test(name))
  .map((name) => ({ name, text: readFileSync(join("deploy", name), "utf8") }))
  .filter(({ text }) => /PORTICO_|portico service/.test(text));
const { drain } = loadConfig({}, {});
const VARIABLES: readonly string[] = Object.values(SETTINGS).map(({ variable }) => variable);

for (const { name, text } of FILES) {
  t.test(`${name} uses only settings and services that exist`, async (t) => {
    for (const [variable] of text.matchAll(/\bPORTICO_[A-Z_]+\b/g)) t.ok(VARIABLES.includes(variable), variable);
    for (const [, service = ""] of text.matchAll(/\bportico service (\w+)/g))
      t.ok(service in BUILT_IN_SERVICES, service);
    for (const [, seconds] of text.matchAll(/(?:terminationGracePeriodSeconds|stop_grace_period): (\d+)/g)) {
      t.ok(Number(seconds) * 1000 > drain, `${seconds} s are more than the drain`);
    }
  });
}

t.test("the files of Compose and of Kubernetes are read", async (t) => {
  t.ok(FILES.some(({ name }) => name === "compose.yaml"));
  t.ok(FILES.some(({ name }) => name.endsWith("base/portico.yaml")));
});
