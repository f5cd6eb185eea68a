// deploy/Dockerfile without a container engine: the test makes its edits in a copy of dist/, and
// then runs the copy as ENV, CMD and HEALTHCHECK say.
import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, cpSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import t, { type Test } from "tap";
import { loadConfig } from "../../src/config/config.js";
import { freePort } from "../support/ports.js";
import { start } from "../support/process.js";
import { temporaryFolder } from "../support/temporary.js";
import { until } from "../support/until.js";

const INSTRUCTIONS = readFileSync("deploy/Dockerfile", "utf8")
  .replaceAll("\\\n", "")
  .split("\n")
  .map((line) => ({ name: line.split(" ", 1)[0] ?? "", value: line.slice(line.indexOf(" ") + 1) }));
const all = (name: string) => INSTRUCTIONS.filter((one) => one.name === name).map(({ value }) => value);

const ENV = Object.fromEntries(all("ENV").flatMap((value) => value.split(/\s+/).map((pair) => pair.split("=", 2))));
/**
 * The time that `docker stop` waits before it kills, in milliseconds
 * (https://docs.docker.com/reference/cli/docker/container/stop/).
 */
const DOCKER_GRACE = 10_000;

const folder = temporaryFolder(t);
const program = join(folder, "dist/portico.js");
cpSync("dist", join(folder, "dist"), { recursive: true });
symlinkSync(resolve("node_modules"), join(folder, "node_modules"));
const edits = all("RUN").flatMap((value) => (value.includes("dist/commit") ? value.split("&&") : []));
execFileSync("sh", ["-ec", edits.filter((edit) => !edit.trim().startsWith("npm ")).join("\n")], {
  cwd: folder,
  env: { ...process.env, COMMIT: "0123abc" },
});

t.test("the program in the image prints the commit that the build received", async (t) => {
  t.match(execFileSync(program, ["--version"], { encoding: "utf8" }), /^portico \S+ \(0123abc, /);
});

/**
 * Runs the command of the image.
 * @param files replace the system's files, by their paths below the test's folder
 * @returns the command that it would run
 */
function commandRun(t: Test, files: Record<string, string>): string {
  const folder = t.testdir({ node: '#!/bin/sh\necho node "$@"\n', memory: {} });
  chmodSync(join(folder, "node"), 0o755);
  for (const [path, text] of Object.entries(files)) writeFileSync(join(folder, path), text);
  const script = readFileSync("deploy/portico.sh", "utf8");
  // Relative paths, because the folder's path may contain spaces.
  const moved = script.replaceAll("/sys/fs/cgroup/", "./").replaceAll("/proc/", "./");
  writeFileSync(join(folder, "portico"), moved);
  const env = { ...process.env, PATH: `${folder}:${process.env.PATH}` };
  return execFileSync("sh", ["portico", "gateway", "--workers=2"], { cwd: folder, env, encoding: "utf8" }).trim();
}

const meminfo = (kilobytes: number) => `MemTotal:       ${kilobytes} kB\nMemFree:        1 kB\n`;
const LARGE = meminfo(16_331_236);
const memories: readonly (readonly [title: string, files: Record<string, string>, young: number])[] = [
  ["no limit on a large machine", { meminfo: LARGE, "memory.max": "max\n" }, 32],
  ["no limit on a small machine", { meminfo: meminfo(1_000_000), "memory.max": "max\n" }, 8],
  ["a limit of 1 GiB", { meminfo: LARGE, "memory.max": `${2 ** 30}\n` }, 32],
  ["the limit of the Kubernetes files", { meminfo: LARGE, "memory.max": `${768 * 2 ** 20}\n` }, 8],
  ["a limit by cgroup v1", { meminfo: LARGE, "memory/memory.limit_in_bytes": `${768 * 2 ** 20}\n` }, 8],
  ["no limit by cgroup v1", { meminfo: LARGE, "memory/memory.limit_in_bytes": "9223372036854771712\n" }, 32],
  ["a limit above what the machine has", { meminfo: meminfo(1_000_000), "memory.max": `${2 ** 40}\n` }, 8],
  ["no cgroups", { meminfo: LARGE }, 32],
  ["a system without information about its memory", { meminfo: "" }, 8],
];
for (const [title, files, young] of memories) {
  t.test(`${title}: the young generation may grow to ${young} MB`, async (t) => {
    const flags = `--max-semi-space-size=${young} --initial-old-space-size=64`;
    t.equal(
      commandRun(t, files),
      `node ${flags} /usr/local/lib/node_modules/portico/dist/portico.js gateway --workers=2`,
    );
    if (young === 32) t.match(readFileSync("deploy/portico.service", "utf8"), `ExecStart=/usr/bin/node ${flags} /`);
  });
}

t.test("a stop ends before Docker kills the process", async (t) => {
  t.ok(loadConfig({}, ENV).drain < DOCKER_GRACE);
});

t.test("the health check passes while the server is ready, whatever hosts it accepts", async (t) => {
  const ports = ["PORTICO_HTTP", "PORTICO_GRPC", "PORTICO_ADMIN"].map((name) => [name, ENV[name].replace(/\d+$/, "0")]);
  const own = { PORTICO_DATA: t.testdir(), PORTICO_HTTP_HOSTS: "api.example.com", PORTICO_DRAIN_NOTICE: "5s" };
  const command: string[] = JSON.parse(all("HEALTHCHECK")[0]?.replace(/^.* CMD /, "") ?? "");
  t.match(command.join(" "), `127.0.0.1:${ENV.PORTICO_ADMIN.split(":")[1]}/`);
  const check = (port: string | number) => {
    const [node = "", ...args] = command.map((word) => word.replace(/127\.0\.0\.1:\d+/, `127.0.0.1:${port}`));
    return spawnSync(node, args).status;
  };
  t.equal(check(await freePort()), 1, "where nothing listens");
  const env = { ...ENV, ...Object.fromEntries(ports), ...own };
  const server = await start(JSON.parse(all("CMD")[0] ?? ""), env, ".", [], { program });
  t.teardown(() => server.child.kill("SIGKILL"));
  const { port } = new URL(server.address("Metrics"));
  t.equal(check(port), 0, "ready");
  server.child.kill("SIGTERM");
  await until(() => check(port) === 1, { what: () => "the health check to fail from SIGTERM on" });
});
