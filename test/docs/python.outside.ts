// The Python service of docs/writing-a-service.md joins by reflection. The test needs Python, and
// once its packages.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { pythonPrograms } from "../outside/tools.js";
import { call, start } from "../support/process.js";
import { codeOf } from "./markdown.js";

const page = readFileSync("docs/writing-a-service.md", "utf8");
const programs = pythonPrograms("grpcio-tools==1.85.1", "grpcio-reflection==1.85.1");

t.test("a Python service joins", { skip: programs === undefined && "there is no Python here" }, async (t) => {
  const folder = t.testdir({
    "greeter.proto": codeOf(page, "proto").join(),
    "server.py": codeOf(page, "python").join(),
    data: {},
  });
  const python = join(programs!, "python");
  const child = spawn(python, ["server.py", "127.0.0.1:0"], { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
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
  let response = await call(`${url}?name=Ada`);
  while (response.status === 404 && !late.aborted) response = await call(`${url}?name=Ada`);
  t.same(response.body, { message: "Hello Ada" });
  const refused = { Id: "greeter", Code: 400, Detail: "name: must not be empty", Status: "Bad Request" };
  t.same((await call(url, {})).body, refused);
});
