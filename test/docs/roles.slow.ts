// The commands of docs/roles.md, in one process each. Only the ports differ.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { installation } from "../support/installation.js";
import { answered, call, type Portico, start } from "../support/process.js";
import { codeOf } from "./markdown.js";

const blocks = codeOf(readFileSync("docs/roles.md", "utf8"), "");
const here =
  blocks
    .find((block) => block.startsWith("portico authority"))
    ?.trim()
    .split("\n") ?? [];
const elsewhere =
  blocks
    .find((block) => block.includes("create enrolment"))
    ?.trim()
    .split("\n") ?? [];
const folder = t.testdir({ data: {}, elsewhere: {} });
const data = await installation(join(folder, "data"));

/** The arguments behind `portico`, without a trailing comment, and with free ports. */
function wordsOf(command = ""): string[] {
  const [, words = ""] = /\bportico (.*?)(?: +#.*)?$/.exec(command) ?? [];
  return words.replace(/127\.0\.0\.1:\d+/g, "127.0.0.1:0").split(" ");
}

async function run(words: readonly string[], env: Record<string, string>): Promise<Portico> {
  const portico = await start(words, env);
  t.teardown(() => portico.stop());
  return portico;
}

/**
 * Retries, because the gateway has a service's endpoints only shortly after the service is ready.
 */
async function greeting(gateway: Portico): Promise<unknown> {
  const ask = () => call(`${gateway.address("HTTP")}/helloworld/call?name=Ada`);
  await answered(ask, 200);
  return (await ask()).body;
}

t.equal(here.length, 3);
const authority = await run(wordsOf(here[0]), { PORTICO_DATA: data });
const at = authority.address("gRPC");
await run(wordsOf(here[1]), { PORTICO_DATA: data, PORTICO_AUTHORITY: at });
const gateway = await run(wordsOf(here[2]), { PORTICO_DATA: data, PORTICO_AUTHORITY: at });
t.match(await greeting(gateway), { message: "Hello Ada" }, "on one machine");

t.test("a service joins from another machine with an enrolment token, as the page says", async (t) => {
  const password = readFileSync(join(data, "admin-password"), "utf8").trim();
  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    PORTICO_URL: gateway.address("HTTP"),
    PORTICO_PASSWORD: password,
  };
  const portico = (words: readonly string[]) =>
    spawnSync(process.execPath, ["dist/portico.js", ...words], { env, encoding: "utf8" });
  t.equal(portico(["login"]).status, 0);
  const token = portico(wordsOf(elsewhere[0])).stdout.trim();
  t.match(token, /^pte_/);
  const words = wordsOf(elsewhere[1]).map((word) => (word === "10.0.0.5:8081" ? at : word));
  t.ok(words.includes(at));
  const other = await run(words, { PORTICO_DATA: join(folder, "elsewhere"), PORTICO_ENROLMENT: token });
  t.match(await greeting(other), { message: "Hello Ada" });
});
