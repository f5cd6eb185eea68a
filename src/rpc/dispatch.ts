/**
 * Opens every call to this process at its endpoint, whether the call came over a transport or from
 * the process itself. It finds the endpoint by its path, asks the guard to admit the call, and runs
 * it (running-call.ts). What all calls of an endpoint need is prepared once, in the constructor.
 *
 * Health and reflection are served beside the services, without a guard: any caller may read them.
 */
import type { Registry } from "@bufbuild/protobuf";
import type { Logger } from "pino";
import { type Admission, type Guard, type Credentials as GuardCredentials, SYSTEM } from "../call/admission.js";
import { CLIENT_ADDRESS, CONTEXT, type Metadata } from "../call/metadata.js";
import { bearerOf } from "../call/token.js";
import { Callers, type Endpoint, endpointsOf, readDescriptors } from "../contract/endpoint.js";
import { GATEWAY } from "../contract/names.js";
import { Code, StatusError } from "../errors.js";
import { CallQueue } from "../overload/call-queue.js";
import type { Tracer } from "../telemetry/tracer.js";
import type { CallLimits } from "./call-limits.js";
import type { CallResponder, CallStart, IncomingListener } from "./channel.js";
import type { ServedMethodDefinition } from "./definition.js";
import { HealthStatuses } from "./health.js";
import { Deadlines } from "./open-calls.js";
import { createReflection } from "./reflection.js";
import { RunningCall } from "./running-call.js";
import type { AdmittedCaller, CallEnvironment, ServedMethod } from "./served-method.js";
import { grpcServiceOf, type LazyPart, type Service, type ServicePart } from "./service.js";
import { overloaded, status, toError, toStatus } from "./status.js";
import { traceServed } from "./traced-call.js";

export interface DispatcherOptions {
  readonly services: readonly Service[];
  readonly guard: Guard;
  readonly limits: CallLimits;
  readonly log: Logger;
  readonly onEnd?: CallEnvironment["onEnd"];
  readonly callQueue?: CallEnvironment["callQueue"];
  /** Traces the calls whose callers have sampled them. */
  readonly tracer?: Tracer | undefined;
  /**
   * Services that are served without a guard. Default: the health of this process, and reflection
   * of the services.
   */
  readonly unguarded?: readonly Service[];
}

/**
 * Finds a method that this process forwards instead of serving it, by the path and metadata of a
 * call.
 * @throws {StatusError} when it is ambiguous which method the call means
 */
export type FindMethod = (path: string, metadata: Metadata) => ServedMethod | undefined;

/**
 * The header with a gateway's enrolment token. With it the dispatcher trusts the client address
 * that the gateway forwards.
 */
const GATEWAY_TOKEN = "x-portico-gateway";

export class Dispatcher {
  /** SERVING until `stop`, unless the code that composes the process changes it. */
  readonly health: HealthStatuses;
  /** The endpoints of the services, without health and reflection. */
  readonly endpoints: readonly Endpoint[];
  /** Maximum bytes of a message. */
  readonly maxMessage: number;
  /**
   * Finds methods that are served by forwarding their calls. Calls from this process are not
   * forwarded.
   */
  forward: FindMethod | undefined;
  readonly #methods = new Map<string, ServedMethod>();
  readonly #guard: Guard;
  readonly #tracer: Tracer | undefined;
  readonly #environment: CallEnvironment;
  /** The environment of calls to an endpoint whose code is not loaded yet. */
  readonly #loading: CallEnvironment;
  /** Calls that waited for the code then wait in this queue for their turn. */
  readonly #loadedTurns: CallQueue;

  /**
   * @throws {Error} when the descriptors do not describe the services, or two services serve the
   * same path
   */
  constructor({ services, guard, limits, log, onEnd, callQueue, tracer, unguarded }: DispatcherOptions) {
    this.#guard = guard;
    this.#tracer = tracer;
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

  /** All methods that are served, including health and reflection. */
  get methods(): Iterable<ServedMethod> {
    return this.#methods.values();
  }

  /**
   * Maximum bytes of a message of a call from another process.
   * @param usual the maximum of the server; the limit of a configured service may be higher
   */
  maxRequestOf(path: string, metadata: Metadata, usual = this.maxMessage): number {
    const served = this.#methods.get(path);
    if (served !== undefined) return Math.min(served.endpoint?.maxRequest ?? this.maxMessage, usual);
    try {
      return this.forward?.(path, metadata)?.maxMessage ?? usual;
    } catch {
      // `open` reports the error.
      return usual;
    }
  }

  /**
   * Opens a call at its endpoint. The reply may be used before this returns.
   * @param start has `admission` and `clientAddress` only when this process itself calls: both are
   * trusted
   * @param peer the address at the other end of the transport, without port
   * @param arrived when the call arrived, in milliseconds of `performance.now()`
   */
  open(start: CallStart, peer: string, reply: CallResponder, arrived = performance.now()): IncomingListener {
    const served = this.#methods.get(start.path) ?? this.#forwarded(start, reply);
    if (served === undefined) return NO_CALL;
    const environment = served.load === undefined ? this.#environment : this.#loading;
    const traced = this.#tracer && traceServed(served, start, reply, this.#tracer);
    const call = new RunningCall(served, traced?.start ?? start, peer, traced?.reply ?? reply, environment, arrived);
    call.admit();
    return call;
  }

  /**
   * The method that forwards a call. When there is none, this ends the reply and returns undefined.
   */
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

  /** Sets health to NOT_SERVING, and ends the calls that never end by themselves. */
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

  /** Adds the endpoints of a part. The first call to one of them loads the part's code. */
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

  /**
   * Admits a call, loads the code of its endpoint, and admits the call again. A refused call loads
   * no code. The rules may have changed while the code was loaded.
   */
  readonly #admitLoaded: CallEnvironment["admit"] = async (method, start, peer, opened) => {
    await this.#admit(method, start, peer, opened);
    await method.load?.();
    await this.#turnOf(method);
    return this.#admit(method, start, peer, true);
  };

  /**
   * Makes calls that waited for the same code begin one after the other. Otherwise all would begin
   * at once, before any other work of the process.
   * @throws {StatusError} (rejects) UNAVAILABLE when there are more calls than the service can
   * serve in time
   */
  #turnOf({ path, endpoint }: ServedMethod): Promise<void> | undefined {
    if (endpoint === undefined) return undefined;
    return new Promise((begin, reject) => {
      this.#loadedTurns.wait(path, { begin, refuse: () => reject(toError(overloaded(endpoint.service))) });
    });
  }

  readonly #admit: CallEnvironment["admit"] = ({ endpoint }, start, peer, opened) => {
    const { admission, clientAddress = peer } = start;
    if (endpoint === undefined) return { admission: undefined, address: clientAddress, asserted: false };
    if (admission !== undefined) {
      // Compares resources, because another service may have declared this path with other rules.
      if (admission !== SYSTEM && admission.endpoint.resource !== endpoint.resource)
        throw misdirected(admission, endpoint);
      return { admission, address: clientAddress, asserted: false };
    }
    const { token, callerAssertion, namespace, gateway, client } = readCredentials(start.metadata);
    const credentials = { token, callerAssertion, opened, namespace, tokenRequired: false, client: clientAddress };
    if (gateway !== undefined) return this.#admitForwarded(credentials, gateway, endpoint, client ?? peer, peer);
    const admitted = this.#guard.admit(credentials, endpoint);
    // A valid assertion shows that a trusted peer sent the call: a gateway, or a service that acts
    // for the caller. So the client address in the metadata is trusted too.
    const asserted = callerAssertion !== undefined;
    const address = asserted ? client || clientAddress : clientAddress;
    if (admitted instanceof Promise) return admitted.then((proof) => ({ admission: proof, address, asserted }));
    return { admission: admitted, address, asserted };
  };

  async #admitForwarded(
    credentials: GuardCredentials,
    gateway: string,
    endpoint: Endpoint,
    client: string,
    peer: string,
  ): Promise<AdmittedCaller> {
    // Before the admission, which depends on it where the token is a key for some addresses.
    const address = (await this.#isGateway(gateway, endpoint)) ? client : peer;
    return {
      admission: await this.#guard.admit({ ...credentials, client: address }, endpoint),
      address,
      asserted: false,
    };
  }

  /**
   * Whether the token is a gateway's enrolment token. The guard accepts enrolment tokens only at
   * endpoints for enrolled callers, so this asks the guard about such an endpoint.
   */
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

/** The listener for a call that was ended at once. */
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
    // Streams of gateways and services, their watches and registrations, never end by themselves.
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

/**
 * An endpoint that is not loaded yet. Calls that arrive before it is loaded are run by the method
 * that `load` returns.
 */
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

/** The metadata that identifies the caller. */
interface Credentials {
  /** The token of a header with the Bearer scheme; the guard checks whether the token is valid. */
  readonly token: string | undefined;
  /** The caller assertion. It replaces token and namespace. */
  readonly callerAssertion: string | undefined;
  readonly namespace: string | undefined;
  /** The token of the gateway that forwards the call. */
  readonly gateway: string | undefined;
  /** The client's IP address, as the caller states it. */
  readonly client: string | undefined;
}

/** @throws {StatusError} UNAUTHENTICATED when there are two tokens or two caller assertions */
function readCredentials(metadata: Metadata): Credentials {
  let authorization: string | Uint8Array | undefined;
  let callerAssertion: string | undefined;
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
      if (callerAssertion !== undefined) {
        throw new StatusError(Code.UNAUTHENTICATED, `the metadata holds two ${CONTEXT} entries: send one`);
      }
      callerAssertion = value;
    } else if (name === "platform-namespace") namespace ??= value;
    else if (name === GATEWAY_TOKEN) gateway ??= value;
    else if (name === CLIENT_ADDRESS) client ??= value;
  }
  const token = typeof authorization === "string" ? bearerOf(authorization) : undefined;
  return { token, callerAssertion, namespace, gateway, client };
}

function misdirected(admission: Admission, endpoint: Endpoint): StatusError {
  const cause = new Error(`a call to ${endpoint.name} carries an admission to ${admission.endpoint.name}`);
  return new StatusError(Code.INTERNAL, "Internal error", { cause });
}
