// A command's settings come from the flag, otherwise the variable, otherwise the profile, otherwise
// the default.
import t from "tap";
import { Profile } from "../../../cli/http/profile.js";
import { portico } from "../command-line.js";

const config = t.testdir();
const stored = (name: string, port: number, namespace: string) =>
  new Profile(name, { XDG_CONFIG_HOME: config }).write({ url: `http://127.0.0.1:${port}/`, namespace, account: "bob" });
stored("default", 1, "from-default-profile");
stored("work", 2, "from-work");

/** The address that a command fails to reach. No process listens on these ports. */
async function addressOf(args: string, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const { stderr } = await portico([...args.split(" ")], { env: { PORTICO_URL: "", XDG_CONFIG_HOME: config, ...env } });
  return /does not respond at (\S+)\. /.exec(stderr)?.[1];
}

const addresses: [args: string, env: NodeJS.ProcessEnv, address: string][] = [
  ["services --url http://127.0.0.1:5", { PORTICO_URL: "http://127.0.0.1:4" }, "http://127.0.0.1:5"],
  ["services", { PORTICO_URL: "http://127.0.0.1:4" }, "http://127.0.0.1:4"],
  ["services", {}, "http://127.0.0.1:1"],
  ["services", { PORTICO_PROFILE: "work" }, "http://127.0.0.1:2"],
  ["services --profile default", { PORTICO_PROFILE: "work" }, "http://127.0.0.1:1"],
  ["--profile work services", {}, "http://127.0.0.1:2"],
  ["--profile work helloworld call", {}, "http://127.0.0.1:2"],
  ["--profile work services --profile default", {}, "http://127.0.0.1:1"],
];
for (const [args, env, address] of addresses) {
  t.test(`portico ${args} with ${JSON.stringify(env)} calls ${address}`, async (t) => {
    t.equal(await addressOf(args, env), address);
  });
}

const namespaces: [args: string, env: NodeJS.ProcessEnv, namespace: string][] = [
  ["user namespace --namespace from-flag", { PORTICO_NAMESPACE: "from-variable" }, "from-flag"],
  ["user namespace", { PORTICO_NAMESPACE: "from-variable" }, "from-variable"],
  ["user namespace", { PORTICO_PROFILE: "work" }, "from-work"],
  ["user namespace", {}, "from-default-profile"],
];
for (const [args, env, namespace] of namespaces) {
  t.test(`portico ${args} with ${JSON.stringify(env)} is ${namespace}`, async (t) => {
    const { stdout } = await portico(args.split(" "), { env: { XDG_CONFIG_HOME: config, ...env } });
    t.equal(stdout, `${namespace}\n`);
  });
}

t.test("a profile that does not exist fails, and the error names the others", async (t) => {
  const env = { XDG_CONFIG_HOME: config };
  const expected =
    "There is no profile nope; there are: default, work. To make it, log in: portico login --profile nope\n";
  for (const [args, more] of [
    [["services", "--profile", "nope"], {}],
    [["services"], { PORTICO_PROFILE: "nope" }],
  ] as const) {
    const { exit, stderr } = await portico(args, { env: { ...env, ...more } });
    t.same({ exit, stderr }, { exit: 4, stderr: expected });
  }
});

t.test("warns before a password is sent over plain HTTP to another host", async (t) => {
  const login = (url: string) =>
    portico(["login", "--url", url], { env: { XDG_CONFIG_HOME: config, PORTICO_PASSWORD: "x" } });
  t.match((await login("http://portico.invalid")).stderr, /^Beware: http:\/\/portico\.invalid is not encrypted/);
  t.notMatch((await login("http://127.0.0.1:1")).stderr, /Beware/);
});
