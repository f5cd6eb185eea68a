/** Rows of "Callers get errors". */
import { writeFileSync } from "node:fs";
import { get } from "node:https";
import { join } from "node:path";
import { createAuthority } from "../../http2/certificates.js";
import { call } from "../../support/process.js";
import { until } from "../../support/until.js";
import type { Incident } from "../incident.js";
import { GREET, greet, isReady, isWell, logIn, type Play, readyz } from "./play.js";

const RESOURCE = "service:helloworld:Helloworld.Call";
/** How many calls are sent at once to have more than can be processed. */
const FLOOD = 1_500;
const DAY = 86_400_000;

export const REFUSED_CALLS: Readonly<Record<string, Play>> = {
  async "the password of `admin` is lost"(to) {
    await to.start("server");
    to.env.PORTICO_PASSWORD = "nobody knows it any more";
    to.sees([await to.tries("portico login")]);
    const [recovered] = await to.follows(1);
    to.env.PORTICO_PASSWORD = recovered?.output.split("\n")[0] ?? "";
    await to.follows();
    await to.does("portico auth list rules");
  },

  async "a rule refuses too much"(to) {
    await to.start("server");
    await logIn(to);
    await to.does("portico auth create rule --access=denied --scope='<public>' --priority=9 --resource='*:*:*' closed");
    to.sees([(await greet(to)).body, await to.tries("portico helloworld call --name=Ada")]);
    await to.does("portico auth delete rule default");
    Object.assign(to.values, { ACCOUNT: "admin", RESOURCE, RULE: "closed" });
    const [admin, everyone] = await to.follows(2);
    to.t.match(admin?.output, /by rule closed/);
    to.t.match(everyone?.output, /by rule closed/);
    await to.follows();
    to.t.equal((await greet(to)).status, 200);
    to.t.match(await to.does("portico helloworld call --name=Ada"), /Hello Ada/);
  },

  async "a limit refuses too much"(to) {
    await to.start("server");
    await logIn(to);
    await to.does("portico auth create limit few --rate=1/d --per=everyone");
    await greet(to);
    const refused = await call(to.url + GREET);
    to.t.equal(refused.status, 429);
    to.sees([refused.body, [...refused.headers.keys()].join(" ").replace("retry-after", "Retry-After")]);
    to.values.LIMIT = "few";
    await to.follows();
    to.t.equal((await greet(to)).status, 200);
  },

  async "more calls than can be processed"(to) {
    await to.start("server");
    await logIn(to);
    const ask = async (): Promise<string> => {
      const body = JSON.stringify({ text: "x".repeat(1_000), size: 512 });
      const headers = { "content-type": "application/json" };
      const response = await fetch(`${to.url}/qr/generate`, { method: "POST", headers, body });
      return `${response.status} ${await response.text()} Retry-After: ${response.headers.get("retry-after")}`;
    };
    // The system may refuse some of the connections.
    const flood = () => Promise.all(Array.from({ length: FLOOD }, () => ask().catch(() => "")));
    let refused: string | undefined;
    // A fast machine needs more at once. A gateway that is too busy refuses for itself too.
    for (let floods = 1; refused === undefined && floods <= 5; floods++) {
      const answers = (await Promise.all(Array.from({ length: floods }, flood))).flat();
      refused = answers.find((text) => text.startsWith("503") && text.includes("has more calls than it can process"));
    }
    to.sees([refused ?? "nothing was refused"]);
    await to.follows();
  },

  async "a service has no instance"(to) {
    const { service, startService } = await startRoles(to);
    await service.stop("SIGKILL");
    await until(async () => (await greet(to)).status === 404);
    to.sees([(await greet(to)).body], 0, 1);
    await logIn(to);
    to.values.SERVICE = "helloworld";
    to.machine["systemctl start"] = startService;
    const [listed, examined] = await to.follows(2);
    to.t.notMatch(listed?.output, /helloworld/);
    to.t.match(examined?.output, /ready/);
    await to.follows();
    await isWell(to);
  },

  async "a service hangs, or is slow"(to) {
    const { service, startService } = await startRoles(to);
    service.child.kill("SIGSTOP");
    const seen = [await to.tries(`curl -s -H 'Grpc-Timeout: 1S' '${to.url}${GREET}'`)];
    await until(async () => {
      seen.push(await to.tries(`curl -s '${to.url}${GREET}'`));
      return seen.at(-1)!.includes("cannot be reached at the moment");
    });
    to.sees(seen);
    to.t.match(await to.tries("portico services"), /helloworld/);
    to.values.SERVICE = "helloworld";
    to.machine["systemctl restart"] = async () => {
      await service.stop("SIGKILL");
      await startService();
    };
    await to.follows();
    await isWell(to);
  },

  async "all callers count as one"(to) {
    const server = await to.start("server");
    await logIn(to);
    await to.does("portico auth create limit each --rate=20/m --burst=1 --per=address");
    const two = () =>
      Promise.all(["1", "2"].map((n) => call(to.url + GREET, undefined, { "x-forwarded-for": `192.0.2.${n}` })));
    const refused = (await two()).filter(({ status }) => status === 429);
    to.t.equal(refused.length, 1);
    to.sees([refused[0]?.body], 0, 1);
    to.machine["systemctl restart"] = async () => {
      await server.stop();
      await to.start("server", { PORTICO_TRUSTED_PROXIES: "127.0.0.1" });
    };
    await to.follows();
    await isReady(to);
    await until(async () => (await two()).every(({ status }) => status === 200), { what: () => "each has its own" });
  },

  "Postgres is away": { skip: "it is played in operating.postgres.ts", act: async () => undefined },

  async "no authority can be reached, and the lease is over"(to) {
    const elsewhere = { PORTICO_ADMIN: "127.0.0.1:0" };
    const authority = await to.start("authority", elsewhere);
    await to.start("service helloworld", { ...elsewhere, PORTICO_GRPC: "127.0.0.1:0" });
    await to.start("gateway");
    await isWell(to);
    await authority.stop("SIGKILL");
    await until(async () => (await greet(to)).status === 503);
    await until(async () => /authority at/.test(JSON.stringify(await readyz(to))));
    to.sees([(await greet(to)).body, await readyz(to)]);
    to.machine["systemctl start portico"] = () => to.start("authority", elsewhere);
    const doctor = await to.tries("portico doctor gateway");
    to.t.match(doctor, /The authority at 127\.0\.0\.1:\d+ cannot be reached/);
    to.machine["portico doctor gateway"] = () => undefined; // It exits with 1, because there is a problem.
    await to.follows();
    await isWell(to);
  },

  async "a certificate has ended"(to) {
    const authority = createAuthority("authority");
    const at = (days: number) => new Date(Date.now() + days * DAY);
    const write = (name: string, from: number, end: number) => {
      const { cert, key } = authority.issue("localhost", [at(from), at(end)]);
      writeFileSync(join(to.folder, `${name}.pem`), cert);
      writeFileSync(join(to.folder, `${name}.key`), key);
    };
    write("http", -9, -1);
    write("NEW", -1, 9);
    to.env.PORTICO_HTTP_TLS_CERT = join(to.folder, "http.pem");
    to.env.PORTICO_HTTP_TLS_KEY = join(to.folder, "http.key");
    const server = await to.start("server", { PORTICO_HTTP_HOSTS: "localhost" });
    const ask = () =>
      new Promise<string>((resolve) => {
        const port = to.env.PORTICO_HTTP!.split(":")[1];
        const options = { ca: authority.cert, servername: "localhost", agent: false };
        get(`https://127.0.0.1:${port}/livez`, options, ({ statusCode }) => resolve(`${statusCode}`)).on(
          "error",
          (error) => resolve(error.message),
        );
      });
    await until(() => server.errors().includes("the certificate has expired"));
    to.sees([await ask(), server.errors()]);
    Object.assign(to.values, { "NEW.": `${to.folder}/NEW.`, "/etc/portico": to.folder });
    to.t.match(await to.tries("portico doctor server"), /has expired/);
    to.machine["portico doctor server"] = () => undefined;
    await to.follows();
    await until(async () => (await ask()) === "200", { what: () => "a new connection has the new certificate" });
  },

  async "a host name is not served"(to) {
    const server = await to.start("server");
    const ask = () => to.tries(`curl -s -H 'Host: api.example.com' ${to.url}/livez`);
    to.sees([await ask()]);
    to.machine["systemctl restart"] = async () => {
      await server.stop();
      await to.start("server", { PORTICO_HTTP_HOSTS: "api.example.com" });
    };
    await to.follows();
    await isReady(to);
    to.t.notMatch(await ask(), /is not served/);
  },
};

/** Starts an authority, helloworld and a gateway, each in its own process. */
async function startRoles(to: Incident) {
  await to.start("authority", { PORTICO_ADMIN: "127.0.0.1:0" });
  const own = { PORTICO_GRPC: "127.0.0.1:0", PORTICO_ADMIN: "127.0.0.1:0" };
  const startService = () => to.start("service helloworld", own);
  const service = await startService();
  await to.start("gateway");
  await isWell(to);
  return { service, startService };
}
