// The systemd unit and the proxy's configuration of docs/deploying.md, tested with the systemd,
// nginx and openssl of this machine.

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import t from "tap";
import { Agent, fetch } from "undici";
import { WebSocket } from "ws";
import { freePort } from "../support/ports.js";
import { start } from "../support/process.js";
import { codeOf } from "./markdown.js";

const page = readFileSync("docs/deploying.md", "utf8");
const isMissing = (...programs: string[]) =>
  programs
    .filter((program) => spawnSync("sh", ["-c", `command -v ${program}`]).status !== 0)
    .map((program) => `there is no ${program} here`)[0] ?? false;

t.test("the unit", { skip: isMissing("systemd-analyze") }, async (t) => {
  const [unit = ""] = codeOf(page, "ini");
  const here = unit.replace("/usr/bin/node", process.execPath).replace("/opt/portico/dist", resolve("dist"));
  const file = join(t.testdir({ "portico.service": here }), "portico.service");
  const { status, stderr } = spawnSync("systemd-analyze", ["verify", file], { encoding: "utf8" });
  t.same({ status, stderr }, { status: 0, stderr: "" });
});

t.test("nginx in front", { skip: isMissing("nginx", "openssl") }, async (t) => {
  const folder = t.testdir({ data: {} });
  const [key, certificate] = [join(folder, "key.pem"), join(folder, "certificate.pem")];
  const subject = ["-subj", "/CN=api.example.com", "-addext", "subjectAltName=DNS:api.example.com"];
  const made = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1"];
  spawnSync("openssl", [...made, ...subject, "-keyout", key, "-out", certificate]);

  const portico = await start(["server"], {
    PORTICO_DATA: join(folder, "data"),
    PORTICO_HTTP_HOSTS: "api.example.com",
  });
  t.teardown(() => portico.stop());
  const port = await freePort();
  const [site = ""] = codeOf(page, "nginx");
  const here = site
    .replace("/etc/ssl/api.example.com.pem", `"${certificate}"`)
    .replace("/etc/ssl/api.example.com.key", `"${key}"`)
    .replace("listen 443", `listen 127.0.0.1:${port}`)
    .replace("127.0.0.1:8080", new URL(portico.address("HTTP")).host);
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((kind) => `${kind}_temp_path ${kind};`);
  const log = "error_log stderr; pid nginx.pid; daemon off;";
  const config = `${log} events {} http { access_log off; ${temporary.join(" ")}\n${here} }`;
  writeFileSync(join(folder, "nginx.conf"), config);
  const nginx = spawn("nginx", ["-p", folder, "-c", "nginx.conf"], { stdio: ["ignore", "ignore", "inherit"] });
  const stopped = once(nginx, "exit");
  t.teardown(() => nginx.kill());
  const late = Date.now() + 10_000;
  while (!existsSync(join(folder, "nginx.pid")) && nginx.exitCode === null && Date.now() < late) {
    await new Promise((again) => setTimeout(again, 20));
  }

  const connect = { ca: readFileSync(certificate), servername: "api.example.com" };
  const dispatcher = new Agent({ connect });
  t.teardown(() => dispatcher.close());
  const origin = `https://127.0.0.1:${port}`;
  const headers = { host: "api.example.com" };

  await t.test("calls reach the service", async (t) => {
    const response = await fetch(`${origin}/helloworld/call?name=Ada`, { dispatcher, headers });
    t.same(await response.json(), { message: "Hello Ada", msg: "Hello Ada" });
  });

  await t.test("a body of the maximum size of Portico passes, and a larger one does not", async (t) => {
    const post = async (length: number) => {
      const body = '{"name":"Ada"}'.padEnd(length);
      const json = { ...headers, "content-type": "application/json" };
      const response = await fetch(`${origin}/helloworld/call`, { dispatcher, method: "POST", body, headers: json });
      await response.arrayBuffer();
      return response.status;
    };
    t.equal(await post(4 * 1024 ** 2), 200);
    t.equal(await post(4 * 1024 ** 2 + 1), 413);
  });

  await t.test("a page of the same host may open a WebSocket, and a page of another host may not", async (t) => {
    const open = async (page: string) => {
      const url = `wss://127.0.0.1:${port}/helloworld/stream`;
      const socket = new WebSocket(url, { ...connect, headers, origin: page });
      socket.on("open", () => socket.send('{"name":"Ada","messages":"1"}'));
      const refused = once(socket, "unexpected-response").then(([, response]) => response.statusCode);
      const first = once(socket, "message").then(([data]) => JSON.parse(String(data)));
      first.catch(() => undefined);
      refused.catch(() => undefined);
      const outcome = await Promise.race([first, refused]);
      socket.terminate();
      return outcome;
    };
    t.same(await open("https://api.example.com"), { message: "Hello Ada", msg: "Hello Ada" });
    t.equal(await open("https://evil.example"), 403);
  });
  await t.test("too many logins are refused, however the path is spelled", async (t) => {
    const ask = async (path: string) => {
      const text = { ...headers, "content-type": "text/plain" };
      const response = await fetch(origin + path, { dispatcher, method: "POST", body: "{}", headers: text });
      await response.arrayBuffer();
      return response.status;
    };
    for (let count = 0; count < 11; count++)
      t.equal(await ask("/auth/login"), 415, "Portico is asked, which wants JSON");
    const paths = ["/auth/login", "/AUTH/LogIn", "/auth/auth/login", "/auth/Auth.Login", "/a%75th/login"];
    for (const path of paths) t.equal(await ask(path), 429, path);
    t.equal(await ask("/helloworld/call"), 415, "other calls go on");
  });

  nginx.kill();
  await stopped;
});
