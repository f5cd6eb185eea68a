/** `portico gateway` in one process: the catalog, the handler, and the HTTP port. `portico server` has the same parts. */
import { join } from "node:path";
import { Catalog, type CatalogOptions } from "../../gateway/catalog/catalog.js";
import type { Routes } from "../../gateway/catalog/routes.js";
import { createHandler } from "../../gateway/handler.js";
import { listen } from "../../gateway/node/listen.js";
import { ServedDocuments } from "../../gateway/openapi/served.js";
import { serveOwnGrpc } from "../../gateway/own/grpc.js";
import { Health } from "../../gateway/own/health.js";
import { Pages } from "../../gateway/own/pages.js";
import { Usage } from "../../gateway/own/usage.js";
import { Hosts } from "../../gateway/stages/cors.js";
import type { Authority } from "../../services/auth/authority.js";
import { readConnection, readTypes } from "../../services/registry/connection-contract.js";
import { ContractReader } from "../../services/registry/contract-reader.js";
import type { OpenGuard } from "../../src/access/guard.js";
import { type Address, parseGrpcTarget } from "../../src/address/address.js";
import { type Certificates, followCertificates, HTTP_CERTIFICATES } from "../../src/config/certificates.js";
import { type Config, ConfigError, SETTINGS } from "../../src/config/config.js";
import { GATEWAY } from "../../src/contract/names.js";
import { messageLimits, type ProcessContext } from "../../src/process/context.js";
import { joinAuthority, waitForAuthority } from "../../src/process/join.js";
import { listening } from "../../src/process/listen.js";
import { openCallQueue, reportRefused } from "../../src/process/refusals.js";
import { openAdminPort } from "./admin-port.js";
import { whyNotReady } from "./readiness.js";
import { processOf, type Running } from "./start.js";

/** Starts a gateway that follows the authority and the registry of another process. */
export const startGateway = processOf(async (context) => {
  const { guard, enrolment, ...registry } = await joinAuthority(context, GATEWAY);
  const connect: CatalogOptions["connect"] = (address, _instance, options) =>
    context.transport.connect(parseGrpcTarget(address), options);
  return openGateway(context, { registry: { ...registry, connect }, guard, enrolment });
});

/** The certificate of the HTTP port; undefined where it speaks plain text. @throws {ConfigError} */
function followHttpCertificates({ config, log, shutdown }: ProcessContext): Certificates | undefined {
  const closing = new AbortController();
  shutdown.add(() => closing.abort());
  const certificates = followCertificates(config, { log, signal: closing.signal }, HTTP_CERTIFICATES);
  if (certificates.cert !== undefined) return certificates;
  if (certificates.ca === undefined) return undefined;
  const { httpTlsClientCa, httpTlsCert } = SETTINGS;
  const reason = "clients show certificates only to a port that speaks TLS";
  throw new ConfigError(`${httpTlsClientCa.variable} is set without ${httpTlsCert.variable}: ${reason}`);
}

/** Anyone could name himself by a PROXY header that is taken from anyone. @throws {ConfigError} */
function checkProxies({ proxyProtocol, trustedProxies }: Config): void {
  if (proxyProtocol === "none" || !trustedProxies.empty) return;
  const [mode, proxies] = [SETTINGS.proxyProtocol.variable, SETTINGS.trustedProxies.variable];
  throw new ConfigError(`${mode} is ${proxyProtocol} without ${proxies}: name the proxies whose PROXY headers count`);
}

/** What a gateway follows, in this process or in another. */
interface GatewayOptions {
  /** How to follow the registry, and to reach what is registered. */
  readonly registry: Omit<CatalogOptions, "readContract">;
  readonly guard: OpenGuard;
  /** The gateway's enrolment token, where the authority is another process. */
  readonly enrolment?: string;
  /** What is wrong with the authority of this process, where it has one. */
  readonly faults?: Authority["faults"];
}

/**
 * Opens the catalog that follows the registry, the handler, the HTTP port and the admin port.
 * @throws {CommandError} when a port cannot be listened on.
 */
export async function openGateway(
  context: ProcessContext,
  { registry, guard, enrolment, faults }: GatewayOptions,
): Promise<{ http: Address; admin: Address; notReady: Running["notReady"]; routes: Routes }> {
  const { config, log, metrics, budget, shutdown } = context;
  const { omitZeros, publicUrl } = config;
  const reader = new ContractReader({ budget, log });
  const readContract: CatalogOptions["readContract"] = (connection, known) => readConnection(connection, known, reader);
  const options = { ...registry, readContract, readTypes };
  const catalog = new Catalog({ ...options, omitZeros, maxMessage: messageLimits(config).maxBody });
  shutdown.add(() => catalog.close());
  const notReady = () => whyNotReady(health.missing, { guard, catalog }, registry.authorities?.all);
  const needs = { guard: () => guard.state === "ready", catalog: () => catalog.ready };
  const health: Health = new Health(needs, { why: notReady, faults });
  serveOwnGrpc({ routes: catalog.routes, guard, health, limits: messageLimits(config), log });
  // scripts/build-web.mjs puts the pages beside the bundle.
  const pages = new Pages({ folder: join(import.meta.dirname, "console") });
  const documents = new ServedDocuments({ catalog, guard, omitZeros, publicUrl });
  const usage = new Usage(options);
  shutdown.add(() => usage.close());
  const own = [health, documents, pages];
  const hosts = await Hosts.of(config.http, config.httpHosts);
  const callQueue = openCallQueue(context);
  reportRefused(context, () => catalog.refused());
  const handler = createHandler({ catalog, guard, own, hosts, config, enrolment, log, metrics, usage, callQueue });
  checkProxies(config);
  const tls = followHttpCertificates(context);
  // A port that is open before the gateway can answer refuses calls that another gateway on it would have answered.
  await waitForAuthority(Promise.all([guard.ready(), catalog.arrived]));
  const server = await listening("http", config, () =>
    listen(handler, config.http, { ...config, budget, callQueue, tls, log }),
  );
  shutdown.onBegin(() => server.leave());
  shutdown.add((drainMs) => server.close(drainMs));
  const admin = await openAdminPort(context, health);
  return { http: server.address, admin, notReady, routes: catalog.routes };
}
