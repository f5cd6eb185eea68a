/** Rows of "A secret has leaked". */
import { call } from "../../support/process.js";
import { type Incident, NEW_PASSWORD } from "../incident.js";
import { logIn, type Play } from "./play.js";

/** The status of a call with a token that administers nothing. */
async function statusOf({ url }: Incident, token: string): Promise<number> {
  const authorization = `Bearer ${token.trim()}`;
  return (await call(`${url}/v1/helloworld/Call`, { name: "Ada" }, { authorization })).status;
}

async function started(to: Incident): Promise<void> {
  await to.start("server");
  await logIn(to);
  await to.does("echo 'bob has a long password' | portico auth create account bob --password-stdin");
}

export const LEAKS: Readonly<Record<string, Play>> = {
  async "an API key"(to) {
    await started(to);
    const key = await to.does("portico auth create key leaked --account=bob 2>/dev/null");
    to.t.equal(await statusOf(to, key), 200);
    Object.assign(to.values, { KEY: key.slice(0, 10), NAME: "again", ACCOUNT: "bob" });
    const [, used, , made] = await to.follows();
    to.t.match(used?.output, /^Key +Account +Calls/);
    to.t.equal(await statusOf(to, key), 401);
    to.t.equal(await statusOf(to, /ptk_\S+/.exec(made?.output ?? "")?.[0] ?? ""), 200);
  },

  async "a password, or a token of a login"(to) {
    await started(to);
    const { body } = await call(`${to.url}/auth/login`, { account: "bob", password: "bob has a long password" });
    const { accessToken } = body as { accessToken: string };
    to.t.equal(await statusOf(to, accessToken), 200);
    to.values.ACCOUNT = "bob";
    await to.follows(1);
    to.t.equal(await statusOf(to, accessToken), 401);
    await to.follows();
    to.t.equal(await statusOf(to, accessToken), 401);
    const { status } = await call(`${to.url}/auth/login`, { account: "bob", password: "bob has a long password" });
    to.t.equal(status, 401);
  },

  async "the enrolment token of a service or gateway"(to) {
    await started(to);
    const token = await to.does("portico auth create enrolment shop");
    const [listed] = await to.follows(1);
    to.values.SERVICE = "shop";
    to.values.ID = /shop +(pte_\S+)/.exec(listed?.output ?? "")?.[1] ?? "";
    to.t.ok(token.startsWith(to.values.ID));
    await to.follows();
    to.t.notMatch(await to.does("portico auth list enrolments"), to.values.ID);
  },

  async "the store file, a backup, or the data folder"(to) {
    await started(to);
    const before = await to.does("portico auth list enrolments");
    to.values.SERVICE = "helloworld";
    await to.follows();
    to.env.PORTICO_PASSWORD = NEW_PASSWORD;
    await logIn(to);
    const after = await to.does("portico auth list enrolments");
    for (const [id] of before.matchAll(/(?<=^(?:gateway|helloworld) +)pte_\S+/gm)) to.t.notMatch(after, id);
  },
};
