/**
 * `portico gateway` in one process: the catalog, the handler, and the HTTP port. `portico server`
 * has the same parts, and creates them with the same functions.
 */
import { join } from "node:path";
import { AttentionRoutes } from "../../gateway/built-in/attention.js";
import { serveBuiltInGrpc } from "../../gateway/built-in/grpc.js";
import type { HealthRoutes } from "../../gateway/built-in/health.js";
import { OAuthAuthority } from "../../gateway/built-in/oauth/authority.js";
import { Documents } from "../../gateway/built-in/oauth/documents.js";
import { OAuthRoutes } from "../../gateway/built-in/oauth/routes.js";
import { PageSessionRoutes } from "../../gateway/built-in/page-sessions.js";
import { Pages } from "../../gateway/built-in/pages.js";
import { RefusalReporter } from "../../gateway/built-in/refusals.js";
import { Usage } from "../../gateway/built-in/usage.js";
import { Catalog, type CatalogOptions } from "../../gateway/catalog/catalog.js";
import { createHandler } from "../../gateway/handler.js";
import { ProtectedResource } from "../../gateway/http/protected-resource.js";
import { fetchDocument } from "../../gateway/node/fetch-document.js";
import { type HttpPort, listen } from "../../gateway/node/listen.js";
import { ServedDocuments } from "../../gateway/openapi/served.js";
import { Hosts } from "../../gateway/stages/cors.js";
import { readConnection, readTypes } from "../../services/registry/connection-contract.js";
import { ContractReader } from "../../services/registry/contract-reader.js";
import type { Authorities } from "../../src/access/follow/authorities.js";
import type { OpenGuard } from "../../src/access/guard.js";
import { type HttpAddress, parseGrpcTarget } from "../../src/address/address.js";
import { accessLogOf } from "../../src/config/access-log.js";
import { type Certificates, followCertificates, HTTP_CERTIFICATES } from "../../src/config/certificates.js";
import { type Config, SETTINGS } from "../../src/config/config.js";
import { ConfigError } from "../../src/config/setting.js";
import { GATEWAY } from "../../src/contract/names.js";
import { externalConnector } from "../../src/process/external-channel.js";
import { joinAuthority, waitForAuthority } from "../../src/process/join.js";
import { listening } from "../../src/process/listen.js";
import { messageLimits, openTransport, type Process } from "../../src/process/process.js";
import { type OpenCallQueue, openCallQueue } from "../../src/process/refusals.js";
import { openTracing } from "../../src/process/tracing.js";
import type { Tracer } from "../../src/telemetry/tracer.js";
import { openAdminPort } from "./admin-port.js";
import { healthOf, problemsOf } from "./readiness.js";
import { processOf } from "./start.js";

/**
 * Starts a gateway that follows the authority and the registry of another process. The process
 * closes its parts in reverse order.
 */
export const startGateway = processOf("gateway", async (opening) => {
  const { config, log, metrics, budget, closed, closeWithProcess, closeLastWithProcess } = opening;
  const tracer = openTracing("portico-gateway", opening);
  const transport = await openTransport({ config, log, budget, closed });
  const joined = closeWithProcess(await joinAuthority(GATEWAY, { config, log }, transport));
  const { guard, enrolment, authorities } = joined;
  const connectTo = externalConnector({ ...config, transport, log });
  const connect: RegistrySource["connect"] = (address, instance, options) =>
    connectTo(parseGrpcTarget(address), instance, options);
  const registry = { channel: joined.channel, authorities, metadata: joined.metadata, log: joined.log, connect };
  const catalog = closeWithProcess(openCatalog(registry, { config, log, budget }));
  const { health, notReady } = healthOf({ guard, catalog, authorities });
  const usage = closeWithProcess(new Usage(registry));
  const refusals = closeWithProcess(new RefusalReporter({ ...registry, authorities: () => authorities.all }));
  const { callQueue } = closeWithProcess(openCallQueue({ byService: () => catalog.refused(), log, metrics }));
  const parts = {
    catalog,
    guard,
    health,
    authorities,
    usage,
    refusals,
    callQueue,
    tracer,
    enrolment,
    authority: new OAuthAuthority(registry),
  };
  const http = closeWithProcess(await openHttpPort(parts, opening));
  const admin = closeLastWithProcess(await openAdminPort({ guard, health, catalog }, opening));
  return { http: addressOf(http, config), admin: admin.address, notReady };
});

/** The address of the open HTTP port. */
export function addressOf({ address }: HttpPort, { http }: Pick<Config, "http">): HttpAddress {
  return "path" in http ? http : address;
}

/**
 * How a catalog follows the registry in this process or in another one, and how it reaches
 * registered services.
 */
export type RegistrySource = Omit<CatalogOptions, "readContract" | "readTypes" | "omitZeros" | "maxMessage">;

/** Opens the catalog. It follows the registry. */
export function openCatalog(
  registry: RegistrySource,
  { config, log, budget }: Pick<Process, "config" | "log" | "budget">,
): Catalog {
  const reader = new ContractReader({ budget, log });
  const readContract: CatalogOptions["readContract"] = (connection, known) => readConnection(connection, known, reader);
  const maxMessage = messageLimits(config).maxBody;
  return new Catalog({ ...registry, readContract, readTypes, omitZeros: config.omitZeros, maxMessage });
}

/** The parts that handle requests on the HTTP port. */
interface HttpPortParts {
  readonly catalog: Catalog;
  readonly guard: OpenGuard;
  readonly health: HealthRoutes;
  /** Set if the authorities are other processes. */
  readonly authorities?: Authorities;
  readonly usage: Usage;
  readonly refusals: RefusalReporter;
  readonly authority: OAuthAuthority;
  readonly callQueue: OpenCallQueue["callQueue"];
  readonly tracer: Tracer | undefined;
  /** The gateway's enrolment token, if the authority is another process. */
  readonly enrolment?: string;
}

/**
 * Opens the HTTP port.
 * @throws {ListenError|ConfigError} when it cannot listen, or when its settings contradict each
 * other.
 */
export async function openHttpPort(
  parts: HttpPortParts,
  {
    config,
    log,
    metrics,
    role,
    budget,
    closed,
  }: Pick<Process, "config" | "log" | "metrics" | "role" | "budget" | "closed">,
): Promise<HttpPort> {
  const { catalog, guard, health, authorities, callQueue } = parts;
  serveBuiltInGrpc({ routes: catalog.routes, guard, health, limits: messageLimits(config), log });
  // scripts/build-web.mjs puts the pages beside the bundle.
  const pages = new Pages({ folder: join(import.meta.dirname, "console") });
  const problems = () => problemsOf({ config, guard, health, authorities });
  const attention = new AttentionRoutes({ routes: catalog.routes, guard, problems });
  const documents = new ServedDocuments({ catalog, guard, publicUrl: config.publicUrl });
  const sessions = new PageSessionRoutes(parts.authority, new ProtectedResource(config));
  const own = [health, documents, attention, oauthOf(parts, config), sessions, pages];
  const hosts = await Hosts.of(config.http, config.httpHosts);
  const accessLog = accessLogOf(log, role, config.http);
  const handler = createHandler({ ...parts, own, hosts, config, log, accessLog, metrics });
  checkProxies(config);
  const tls = followHttpCertificates({ config, log, closed });
  // Another gateway may listen on the same port. If this one opened the port before it is ready, it
  // would refuse calls that the other one can serve.
  await waitForAuthority(Promise.all([guard.ready(), catalog.arrived]));
  const limits = { ...config, budget, callQueue, tls, log };
  const port = await listening("http", config, () => listen(handler, config.http, limits));
  metrics.add("portico_connections", () => port.connections);
  return port;
}

/** The gateway as authorization server. */
function oauthOf({ catalog: { routes }, guard, authority }: HttpPortParts, config: Config): OAuthRoutes {
  const documents = new Documents({ hosts: config.oauthDocuments, fetch: fetchDocument });
  return new OAuthRoutes({ authority, resource: new ProtectedResource(config), documents, routes, guard });
}

/**
 * The certificate of the HTTP port, or undefined when the port has no TLS.
 * @throws {ConfigError}
 */
function followHttpCertificates({
  config,
  log,
  closed,
}: Pick<Process, "config" | "log" | "closed">): Certificates | undefined {
  const certificates = followCertificates(config, { log, signal: closed }, HTTP_CERTIFICATES);
  const { httpTlsClientCa, httpTlsCert } = SETTINGS;
  if (certificates.cert !== undefined && "path" in config.http) {
    const reason = `${SETTINGS.http.variable} is a Unix socket, which no other machine reads`;
    throw new ConfigError(`${httpTlsCert.variable} is set, but ${reason}: leave it out, and let the proxy speak TLS`);
  }
  if (certificates.cert !== undefined) return certificates;
  if (certificates.ca === undefined) return undefined;
  const reason = "clients show certificates only to a port that speaks TLS";
  throw new ConfigError(`${httpTlsClientCa.variable} is set without ${httpTlsCert.variable}: ${reason}`);
}

/**
 * A PROXY header must come from a trusted proxy. Otherwise any client could claim any address.
 * @throws {ConfigError}
 */
function checkProxies({ proxyProtocol, trustedProxies }: Config): void {
  if (proxyProtocol === "none" || !trustedProxies.empty) return;
  const [mode, proxies] = [SETTINGS.proxyProtocol.variable, SETTINGS.trustedProxies.variable];
  throw new ConfigError(`${mode} is ${proxyProtocol} without ${proxies}: name the proxies whose PROXY headers count`);
}
