// `npm start` builds the server and then becomes it, in the same process. No process of the build
// stays.
import { spawn } from "node:child_process";
import { cpSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import t from "tap";
import { temporaryFolder } from "../support/temporary.js";
import { until } from "../support/until.js";
import { killGroup } from "./kill-group.js";

const BUILT_FROM = [
  ...["cli", "gateway", "proto", "scripts", "services", "spec", "src"],
  ...["package.json", "package-lock.json", "tsconfig.json", "LICENSE"],
];
/** A busy computer needs a minute for the build. */
const BUILD_TIME = 200_000;
const ports = { PORTICO_HTTP: "127.0.0.1:0", PORTICO_GRPC: "127.0.0.1:0", PORTICO_ADMIN: "127.0.0.1:0" };

interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
}

/** The command lines of all descendants of a process. */
function descendants(of: number): string[] {
  const all = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap(readProcess);
  const below = (parent: number): Process[] =>
    all.filter((process) => process.parent === parent).flatMap((process) => [process, ...below(process.pid)]);
  return below(of).map(({ command }) => command);
}

function readProcess(pid: string): Process[] {
  try {
    const [, parent] = /^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
    return [{ pid: Number(pid), parent: Number(parent), command }];
  } catch {
    return []; // The process has ended.
  }
}

const linux = process.platform === "linux" ? {} : { skip: "reads /proc" };

t.test("no process of the build runs when the server is ready", linux, async (t) => {
  const folder = temporaryFolder(t);
  for (const name of BUILT_FROM) cpSync(name, join(folder, name), { recursive: true });
  symlinkSync(resolve("node_modules"), join(folder, "node_modules"));
  const npm = spawn("npm", ["start"], {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder, PORTICO_DATA: join(folder, "data"), ...ports },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  const pid = npm.pid as number;
  t.teardown(() => killGroup(pid));
  let output = "";
  for (const stream of [npm.stdout, npm.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => {
      output += text;
    });
  }
  const isBuilding = () => descendants(pid).some((command) => command.includes("esbuild"));
  const what = () => `esbuild runs; npm start printed ${output}`;
  await until(isBuilding, { what, within: BUILD_TIME });
  await until(() => /^ *Ready/m.test(output), { what: () => `npm start printed ${output}`, within: BUILD_TIME });
  const server = /^\S*node .*scripts\/start\.mjs $/;
  await until(() => descendants(pid).every((command) => server.test(command)), {
    what: () => `the server is alone: ${descendants(pid).join("\n")}`,
  });
  t.equal(descendants(pid).length, 1, "it is one process below npm's");
});
