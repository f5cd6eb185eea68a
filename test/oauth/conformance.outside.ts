// The conformance suite of MCP for authorization servers: a client gets tokens of a gateway, for
// `/mcp` or for all of it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import t from "tap";
import { npmPackages } from "../outside/tools.js";
import { freePort } from "../support/ports.js";
import { consent, openDoor } from "./browser.js";

const modules = join(npmPackages("@modelcontextprotocol/conformance@0.2.0-alpha.12", "node@22.23.3"), "node_modules");
const PROGRAM = [join(modules, "node/bin/node"), join(modules, "@modelcontextprotocol/conformance/dist/index.js")];

const door = await openDoor(t);
const redirectUris = ["http://127.0.0.1/callback"];
await door.auth("Clients/Create", { name: "public", redirectUris });
await door.auth("Clients/Create", { name: "confidential", redirectUris, confidential: true });

/**
 * Runs the suite, and the browser of a person who allows what it asks for.
 * @param folder for its results
 * @returns the results of its checks, by their IDs
 */
async function conform(folder: string, options: readonly string[]): Promise<Record<string, string>> {
  const port = `${await freePort()}`;
  const asked = ["authorization", "--url", door.url, "--port", port, "--output-dir", folder, ...options];
  const [command = "", ...args] = [...PROGRAM, ...asked];
  const suite = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"], timeout: 60_000 });
  const ended = once(suite, "close");
  for await (const line of createInterface({ input: suite.stdout })) {
    if (line.includes("/oauth/authorize?")) await fetch(await consent(door, line.trim()));
  }
  await ended;
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith("checks.json"),
  );
  const checks = files.flatMap((name) => JSON.parse(readFileSync(join(folder, name), "utf8")));
  return Object.fromEntries(checks.map(({ id, status }) => [id, status]));
}

/**
 * A client, and whether it gets tokens. The suite sends no secret where a server also has public
 * clients, so a confidential client gets none.
 */
const CLIENTS = [
  ["a public client", ["--client-id", "public"], "SUCCESS"],
  ["a public client of /mcp", ["--client-id", "public", "--resource", `${door.url}/mcp`], "SUCCESS"],
  ["a confidential client without its secret", ["--client-id", "confidential"], "FAILURE"],
] as const;

for (const [title, options, granted] of CLIENTS) {
  t.test(`the suite as ${title}`, async (t) => {
    t.same(await conform(t.testdir(), options), {
      "authorization-server-metadata": "SUCCESS",
      "authorization-server-metadata-cimd": "SUCCESS",
      "authorization-code-grant": granted,
    });
  });
}
