// The service in Python of docs/writing-a-service.md joins by reflection. It needs Python, and its packages once.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { call, start } from "../server/process.js";
import { codeOf } from "./markdown.js";

const page = readFileSync("docs/writing-a-service.md", "utf8");
const PACKAGES = ["grpcio-tools==1.85.1", "grpcio-reflection==1.85.1"];

/** A Python with the packages; undefined, with a notice, where there is no Python. */
function python(): string | undefined {
  const folder = join(tmpdir(), "portico-outside", PACKAGES.join("_"));
  const program = join(folder, "bin/python");
  const complete = join(folder, "complete");
  if (existsSync(complete)) return program;
  if (spawnSync("python3", ["-m", "venv", folder]).status !== 0) {
    console.error("the service in Python was not run: there is no python3 with venv here");
    return undefined;
  }
  const { status, stderr } = spawnSync(program, ["-m", "pip", "install", "--quiet", ...PACKAGES], { encoding: "utf8" });
  if (status !== 0) throw new Error(`pip install ${PACKAGES.join(" ")} failed: ${stderr}`);
  writeFileSync(complete, "");
  return program;
}

const program = python();

t.test("a service in Python", { skip: program === undefined && "there is no Python here" }, async (t) => {
  const folder = t.testdir({
    "greeter.proto": codeOf(page, "proto").join(),
    "server.py": codeOf(page, "python").join(),
    data: {},
  });
  const child = spawn(program!, ["server.py", "127.0.0.1:0"], { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
  t.teardown(() => child.kill());
  const late = AbortSignal.timeout(20_000);
  const [line] = await once(child.stdout.setEncoding("utf8"), "data", { signal: late });
  const port = /port (\d+)/.exec(line)?.[1];

  const config = codeOf(page, "").find((code) => code.startsWith('{"services"')) ?? "";
  const data = join(folder, "data");
  writeFileSync(join(data, "portico.json"), config.replace("9000", `${port}`));
  const portico = await start(["server"], { PORTICO_DATA: data });
  t.teardown(() => portico.stop());
  const url = `${portico.address("HTTP")}/greeter/call`;
  let answer = await call(`${url}?name=Ada`);
  while (answer.status === 404 && !late.aborted) answer = await call(`${url}?name=Ada`);
  t.same(answer.body, { message: "Hello Ada" });
  const refused = { Id: "greeter", Code: 400, Detail: "name: must not be empty", Status: "Bad Request" };
  t.same((await call(url, {})).body, refused);
});
