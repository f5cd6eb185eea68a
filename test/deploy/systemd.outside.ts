// deploy/portico.service: systemd accepts it, its processes are little exposed, and its filters let
// through each system call that Portico makes.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { join, resolve } from "node:path";
import t from "tap";
import { freePort } from "../support/ports.js";
import { administrator, call, start } from "../support/process.js";
import { until } from "../support/until.js";

const UNIT = "deploy/portico.service";
/** systemd's measure, from 0 to 10. 5.0 is the unit that this one replaced. */
const MAX_EXPOSURE = 2.9;

const unit = readFileSync(UNIT, "utf8");
const missing = (...programs: string[]) =>
  programs
    .filter((program) => spawnSync("sh", ["-c", `command -v ${program}`]).status !== 0)
    .map((program) => `there is no ${program} here`)[0] ?? false;
/** The values of a setting, in their order. */
const valuesOf = (name: string) =>
  [...unit.matchAll(new RegExp(`^${name}=(.*)$`, "gm"))].map(([, value = ""]) => value);

t.test("systemd accepts the unit", { skip: missing("systemd-analyze") }, async (t) => {
  const here = unit.replace("/usr/bin/node", process.execPath).replace("/opt/portico/dist", resolve("dist"));
  const file = join(t.testdir({ "portico.service": here }), "portico.service");
  const { status, stderr } = spawnSync("systemd-analyze", ["verify", file], { encoding: "utf8" });
  t.same({ status, stderr }, { status: 0, stderr: "" });
});

t.test(`the exposure is at most ${MAX_EXPOSURE}`, { skip: missing("systemd-analyze") }, async (t) => {
  const limit = `--threshold=${MAX_EXPOSURE * 10}`;
  const analysis = ["security", "--offline=true", "--no-pager", limit, UNIT];
  const { status, stdout, stderr } = spawnSync("systemd-analyze", analysis, { encoding: "utf8" });
  t.equal(status, 0, `${stdout}${stderr}`);
  t.match(stdout, /Overall exposure level for portico\.service: \d/);
});

/** The system calls of a set such as `@system-service`, also of the sets in it. */
function callsOf(set: string): string[] {
  const { stdout } = spawnSync("systemd-analyze", ["syscall-filter", set], { encoding: "utf8" });
  const names = stdout.split("\n").map((line) => line.trim());
  return names.slice(1).flatMap((name) => (name.startsWith("@") ? callsOf(name) : /^\w+$/.test(name) ? [name] : []));
}

const isSocket = (line: string): boolean => /^\d+ +socket\(/.test(line);

/**
 * What SystemCallFilter lets through, except `socket`. A list with `~` is taken from what precedes
 * it.
 */
function allowedCalls(): Set<string> {
  const allowed = new Set<string>();
  for (const value of valuesOf("SystemCallFilter")) {
    const sets = value.replace(/^~/, "").split(" ");
    for (const name of sets.flatMap(callsOf)) value.startsWith("~") ? allowed.delete(name) : allowed.add(name);
  }
  // SQLite gives its files to the owner of the folder if root runs it, which the unit does not.
  if (process.getuid?.() === 0) allowed.add("fchown");
  allowed.delete("socket");
  return allowed;
}

t.test("Portico makes no system call that is refused", { skip: missing("systemd-analyze", "strace") }, async (t) => {
  const folder = t.testdir({ data: {} });
  const data = join(folder, "data");
  const trace = join(folder, "trace");
  // The kernel stops the processes for the other calls only, so that they are as fast as usual.
  const others = `--trace=!${[...allowedCalls()].map((name) => `?${name}`)}`;
  const strace = ["strace", "--daemonize=grandchild", "--follow-forks", "--seccomp-bpf", "--quiet=attach"];
  const before = [...strace, others, `--output=${trace}`];
  const flags =
    valuesOf("ExecStart")[0]
      ?.split(" ")
      .filter((word) => word.startsWith("--")) ?? [];
  // With 0.0.0.0 the authority reads the addresses of this machine when a service is added.
  const port = await freePort();
  const env = { PORTICO_DATA: data, PORTICO_GRPC: `0.0.0.0:${port}` };
  const server = await start(["server"], env, ".", flags, { before });
  t.teardown(() => server.child.kill("SIGKILL"));
  const http = server.address("HTTP");
  const headers = await administrator(http, data);
  t.equal((await call(`${http}/helloworld/call`, { name: "Ada" })).status, 200);
  const service = { name: "shop", targets: [{ address: `${hostname()}:${port}` }] };
  const refused = await call(`${http}/v1/registry/Services/Put`, { service }, headers);
  t.match(JSON.stringify(refused.body), "is a port of Portico itself");
  t.equal(await server.stop(), 0);

  // A process ID of less than five digits is padded.
  const ended = new RegExp(`^${server.child.pid} +\\+\\+\\+ exited`, "m");
  await until(() => ended.test(readFileSync(trace, "utf8")), { what: () => "strace has written its last line" });
  const made = readFileSync(trace, "utf8")
    .split("\n")
    .filter((line) => /^\d+ +\w+\(/.test(line));
  const [sockets, refusedCalls] = [made.filter(isSocket), made.filter((line) => !isSocket(line))];
  t.same(refusedCalls, []);
  const families = new Set(sockets.map((line) => /\((AF_\w+)/.exec(line)?.[1] ?? line));
  const open = valuesOf("RestrictAddressFamilies").join(" ").split(" ");
  t.same([...families].filter((name) => !open.includes(name)).sort(), []);
  t.ok(families.has("AF_NETLINK"), "the addresses of this machine were read");
});
