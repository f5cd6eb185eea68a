/**
 * A whole Portico in this process, for tests of the gateway: the real authority, registry, guard
 * and dispatcher behind a gateway. It has the services helloworld and probe. A third one, `gone`,
 * has an address at which no server listens.
 */

import { serveBuiltInGrpc } from "../../gateway/built-in/grpc.js";
import { HealthRoutes } from "../../gateway/built-in/health.js";
import { OAuthAuthority } from "../../gateway/built-in/oauth/authority.js";
import { Documents } from "../../gateway/built-in/oauth/documents.js";
import { OAuthRoutes } from "../../gateway/built-in/oauth/routes.js";
import { PageSessionRoutes } from "../../gateway/built-in/page-sessions.js";
import { Catalog, type CatalogOptions } from "../../gateway/catalog/catalog.js";
import { createHandler } from "../../gateway/handler.js";
import { readHeaders } from "../../gateway/http/headers.js";
import {
  type BuiltInRoutes,
  type GatewayRequest,
  type GatewayResponse,
  isStream,
  type RequestHandler,
} from "../../gateway/http/message.js";
import { ProtectedResource } from "../../gateway/http/protected-resource.js";
import { fetchDocument } from "../../gateway/node/fetch-document.js";
import { listen } from "../../gateway/node/listen.js";
import { ServedDocuments } from "../../gateway/openapi/served.js";
import { Hosts } from "../../gateway/stages/cors.js";
import type { CallCounter, RefusalLog } from "../../gateway/stages/options.js";
import { openAuthority } from "../../services/auth/authority.js";
import { readConnection, readTypes } from "../../services/registry/connection-contract.js";
import { createRegistry } from "../../services/registry/registry.js";
import { OpenGuard, type SigningGuard, SYSTEM } from "../../src/access/guard.js";
import { type Address, parseAddress } from "../../src/address/address.js";
import type { Certificates } from "../../src/config/certificates.js";
import { type Flags, loadConfig } from "../../src/config/config.js";
import type { ExternalService } from "../../src/config/configured-services.js";
import { type Instance, Joined } from "../../src/gen/portico/registry/v1/registry.js";
import { createLog } from "../../src/log.js";
import type { MemoryBudget } from "../../src/memory/memory-budget.js";
import { Metrics } from "../../src/metrics.js";
import type { CallQueue } from "../../src/overload/call-queue.js";
import type { CallStart, Channel, Verify } from "../../src/rpc/channel.js";
import { Dispatcher } from "../../src/rpc/dispatch.js";
import { Http2Channel } from "../../src/rpc/http2/channel.js";
import { InProcessChannel } from "../../src/rpc/in-process/channel.js";
import { grpcServiceOf, type Service } from "../../src/rpc/service.js";
import type { Tracer } from "../../src/telemetry/tracer.js";
import { asBuffer } from "../../src/wire/buffer.js";
import { withBindings } from "../support/bound.js";
import { helloworld } from "../support/helloworld.js";
import { openMemoryStore } from "../support/memory-store.js";
import { CHEAP } from "../support/passwords.js";
import { until } from "../support/until.js";
import type { HttpPort } from "./node/dial.js";
import { createProbe } from "./probe.js";

export const ADMIN_PASSWORD = "correct horse battery";

type ConnectOptions = Parameters<CatalogOptions["connect"]>[2];

export interface Deployment {
  readonly handler: RequestHandler;
  readonly gateway: HttpPort;
  readonly catalog: Catalog;
  readonly health: HealthRoutes;
  readonly oauth: OAuthRoutes;
  readonly pageSessions: PageSessionRoutes;
  readonly guard: OpenGuard;
  readonly metrics: Metrics;
  /** The log, one object for each line. */
  readonly logged: Record<string, unknown>[];
  /** Canonical resources that the gateway asked the guard about, in order. */
  readonly decided: string[];
  /** Canonical resources of the endpoints that the gateway opened calls to, in order. */
  readonly dispatched: string[];
  /** The options with which these calls were opened. */
  readonly starts: CallStart[];
  /** Registers another service of this process. */
  add(instance: Partial<Instance>): () => void;
  /** Follows these external services instead of the previous ones. */
  configure(external: readonly ExternalService[]): void;
  close(): Promise<void>;
}

export interface DeployOptions {
  readonly flags?: Flags;
  readonly level?: string;
  /** Clocks of the authority, instead of the machine's. */
  readonly clocks?: Parameters<typeof openAuthority>[0]["clocks"];
  /** Notified of the calls to the service probe. */
  readonly events?: Parameters<typeof createProbe>[0];
  /** Built-in routes besides health and documents. */
  readonly own?: readonly BuiltInRoutes[];
  /**
   * Whether each endpoint has a binding of `google.api.http`: POST at `/bound` and its gRPC path.
   */
  readonly bound?: boolean;
  /** Services besides helloworld and probe. */
  readonly services?: readonly Service[];
  /** Services that join by configuration. Their contracts have been read. */
  readonly external?: readonly ExternalService[];
  readonly heartbeatMs?: number;
  readonly stallMs?: number;
  /** Counts the gateway's calls, instead of the limits of the guard. */
  readonly count?: SigningGuard["count"];
  /** Remembers refused calls. */
  readonly refusals?: RefusalLog;
  /** Counts calls. */
  readonly usage?: CallCounter;
  /** An option of the port. */
  readonly maxThrottleMs?: number;
  readonly budget?: MemoryBudget;
  /** With certificates the port speaks TLS. */
  readonly tls?: Certificates | undefined;
  /** Default: requests begin at once. */
  readonly callQueue?: CallQueue;
  /** Traces requests of the gateway, and calls that the services of this process serve. */
  readonly tracer?: Tracer;
  /** An option of the catalog. */
  readonly maxMessage?: number;
  /** How instances with an address are reached; default: by our own HTTP/2. */
  readonly connect?: (address: Address, verify?: Verify, ip?: string, maxBody?: number) => Channel;
  /** An option of the catalog. */
  readonly lookup?: (host: string) => Promise<readonly string[]>;
  readonly lookMs?: number;
  /** An option of the catalog; default: by reflection. */
  readonly readTypes?: CatalogOptions["readTypes"];
}

export async function deploy(dataFolder: string, options: DeployOptions = {}): Promise<Deployment> {
  const config = loadConfig(
    { http: "127.0.0.1:0", httpHosts: "portico.test,x", data: dataFolder, ...options.flags },
    {},
  );
  const logged: Record<string, unknown>[] = [];
  const log = createLog(options.level ?? "info", { write: (line) => logged.push(JSON.parse(line)) });
  const metrics = new Metrics();
  const decided: string[] = [];
  const dispatched: string[] = [];
  const starts: CallStart[] = [];

  const store = openMemoryStore();
  const authority = await openAuthority({
    store,
    dataFolder,
    adminPassword: ADMIN_PASSWORD,
    passwordCost: CHEAP,
    maxRules: config.maxRules,
    leaseMs: config.lease,
    clocks: options.clocks,
    log,
  });
  let guard: OpenGuard | undefined;
  const lateGuard: SigningGuard = {
    admit: (credentials, endpoint) => (guard as OpenGuard).admit(credentials, endpoint),
    admitAtOnce: (credentials, endpoint) => (guard as OpenGuard).admitAtOnce(credentials, endpoint),
    allows: (...asked) => (guard as OpenGuard).allows(...asked),
    count: (admission, call) => (guard as OpenGuard).count(admission, call),
    follow: (admission, listener) => (guard as OpenGuard).follow(admission, listener),
    assertionOf: (admission) => (guard as OpenGuard).assertionOf(admission),
    onChange: (listener) => (guard as OpenGuard).onChange(listener),
  };
  const registry = createRegistry({
    guard: lateGuard,
    external: options.external ?? [],
    owners: authority.grpcNames,
    serviceLog: authority.serviceLog,
    connect: (target) => new Http2Channel(target),
    log,
  });
  const services: Service[] = [authority.service, registry.service, helloworld, createProbe(options.events)];
  services.push(...(options.services ?? []));
  // A small limit for bodies at the gateway must not limit the messages of the registry.
  const inside = { ...config, maxBody: 4 * 1024 ** 2 };
  const dispatcher = new Dispatcher({ services, guard: lateGuard, limits: inside, log, tracer: options.tracer });
  const own = new InProcessChannel(dispatcher);
  guard = new OpenGuard({ channel: own, admission: SYSTEM, log });

  const join = ({ descriptors = asBuffer(helloworld.descriptors), ...instance }: Partial<Instance>) =>
    registry.add({
      service: "helloworld",
      id: "1",
      addresses: [],
      descriptors,
      grpcServices: ["helloworld.Helloworld"],
      reflected: false,
      joined: Joined.JOINED_UNSPECIFIED,
      identity: false,
      bindingPrefix: "",
      store: undefined,
      metadata: [],
      options: undefined,
      weight: 0,
      ...instance,
    });
  const add = (instance: Partial<Instance>): (() => void) => {
    const joined = join(instance);
    return () => void joined.then((leave) => leave());
  };
  for (const { name, parts, descriptors, bindingPrefix = "", metadata = [] } of services) {
    const grpcServices = parts.map(grpcServiceOf);
    const announced = options.bound ? withBindings(descriptors) : asBuffer(descriptors);
    await join({ service: name, descriptors: announced, grpcServices, bindingPrefix, metadata: [...metadata] });
  }
  await join({ service: "gone", addresses: ["127.0.0.1:1"] });
  await registry.tried();

  const resources = new Map(dispatcher.endpoints.map(({ path, resource }) => [path, resource]));
  const {
    connect: reach = (address: Address, verify?: Verify, ip?: string, maxBody?: number) =>
      new Http2Channel(address, { verify, ip, maxBody }),
  } = options;
  const connect = (address: string, _instance: unknown, { verify, ip, maxBody }: ConnectOptions): Channel => {
    if (!address.startsWith("in-process:")) return reach(parseAddress(address), verify, ip, maxBody);
    const channel = new InProcessChannel(dispatcher);
    return recording(channel, (start) => {
      starts.push(start);
      dispatched.push(resources.get(start.path) ?? start.path);
    });
  };
  const { maxMessage = inside.maxBody } = options;
  const readContract = readConnection;
  const { lookup, lookMs } = options;
  const names = { ...(lookup === undefined ? {} : { lookup }), ...(lookMs === undefined ? {} : { lookMs }) };
  const catalog = new Catalog({
    channel: own,
    admission: SYSTEM,
    connect,
    readContract,
    readTypes: options.readTypes ?? readTypes,
    maxMessage,
    log,
    ...names,
  });
  const health = new HealthRoutes({ guard: () => guard.state === "ready", catalog: () => catalog.ready });
  serveBuiltInGrpc({ routes: catalog.routes, guard, health, limits: inside, log });
  const toAuthority = new OAuthAuthority({ channel: own, admission: SYSTEM });
  const resource = new ProtectedResource(config);
  const pageSessions = new PageSessionRoutes(toAuthority, resource);
  const oauth = new OAuthRoutes({
    authority: toAuthority,
    resource,
    documents: new Documents({ hosts: config.oauthDocuments, fetch: fetchDocument }),
    routes: catalog.routes,
    guard,
  });
  const handler = createHandler({
    catalog,
    refusals: options.refusals,
    usage: options.usage,
    guard: {
      ...lateGuard,
      count: options.count ?? lateGuard.count,
      admit(credentials, endpoint) {
        decided.push(endpoint.resource);
        return guard.admit(credentials, endpoint);
      },
      admitAtOnce(credentials, endpoint) {
        let isDecided = true;
        try {
          const admission = guard.admitAtOnce(credentials, endpoint);
          isDecided = admission !== undefined;
          return admission;
        } finally {
          if (isDecided) decided.push(endpoint.resource);
        }
      },
    },
    own: [health, new ServedDocuments({ catalog, guard }), oauth, pageSessions, ...(options.own ?? [])],
    hosts: await Hosts.of(config.http, config.httpHosts),
    config,
    log,
    metrics,
    heartbeatMs: options.heartbeatMs,
    callQueue: options.callQueue,
    tracer: options.tracer,
  });
  const gateway = await listen(handler, config.http, {
    ...config,
    heartbeatMs: options.heartbeatMs,
    stallMs: options.stallMs,
    maxThrottleMs: options.maxThrottleMs,
    budget: options.budget,
    tls: options.tls,
    callQueue: options.callQueue,
  });
  await guard.ready();
  await arrival(catalog);
  return {
    ...{
      handler,
      gateway,
      catalog,
      health,
      oauth,
      pageSessions,
      guard,
      metrics,
      logged,
      decided,
      dispatched,
      starts,
      add,
    },
    configure: registry.configure,
    async close() {
      await gateway.close(0);
      catalog.close();
      registry.close();
      await guard.close();
      await authority.close();
      own.close();
      await store.close();
    },
  };
}

/**
 * Resolves when the catalog has arrived. It comes in process, so that takes only a few turns of the
 * event loop.
 */
async function arrival(catalog: Catalog): Promise<void> {
  await until(() => catalog.ready);
}

function recording(channel: Channel, onOpen: (start: CallStart) => void): Channel {
  return {
    open(start, listener) {
      onOpen(start);
      return channel.open(start, listener);
    },
    get state() {
      return channel.state;
    },
    close: () => channel.close(),
  };
}

export interface Answer {
  readonly status: number;
  /** By name in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Calls the handler as a function. */
export async function ask(
  handler: RequestHandler,
  request: { method?: string; target: string; headers?: readonly string[]; body?: string | undefined },
): Promise<Answer> {
  const body = Buffer.from(request.body ?? "");
  const headers = [...(request.headers ?? [])];
  if (!headers.includes("Host")) headers.unshift("Host", "portico.test");
  if (request.body !== undefined) headers.push("Content-Length", String(body.length));
  const asked: GatewayRequest = {
    method: request.method ?? "GET",
    target: request.target,
    rawHeaders: headers,
    headers: readHeaders(headers),
    remoteAddress: "192.0.2.1",
    body: () => [body],
    arrivedBody: () => [body],
    chunks() {
      throw new Error("an endpoint that reads a body in chunks must be called over HTTP");
    },
    tryReserveResponse: () => true,
    tryReserveBody: () => true,
    onAbort() {},
  };
  return readable(await handler(asked));
}

function readable({ status, headers, body }: GatewayResponse): Answer {
  const byName: Record<string, string> = {};
  for (let at = 0; at < headers.length; at += 2) {
    const name = (headers[at] as string).toLowerCase();
    const value = headers[at + 1] as string;
    // Vary is a list, so several lines of it count as one (RFC 9110 §5.3).
    if (name in byName && name !== "vary") throw new Error(`the response has two headers ${name}`);
    byName[name] = name in byName ? `${byName[name]}, ${value}` : value;
  }
  if (isStream(body)) throw new Error("the response is a stream");
  return { status, headers: byName, body: typeof body === "string" ? body : Buffer.from(body).toString() };
}

/** A JSON POST, as a function call. Returns the parsed response. */
export async function post(
  handler: RequestHandler,
  target: string,
  message: object,
  token?: string,
): Promise<Record<string, unknown>> {
  const headers = [
    "Content-Type",
    "application/json",
    ...(token === undefined ? [] : ["Authorization", `Bearer ${token}`]),
  ];
  const { status, body } = await ask(handler, { method: "POST", target, headers, body: JSON.stringify(message) });
  if (status !== 200) throw new Error(`${target}: ${body}`);
  return JSON.parse(body);
}

/** Logs in, and returns the access token. */
export async function login(
  handler: RequestHandler,
  account: string,
  password = ADMIN_PASSWORD,
  namespace = "",
): Promise<string> {
  return String((await post(handler, "/auth/login", { account, password, namespace })).accessToken);
}
