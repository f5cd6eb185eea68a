/**
 * Opens every call to this process, whether it came over a transport or from the process itself, at its endpoint: finds the
 * endpoint by its path, has the guard admit the call, and runs it (running-call.ts). What all calls of an endpoint need is
 * prepared once, at construction.
 *
 * Health and reflection are served beside the services, without a guard: any caller may know what they answer.
 */
import type { Registry } from "@bufbuild/protobuf";
import type { Logger } from "pino";
import { type Admission, type Guard, SYSTEM } from "../call/admission.js";
import { CLIENT_ADDRESS, CONTEXT, first, type Metadata } from "../call/metadata.js";
import { bearerOf } from "../call/token.js";
import { Callers, type Endpoint, endpointsOf, readDescriptors } from "../contract/endpoint.js";
import { GATEWAY } from "../contract/names.js";
import { Code, StatusError } from "../errors.js";
import { CallQueue } from "../overload/call-queue.js";
import type { CallLimits } from "./call-limits.js";
import type { CallResponder, CallStart, IncomingListener } from "./channel.js";
import type { ServedMethodDefinition } from "./definition.js";
import { HealthStatuses } from "./health.js";
import { Deadlines } from "./open-calls.js";
import { createReflection } from "./reflection.js";
import { type AdmittedCaller, type CallEnvironment, RunningCall, type ServedMethod } from "./running-call.js";
import { grpcServiceOf, type LazyPart, type Service, type ServicePart } from "./service.js";
import { overloaded, status, toError, toStatus } from "./status.js";

export interface DispatcherOptions {
  readonly services: readonly Service[];
  readonly guard: Guard;
  readonly limits: CallLimits;
  readonly log: Logger;
  readonly onEnd?: CallEnvironment["onEnd"];
  readonly callQueue?: CallEnvironment["callQueue"];
  /** Served without a guard; default the health of this process and reflection of the services. */
  readonly unguarded?: readonly Service[];
}

/**
 * Finds a method that this process does not serve itself, for a call to its path with its metadata.
 * @throws {StatusError} where it cannot be said which is meant
 */
export type FindMethod = (path: string, metadata: Metadata) => ServedMethod | undefined;

/** The header with a gateway's enrolment token, by which the client address that it forwards is believed. */
const GATEWAY_TOKEN = "x-portico-gateway";

export class Dispatcher {
  /** SERVING until `stop`; whoever composes the process may say otherwise. */
  readonly health: HealthStatuses;
  /** The endpoints of the services, without health and reflection. */
  readonly endpoints: readonly Endpoint[];
  /** Maximum bytes of a message. */
  readonly maxMessage: number;
  /** Finds methods that are served by forwarding their calls. Calls within the process are not forwarded. */
  forward: FindMethod | undefined;
  readonly #methods = new Map<string, ServedMethod>();
  readonly #guard: Guard;
  readonly #environment: CallEnvironment;
  /** Of calls whose endpoint's code is not loaded yet. */
  readonly #loading: CallEnvironment;
  /** By which those calls take turns once it is. */
  readonly #loadedTurns: CallQueue;

  /** @throws {Error} when the descriptors do not describe the services, or two services serve one path */
  constructor({ services, guard, limits, log, onEnd, callQueue, unguarded }: DispatcherOptions) {
    this.#guard = guard;
    this.maxMessage = limits.maxBody;
    this.#environment = {
      guard,
      admit: this.#admit,
      log,
      callQueue,
      limits,
      deadlines: new Deadlines(),
      onEnd,
    };
    this.#loading = { ...this.#environment, admit: this.#admitLoaded };
    this.#loadedTurns = callQueue ?? new CallQueue();
    this.health = new HealthStatuses(services.flatMap((service) => service.parts.map(grpcServiceOf)));
    const open = unguarded ?? [this.health.service, createReflection([...services, this.health.service])];
    const registries = new Map<Uint8Array, Registry>();
    for (const service of [...services, ...open]) {
      const registry = registries.get(service.descriptors) ?? readDescriptors(service.descriptors);
      registries.set(service.descriptors, registry);
      this.#add(service, registry, open.includes(service));
    }
    this.endpoints = [...this.#methods.values()].flatMap(({ endpoint }) => endpoint ?? []);
  }

  /** All methods that are served, health and reflection included. */
  get methods(): Iterable<ServedMethod> {
    return this.#methods.values();
  }

  /** Maximum bytes of a message to the endpoint of a path. */
  maxRequestOf(path: string): number {
    return this.#methods.get(path)?.endpoint?.maxRequest ?? this.maxMessage;
  }

  /**
   * Opens a call at its endpoint. The reply may be used before this returns.
   * @param start with `admission` and `clientAddress` only where this process itself calls: both are believed
   * @param peer the address at the other end of the transport, without port
   * @param arrived when the call came, in milliseconds of `performance.now()`
   */
  open(start: CallStart, peer: string, reply: CallResponder, arrived = performance.now()): IncomingListener {
    const served = this.#methods.get(start.path) ?? this.#forwarded(start, reply);
    if (served === undefined) return NO_CALL;
    const environment = served.load === undefined ? this.#environment : this.#loading;
    const call = new RunningCall(served, start, peer, reply, environment, arrived);
    call.admit();
    return call;
  }

  /** The method that forwards a call; where there is none, the reply has ended. */
  #forwarded({ path, metadata, admission }: CallStart, reply: CallResponder): ServedMethod | undefined {
    try {
      const found = admission === undefined ? this.forward?.(path, metadata) : undefined;
      if (found !== undefined) return found;
      reply.end(status(Code.UNIMPLEMENTED, `no endpoint is served at ${path}`));
    } catch (error) {
      reply.end(toStatus(StatusError.from(error)));
    }
    return undefined;
  }

  /** Health is NOT_SERVING from now on, and the calls that would never end by themselves are ended. */
  stop(): void {
    this.health.close();
    const reason = new StatusError(Code.UNAVAILABLE, "this process is stopping");
    for (const { running } of this.#methods.values()) for (const call of running ?? []) call.stop(reason);
  }

  #add(service: Service, registry: Registry, unguarded: boolean): void {
    const names = service.parts.map(grpcServiceOf);
    const endpoints = new Map(endpointsOf(service.name, registry, names).map((endpoint) => [endpoint.path, endpoint]));
    for (const part of service.parts) {
      if ("load" in part) {
        this.#addLazy(part, [...endpoints.values()]);
        continue;
      }
      for (const [key, definition] of Object.entries(part.definition)) {
        const endpoint = endpoints.get(definition.path);
        if (endpoint === undefined) throw new Error(`service ${service.name}: no descriptor of ${definition.path}`);
        this.#serve(serve(part, key, definition, endpoint, unguarded));
      }
    }
  }

  /** Adds the endpoints of a part that is loaded for the first call of one of them. */
  #addLazy(part: LazyPart, endpoints: readonly Endpoint[]): void {
    const own = endpoints.filter(({ grpcService }) => grpcService === part.grpcService);
    for (const endpoint of own) {
      const load = async (): Promise<ServedMethod> => {
        const loaded = await part.load();
        const [key, definition] =
          Object.entries(loaded.definition).find(([, { path }]) => path === endpoint.path) ?? [];
        if (key === undefined || definition === undefined) throw new Error(`${endpoint.name} has no implementation`);
        const served = serve(loaded, key, definition, endpoint, false);
        this.#methods.set(endpoint.path, served);
        return served;
      };
      this.#serve(serveLazily(endpoint, load));
    }
  }

  #serve(served: ServedMethod): void {
    if (this.#methods.has(served.path)) throw new Error(`${served.path} is served twice`);
    this.#methods.set(served.path, served);
  }

  /** Loads nothing for a call that is refused; and after loading, the call is judged by the rules of then. */
  readonly #admitLoaded: CallEnvironment["admit"] = async (method, start, peer, opened) => {
    await this.#admit(method, start, peer, opened);
    await method.load?.();
    await this.#turnOf(method);
    return this.#admit(method, start, peer, true);
  };

  /**
   * Calls that have waited for the same code would all run at once, ahead of everything else in the process.
   * @throws {StatusError} (rejects with one) UNAVAILABLE where there are more than can be answered in time
   */
  #turnOf({ path, endpoint }: ServedMethod): Promise<void> | undefined {
    if (endpoint === undefined) return undefined;
    return new Promise((begin, reject) => {
      this.#loadedTurns.wait(path, { begin, refuse: () => reject(toError(overloaded(endpoint.service))) });
    });
  }

  readonly #admit: CallEnvironment["admit"] = ({ endpoint }, start, peer, opened) => {
    const { admission, clientAddress = peer } = start;
    if (endpoint === undefined) return { admission: undefined, clientAddress };
    if (admission !== undefined) {
      // Compared by the resource: another service may have declared this path as its own, and other rules apply to it.
      if (admission !== SYSTEM && admission.endpoint.resource !== endpoint.resource)
        throw misdirected(admission, endpoint);
      return { admission, clientAddress };
    }
    const { token, context, namespace, gateway, client } = readCredentials(start.metadata);
    const admitted = this.#guard.admit({ token, context, opened, namespace, tokenRequired: false }, endpoint);
    if (gateway !== undefined) return this.#admitForwarded(admitted, gateway, endpoint, start.metadata, peer);
    // Whoever can sign a context for this service is a gateway, or a service that acts for the caller.
    const address = context === undefined ? clientAddress : client || clientAddress;
    if (admitted instanceof Promise) return admitted.then((proof) => ({ admission: proof, clientAddress: address }));
    return { admission: admitted, clientAddress: address };
  };

  async #admitForwarded(
    admitted: Admission | Promise<Admission>,
    gateway: string,
    endpoint: Endpoint,
    metadata: Metadata,
    peer: string,
  ): Promise<AdmittedCaller> {
    const admission = await admitted;
    const forwarded = (await this.#isGateway(gateway, endpoint)) ? first(metadata, CLIENT_ADDRESS) : undefined;
    return { admission, clientAddress: forwarded ?? peer };
  }

  /** Whether a token is a gateway's: whether the guard would admit it where only enrolled callers may call. */
  async #isGateway(token: string, endpoint: Endpoint): Promise<boolean> {
    try {
      const credentials = { token, namespace: undefined, tokenRequired: true };
      const { caller } = await this.#guard.admit(credentials, { ...endpoint, callers: Callers.ENROLLED });
      return caller?.enrolment === GATEWAY;
    } catch {
      return false;
    }
  }
}

/** Stands for a call that was ended at once. */
const NO_CALL: IncomingListener = { onMessage() {}, onEnd() {}, onDrain() {}, onCancel() {} };

function serve(
  { implementation }: ServicePart,
  key: string,
  definition: ServedMethodDefinition<unknown, unknown>,
  endpoint: Endpoint,
  unguarded: boolean,
): ServedMethod {
  const { requestStream, responseStream, requestDeserialize, responseSerialize } = definition;
  const run = implementation[key];
  if (run === undefined) throw new Error(`${endpoint.name} has no implementation`);
  const malformed = `the request to ${endpoint.name} is not a ${endpoint.method.input.typeName}`;
  return {
    name: endpoint.name,
    path: endpoint.path,
    endpoint: unguarded ? undefined : endpoint,
    load: undefined,
    requestStream,
    responseStream,
    encode: responseSerialize,
    run: (request, context) => run.call(implementation, request, context),
    // Watches and registrations of gateways and services.
    running: endpoint.callers === Callers.ENROLLED && (requestStream || responseStream) ? new Set() : undefined,
    decode(bytes) {
      try {
        return requestDeserialize(bytes as Buffer);
      } catch (cause) {
        throw new StatusError(Code.INVALID_ARGUMENT, malformed, { cause });
      }
    },
  };
}

/** An endpoint whose code is not loaded yet. Calls that came before it was are answered by what `load` gives. */
function serveLazily(endpoint: Endpoint, load: () => Promise<ServedMethod>): ServedMethod {
  const { clientStreaming, serverStreaming } = endpoint.method.proto;
  let loaded: ServedMethod | undefined;
  const get = (): ServedMethod => {
    if (loaded === undefined) throw new Error(`${endpoint.name} is not loaded`);
    return loaded;
  };
  return {
    name: endpoint.name,
    path: endpoint.path,
    endpoint,
    load: async () => {
      loaded ??= await load();
    },
    requestStream: clientStreaming,
    responseStream: serverStreaming,
    decode: (bytes) => get().decode(bytes),
    encode: (response) => get().encode(response),
    run: (request, context) => get().run(request, context),
    running: undefined,
  };
}

/** The metadata by which the caller is known. */
interface Credentials {
  /** The bearer token, by the scheme of the header; whether it is a token is for the guard. */
  readonly token: string | undefined;
  /** The signed context, which counts instead of token and namespace. */
  readonly context: string | undefined;
  readonly namespace: string | undefined;
  /** The token of the gateway that forwards the call. */
  readonly gateway: string | undefined;
  /** The client's IP address, as the caller says. */
  readonly client: string | undefined;
}

/**
 * @throws {StatusError} UNAUTHENTICATED when there are two tokens or two contexts
 */
function readCredentials(metadata: Metadata): Credentials {
  let authorization: string | Uint8Array | undefined;
  let context: string | undefined;
  let namespace: string | undefined;
  let gateway: string | undefined;
  let client: string | undefined;
  for (const [name, value] of metadata) {
    if (name === "authorization") {
      if (authorization !== undefined) {
        throw new StatusError(Code.UNAUTHENTICATED, "the metadata holds two authorization entries: send one");
      }
      authorization = value;
    } else if (typeof value !== "string") continue;
    else if (name === CONTEXT) {
      if (context !== undefined) {
        throw new StatusError(Code.UNAUTHENTICATED, `the metadata holds two ${CONTEXT} entries: send one`);
      }
      context = value;
    } else if (name === "platform-namespace") namespace ??= value;
    else if (name === GATEWAY_TOKEN) gateway ??= value;
    else if (name === CLIENT_ADDRESS) client ??= value;
  }
  const token = typeof authorization === "string" ? bearerOf(authorization) : undefined;
  return { token, context, namespace, gateway, client };
}

function misdirected(admission: Admission, endpoint: Endpoint): StatusError {
  const cause = new Error(`a call to ${endpoint.name} carries an admission to ${admission.endpoint.name}`);
  return new StatusError(Code.INTERNAL, "Internal error", { cause });
}
