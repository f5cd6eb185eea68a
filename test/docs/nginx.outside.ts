// nginx with the configuration of docs/proxies.md limits bodies as Portico does, and logins.
import { once } from "node:events";
import { createServer } from "node:http";
import t from "tap";
import { Agent, fetch } from "undici";
import { installation } from "../support/installation.js";
import { freePort } from "../support/ports.js";
import { start } from "../support/process.js";
import { authority, HOST, NGINX, startDocumented } from "./proxies.js";

const program = NGINX.program();

t.test("nginx in front", { skip: program === undefined && "there is no nginx here" }, async (t) => {
  const data = await installation(t.testdir());
  const portico = await start(["server"], { PORTICO_DATA: data, PORTICO_HTTP_HOSTS: HOST });
  t.teardown(() => portico.stop());
  const { host } = new URL(portico.address("HTTP"));
  const port = await startDocumented(t, NGINX, program ?? "", [host, host]);
  const dispatcher = new Agent({ connect: { ca: authority.cert, servername: HOST } });
  t.teardown(() => dispatcher.close());
  const post = async (path: string, type: string, body: string): Promise<number> => {
    const headers = { host: HOST, "content-type": type };
    const response = await fetch(`https://127.0.0.1:${port}${path}`, { dispatcher, method: "POST", body, headers });
    await response.arrayBuffer();
    return response.status;
  };

  await t.test("a body of the maximum size of Portico passes, and a larger one does not", async (t) => {
    const body = '{"name":"Ada"}';
    t.equal(await post("/helloworld/call", "application/json", body.padEnd(4 * 1024 ** 2)), 200);
    t.equal(await post("/helloworld/call", "application/json", body.padEnd(4 * 1024 ** 2 + 1)), 413);
  });

  await t.test("too many logins are refused, however the path is spelled", async (t) => {
    const ask = (path: string) => post(path, "text/plain", "{}");
    for (let count = 0; count < 11; count++)
      t.equal(await ask("/auth/login"), 415, "Portico is asked, which wants JSON");
    const paths = ["/auth/login", "/AUTH/LogIn", "/auth/auth/login", "/auth/Auth.Login", "/a%75th/login"];
    for (const path of paths) t.equal(await ask(path), 429, path);
    t.equal(await ask("/helloworld/call"), 415, "other calls go on");
  });
});

t.test(
  "nginx calls gateways as soon as they are back",
  { skip: program === undefined && "there is no nginx here" },
  async (t) => {
    const gateway = await freePort();
    const listen = async () => {
      const server = createServer((_, response) => response.end()).listen(gateway, "127.0.0.1");
      await once(server, "listening");
      return server;
    };
    const port = await startDocumented(t, NGINX, program ?? "", [`127.0.0.1:${gateway}`, `127.0.0.1:${gateway}`]);
    const dispatcher = new Agent({ connect: { ca: authority.cert, servername: HOST } });
    t.teardown(() => dispatcher.close());
    const ask = async (): Promise<number> => {
      const response = await fetch(`https://127.0.0.1:${port}/`, { dispatcher, headers: { host: HOST } });
      await response.arrayBuffer();
      return response.status;
    };
    t.equal(await ask(), 502, "while none listens");
    const server = await listen();
    t.teardown(() => server.close());
    t.equal(await ask(), 200, "and at once when they do");
  },
);
