/**
 * Implements `call.client`. For the calls to another service, it asks the authority for a caller
 * assertion and caches it while it is valid. For a service in another process, it asks the registry
 * for the addresses and caches them for ADDRESSES_MS.
 */

import { type Delegated, delegate } from "../access/assertions/delegation.js";
import { type GrpcTarget, parseGrpcTarget } from "../address/address.js";
import { CLIENT_ADDRESS, CONTEXT, first, type Metadata } from "../call/metadata.js";
import { Code, StatusError } from "../errors.js";
import { RegistryService } from "../gen/portico/registry/v1/registry.js";
import { BoundedMap } from "../memory/bounded-map.js";
import { Balancer } from "../rpc/balancer.js";
import type { Channel } from "../rpc/channel.js";
import { type CallOptions, repeated, stream, unary } from "../rpc/client.js";
import type { ClientDefinition, MethodDefinition } from "../rpc/definition.js";
import type { BuiltInContext } from "../rpc/service.js";
import type { Client } from "./client.js";

/** The maximum number of cached caller assertions. */
const MAX_ASSERTIONS = 10_000;
/** An assertion that expires within this time is replaced, in milliseconds. */
const MARGIN_MS = 500;
/** How long addresses are cached, in milliseconds. */
const ADDRESSES_MS = 5_000;
/** Metadata that is copied from a call to the calls that its handler makes. */
const PASSED_ON: ReadonlySet<string> = new Set(["x-request-id", "traceparent", "tracestate"]);

/** The connection to the authority and the registry. */
export interface ClientsOptions {
  readonly channel: Channel;
  /** Contains the enrolment token of this service. */
  readonly metadata: Metadata;
  /** Opens a channel to an instance. */
  readonly connect: (target: GrpcTarget) => Channel;
  /** The channel to a service of this process; undefined for a service of another process. */
  readonly local?: (service: string) => Channel | undefined;
}

/** A service that is called. */
interface Target {
  readonly balancer: Balancer;
  readonly channels: Map<string, Channel>;
  /** When the addresses must be requested again, in milliseconds of `performance.now()`. */
  until: number;
  asking: Promise<void> | undefined;
}

/** The clients of one service's process. */
export class Clients {
  readonly #options: ClientsOptions;
  readonly #targets = new Map<string, Target>();
  /** By endpoint and by the caller assertion of the call that is served. */
  readonly #assertions = new BoundedMap<string, Delegated>(MAX_ASSERTIONS);

  constructor(options: ClientsOptions) {
    this.#options = options;
  }

  /** A client that acts for the caller of the call with this context. */
  clientOf<D extends ClientDefinition>(definition: D, service: string, context: BuiltInContext): Client<D> {
    const methods = Object.entries(definition).map(([key, method]) => [key, this.#methodOf(method, service, context)]);
    return Object.fromEntries(methods) as Client<D>;
  }

  close(): void {
    for (const { balancer } of this.#targets.values()) balancer.close();
    this.#targets.clear();
  }

  #methodOf(method: MethodDefinition<unknown, unknown>, service: string, context: BuiltInContext) {
    const open = async () => {
      const [channel, options] = await Promise.all([
        this.#channelTo(service),
        this.#callOptions(method, service, context),
      ]);
      return { channel, options };
    };
    const { requestStream, responseStream } = method;
    if (!requestStream && !responseStream) {
      return async (request: unknown) => {
        const { channel, options } = await open();
        return unary(channel, method as Parameters<typeof unary>[1], request, options);
      };
    }
    const responses = async function* (requests: AsyncIterable<unknown> | Iterable<unknown>): AsyncGenerator<unknown> {
      const { channel, options } = await open();
      const call = stream(channel, method, options);
      const sent = sendAll(call, requests);
      // If the call fails, its responses throw the reason.
      sent.catch(() => undefined);
      yield* call.responses;
      await sent;
    };
    if (!requestStream) return (request: unknown) => responses([request]);
    if (responseStream) return responses;
    return async (requests: AsyncIterable<unknown>) => {
      for await (const response of responses(requests)) return response;
      throw new StatusError(Code.INTERNAL, `${method.path} ended without a response`);
    };
  }

  async #callOptions(
    { path }: MethodDefinition<unknown, unknown>,
    service: string,
    context: BuiltInContext,
  ): Promise<CallOptions> {
    const resource = resourceOf(service, path);
    const key = `${resource} ${first(context.metadata, CONTEXT)}`;
    let delegated = this.#assertions.get(key);
    if (delegated === undefined || delegated.until < performance.now() + MARGIN_MS) {
      const { channel, metadata } = this.#options;
      delegated = await delegate({ channel, metadata, resource, actingFor: context.metadata });
      this.#assertions.set(key, delegated);
    }
    const passedOn = context.metadata.filter(([name]) => PASSED_ON.has(name));
    const client = [CLIENT_ADDRESS, context.clientAddress] as const;
    return {
      metadata: [...delegated.metadata, ...passedOn, client],
      deadlineMonotonicMs: context.deadlineMonotonicMs,
      signal: context.signal,
    };
  }

  async #channelTo(service: string): Promise<Channel> {
    const local = this.#options.local?.(service);
    if (local !== undefined) return local;
    let target = this.#targets.get(service);
    if (target === undefined) {
      target = { balancer: new Balancer(service), channels: new Map(), until: 0, asking: undefined };
      this.#targets.set(service, target);
    }
    if (target.until < performance.now()) {
      target.asking ??= this.#ask(service, target);
      // Calls meanwhile use the known addresses.
      if (target.channels.size === 0) await target.asking;
      else target.asking.catch(() => undefined);
    }
    if (target.channels.size > 0) return target.balancer;
    throw new StatusError(Code.UNAVAILABLE, `there is no instance of ${service} to call`);
  }

  async #ask(service: string, target: Target): Promise<void> {
    const { channel, metadata, connect } = this.#options;
    try {
      const { addresses } = await repeated(channel, RegistryService.resolve, { service }, { metadata });
      for (const address of target.channels.keys()) if (!addresses.includes(address)) target.channels.delete(address);
      for (const address of addresses) {
        if (!target.channels.has(address)) target.channels.set(address, connect(parseGrpcTarget(address)));
      }
      target.balancer.update(target.channels);
      target.until = performance.now() + ADDRESSES_MS;
    } finally {
      target.asking = undefined;
    }
  }
}

/** Sends requests as fast as the other side takes them. An error of `requests` cancels the call. */
async function sendAll(
  call: ReturnType<typeof stream>,
  requests: AsyncIterable<unknown> | Iterable<unknown>,
): Promise<void> {
  try {
    for await (const request of requests) if (!call.send(request)) await call.drained();
    call.end();
  } catch (error) {
    call.cancel();
    throw error;
  }
}

/** `service:orders:Orders.Get` for `/shop.v1.Orders/Get`. */
function resourceOf(service: string, path: string): string {
  const [, grpcService = "", method = ""] = path.split("/");
  return `service:${service}:${grpcService.slice(grpcService.lastIndexOf(".") + 1)}.${method}`;
}
