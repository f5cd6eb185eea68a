/**
 * nginx and haproxy of this computer before a server, with their strict defaults and with the most
 * lenient settings.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Test } from "tap";
import { freePort, isOpen } from "../../../support/ports.js";

export interface Proxy {
  readonly name: string;
  readonly program: "nginx" | "haproxy";
  /**
   * @param mark the value of the header `Proxy-Mark` that the proxy sets on each request that it
   * finds
   */
  configuration(port: number, server: string, mark: string): string;
}

/** In milliseconds. */
const MAX_START = 20_000;

/**
 * Uses one connection to the server. So bytes of one request that the server has not read would be
 * taken for the next request.
 */
const nginx = (port: number, server: string, mark: string, settings: string): string => `
${process.getuid?.() === 0 ? "user root;" : ""}
daemon off;
master_process off;
pid nginx.pid;
error_log stderr crit;

events {}
http {
  access_log off;
  ${["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((kind) => `${kind}_temp_path ${kind};`).join(" ")}
  upstream door { server ${server}; keepalive 1; }
  server {
    listen 127.0.0.1:${port};
    ${settings}
    location / {
      proxy_pass http://door;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Proxy-Mark ${mark};
      proxy_ignore_client_abort on;
      proxy_next_upstream off;
    }
  }
}`;

const haproxy = (port: number, server: string, mark: string, settings: string): string => `
defaults
  mode http
  timeout connect 10s
  timeout client 30s
  timeout server 30s
  retries 0
frontend door
  bind 127.0.0.1:${port}
  ${settings}
  http-request set-header Proxy-Mark ${mark}
  default_backend gateway
backend gateway
  http-reuse always
  server gateway ${server} maxconn 1
`;

export const PROXIES: readonly Proxy[] = [
  {
    name: "nginx",
    program: "nginx",
    configuration: (port, server, mark) => nginx(port, server, mark, ""),
  },
  {
    name: "nginx that sends bodies on as they come, and all headers",
    program: "nginx",
    configuration: (port, server, mark) =>
      nginx(port, server, mark, "proxy_request_buffering off; ignore_invalid_headers off; underscores_in_headers on;"),
  },
  {
    name: "haproxy",
    program: "haproxy",
    configuration: (port, server, mark) => haproxy(port, server, mark, ""),
  },
  {
    name: "haproxy that accepts invalid requests",
    program: "haproxy",
    configuration: (port, server, mark) => haproxy(port, server, mark, "option accept-invalid-http-request"),
  },
];

/** Why the proxy cannot run here; false where it can. */
export function isMissing({ program }: Proxy): string | false {
  return spawnSync(program, ["-v"]).error === undefined ? false : `there is no ${program} here`;
}

/**
 * Runs a proxy before the server until the test ends.
 * @returns the port of the proxy
 */
export async function startProxy(t: Test, proxy: Proxy, server: string, mark: string): Promise<number> {
  const folder = t.testdir();
  const port = await freePort();
  const file = join(folder, "configuration");
  writeFileSync(file, proxy.configuration(port, server, mark));
  mkdirSync(join(folder, "logs"));
  const parameters = proxy.program === "nginx" ? ["-p", folder, "-c", file] : ["-db", "-f", file];
  const child = spawn(proxy.program, parameters, { stdio: ["ignore", "ignore", "pipe"] });
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text) => {
    errors += text;
  });
  const exited = once(child, "exit");
  t.teardown(async () => {
    child.kill("SIGKILL");
    await exited;
  });
  const late = Date.now() + MAX_START;
  while (!(await isOpen(port))) {
    if (child.exitCode !== null || Date.now() > late) throw new Error(`${proxy.name} did not start: ${errors}`);
    await sleep(10);
  }
  return port;
}
