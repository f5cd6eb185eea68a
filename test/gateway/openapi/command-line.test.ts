// `portico openapi` prints the complete document of a service, with the gateway's address.
import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import t from "tap";
import { parse } from "yaml";
import { portico } from "../../cli/command-line.js";
import { ask, deploy } from "../deployment.js";

const deployment = await deploy(t.testdir());
t.teardown(() => deployment.close());
const url = `http://127.0.0.1:${deployment.gateway.address.port}`;
const run = (...args: string[]) => portico(["openapi", ...args], { env: { PORTICO_URL: url } });
const { body } = await ask(deployment.handler, { target: "/openapi/helloworld.json" });
const document = { ...JSON.parse(body), servers: [{ url }] };

t.test("portico openapi prints a document as JSON", async (t) => {
  const { exit, stdout, stderr } = await run("helloworld");
  t.same({ exit, stderr }, { exit: 0, stderr: "" });
  t.equal(stdout, `${body.replace('{"url":"/"}', `{"url":"${url}"}`)}\n`, "as it was served");
});

t.test("portico openapi prints a document as YAML", async (t) => {
  const { exit, stdout } = await run("HelloWorld", "-o", "yaml");
  t.equal(exit, 0);
  t.match(stdout, /^openapi: 3\.1\.0\ninfo:\n {2}title: helloworld\n/);
  t.same(parse(stdout), document);
  t.match(stdout, "minimum: -9223372036854775808", "without rounding");
});

t.test("the built program prints a document as YAML", async (t) => {
  const args = ["dist/portico.js", "openapi", "helloworld", "-o", "yaml", "--url", url];
  const env = { PATH: process.env.PATH, XDG_CONFIG_HOME: t.testdir() };
  const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "inherit"] });
  t.same(parse(await text(child.stdout)), document);
});

t.test("portico openapi reports a service that does not exist", async (t) => {
  const { exit, stdout, stderr } = await run("helloword");
  t.same({ exit, stdout }, { exit: 1, stdout: "" });
  t.match(stderr, /^There is no service "helloword" to be seen; did you mean helloworld\?\nHTTP 404, request \S+\n$/);
});

t.test("portico openapi without a service is a usage error", async (t) => {
  const { exit, stderr } = await run();
  t.equal(exit, 2);
  t.match(stderr, "Missing required argument 'service'");
});
