// Behind real proxies the port knows the client, and ignores what the client states about itself.
// Clients connect from 127.0.0.2. Proxies connect from 127.0.0.1, which is the only trusted
// address.
import { existsSync } from "node:fs";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { connect as connectTls } from "node:tls";
import { pino } from "pino";
import t, { type Test } from "tap";
import type { RequestHandler } from "../../../../gateway/http/message.js";
import { TrustedProxies } from "../../../../src/address/client-address.js";
import { createAuthority } from "../../../http2/certificates.js";
import { type Limits, open, response } from "../dial.js";
import { isMissing, type Proxy as RealProxy, startProxy } from "./proxies.js";

const CLIENT = "127.0.0.2";
const PROXY = "127.0.0.1";
const FORGED = "203.0.113.66";
const NGINX_STREAM = "/usr/lib/nginx/modules/ngx_stream_module.so";

const authority = createAuthority("authority");
const tls = authority.issue("localhost");

const haproxy = (port: number, server: string, mode: string, settings: string, send: string): string => `
defaults
  mode ${mode}
  timeout connect 10s
  timeout client 30s
  timeout server 30s
  retries 0
frontend door
  bind 127.0.0.1:${port}
  ${settings}
  default_backend gateway
backend gateway
  server gateway ${server} ${send}
`;

const nginx = (port: number, server: string, settings: string): string => `
${process.getuid?.() === 0 ? "user root;" : ""}
daemon off;
master_process off;
pid nginx.pid;
error_log stderr crit;
events {}
http {
  access_log off;
  ${["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((kind) => `${kind}_temp_path ${kind};`).join(" ")}
  map $remote_addr $forwarded_element {
    ~^[0-9.]+$ "for=$remote_addr";
    ~^[0-9A-Fa-f:.]+$ "for=\\"[$remote_addr]\\"";
    default "for=unknown";
  }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://${server};
      proxy_http_version 1.1;
      ${settings}
    }
  }
}`;

const nginxStream = (port: number, server: string): string => `
load_module ${NGINX_STREAM};
${process.getuid?.() === 0 ? "user root;" : ""}
daemon off;
master_process off;
pid nginx.pid;
error_log stderr crit;
events {}
stream {
  server {
    listen 127.0.0.1:${port};
    proxy_pass ${server};
    proxy_protocol on;
  }
}`;

const haproxyTcp = (send: string): RealProxy => ({
  name: `haproxy with ${send}`,
  program: "haproxy",
  configuration: (port, server) => haproxy(port, server, "tcp", "", send),
});
const FORWARDFOR: RealProxy = {
  name: "haproxy with option forwardfor",
  program: "haproxy",
  configuration: (port, server) => haproxy(port, server, "http", "option forwardfor", ""),
};
const UNOFFICIAL: RealProxy = {
  name: "nginx with X-Forwarded-For",
  program: "nginx",
  configuration: (port, server) =>
    nginx(port, server, "proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; proxy_set_header Host x;"),
};
const OFFICIAL: RealProxy = {
  name: "nginx with Forwarded",
  program: "nginx",
  configuration: (port, server) =>
    nginx(port, server, 'proxy_set_header Forwarded "$http_forwarded, $forwarded_element"; proxy_set_header Host x;'),
};
const STREAM: RealProxy = { name: "nginx with proxy_protocol on", program: "nginx", configuration: nginxStream };

interface Chain {
  readonly proxies: readonly RealProxy[];
  readonly proxyProtocol?: "accept" | "require";
  readonly skip?: string | false;
  /**
   * The address that the port reports when the client sends the header that the last proxy does not
   * set.
   */
  readonly other: string;
}

const CHAINS: readonly Chain[] = [
  { proxies: [FORWARDFOR], other: PROXY },
  { proxies: [UNOFFICIAL], other: PROXY },
  { proxies: [OFFICIAL], other: PROXY },
  { proxies: [FORWARDFOR, UNOFFICIAL], other: PROXY },
  { proxies: [haproxyTcp("send-proxy")], proxyProtocol: "require", other: CLIENT },
  { proxies: [haproxyTcp("send-proxy-v2")], proxyProtocol: "accept", other: CLIENT },
  {
    proxies: [STREAM],
    proxyProtocol: "require",
    other: CLIENT,
    skip: !existsSync(NGINX_STREAM) && "this nginx has no module for streams",
  },
];

const whose: RequestHandler = ({ remoteAddress, error }) =>
  response(error === undefined ? `<${remoteAddress}>` : "fault", 200);

function ask(port: number, bytes: string): Promise<string> {
  const socket = connect({ port, host: "127.0.0.1", localAddress: CLIENT });
  socket.on("error", () => {}); // A reset counts as an end here.
  socket.write(bytes);
  return text(socket);
}

const get = (...headers: readonly string[]): string =>
  `GET / HTTP/1.1\r\nHost: x\r\n${headers.map((header) => `${header}\r\n`).join("")}Connection: close\r\n\r\n`;

/**
 * Starts proxies, the last one before a port.
 * @returns the port of the first proxy
 */
async function startChain(t: Test, { proxies, proxyProtocol }: Chain, limits: Partial<Limits> = {}): Promise<number> {
  const log = pino({ level: "silent" });
  const { address } = await open(t, whose, {
    ...{ trustedProxies: TrustedProxies.parse(PROXY), proxyProtocol, log },
    ...limits,
  });
  let { port } = address;
  for (const proxy of proxies.toReversed()) port = await startProxy(t, proxy, `127.0.0.1:${port}`, "");
  return port;
}

t.jobs = 4;
for (const chain of CHAINS) {
  const { proxies, skip, other } = chain;
  const missing = skip || proxies.map(isMissing).find((why) => why !== false) || false;
  t.test(`through ${proxies.map(({ name }) => name).join(" and ")}`, { skip: missing }, async (t) => {
    const port = await startChain(t, chain);
    t.match(await ask(port, get()), `<${CLIENT}>`);
    const isOfficial = proxies.at(-1) === OFFICIAL;
    const own = ["X-Forwarded-For: ", "Forwarded: for="] as const;
    const [same, unknown] = isOfficial ? own.toReversed() : own;
    for (const forged of [
      FORGED,
      `${FORGED}, ${same === own[1] ? "for=" : ""}10.0.0.1`,
      "unknown",
      "_hidden",
      '"',
      "",
    ]) {
      t.match(await ask(port, get(`${same}${forged}`)), `<${CLIENT}>`, `${same}${forged}`);
    }
    for (const forged of [`${unknown}${FORGED}`, `${unknown}"[2001:db8::66]:80"`, `${unknown}unknown`]) {
      t.match(await ask(port, get(forged)), `<${other}>`, forged);
    }
    t.notMatch(await ask(port, `PROXY TCP4 ${FORGED} 10.0.0.1 1 2\r\n${get()}`), FORGED);
  });
}

for (const send of ["send-proxy", "send-proxy-v2"]) {
  const proxy = haproxyTcp(send);
  t.test(`TLS through ${proxy.name}`, { skip: isMissing(proxy) }, async (t) => {
    const port = await startChain(t, { proxies: [proxy], proxyProtocol: "require", other: CLIENT }, { tls });
    const below = connect({ port, host: "127.0.0.1", localAddress: CLIENT });
    const socket = connectTls({ socket: below, ca: authority.cert, servername: "localhost" });
    socket.write(get());
    t.match(await text(socket), `<${CLIENT}>`);
  });
}
