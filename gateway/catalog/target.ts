/**
 * What the gateway calls: an endpoint with its codecs and the channel to the instances that have
 * it. While a service is updated, its instances may have different contracts. Then an endpoint has
 * a target for each contract.
 */
import type { DescField, DescMessage, Registry } from "@bufbuild/protobuf";
import type { Metadata } from "../../src/call/metadata.js";
import type { Endpoint } from "../../src/contract/endpoint.js";
import { holdsSecrets } from "../../src/contract/secrets.js";
import type { Any } from "../../src/gen/google/protobuf/any.js";
import { RestStyle, ServiceOptions } from "../../src/gen/portico/registry/v1/service_options.js";
import { type MessageCodec, TooLargeError } from "../../src/json/codec.js";
import type { JsonStyle } from "../../src/json/types.js";
import type { Balancer } from "../../src/rpc/balancer.js";
import type { Channel, Status } from "../../src/rpc/channel.js";
import { durationMs } from "../../src/time.js";
import { writeDetail } from "../http/error-object.js";
import { toCallError } from "../http/errors.js";
import { type CatalogContract, MAX_JSON_MESSAGE } from "./contracts.js";
import { NO_PASSED_METADATA, type PassedMetadata } from "./passed-metadata.js";
import type { ServiceStatuses } from "./service-statuses.js";

/**
 * How a service learns who calls. The authority gets the bearer token. A registered service gets a
 * caller assertion. An external service gets the names of the account and the namespace if its
 * configuration asks for them, and otherwise nothing. Its options may ask for an assertion too.
 */
export type IdentityForm = "token" | "assertion" | "names" | "none";

/** What is the same for all endpoints of a service. */
export interface TargetSettings {
  readonly identity: IdentityForm;
  /** Which metadata passes, in both directions; default none. */
  readonly metadata?: PassedMetadata;
  /** What an administrator has set for the service; default nothing. */
  readonly options?: ServiceOptions;
  /** The HTTP statuses that the options set; default none. */
  readonly statuses?: ServiceStatuses | undefined;
}

/** The options of a service for which none are set. */
export const NO_OPTIONS: ServiceOptions = ServiceOptions.fromPartial({});

/**
 * The endpoints of all contracts. `contracts` are sorted, the newest first. Each endpoint is taken
 * from the newest contract that has it.
 */
export function targetsOf(
  contracts: readonly CatalogContract[],
  balancer: Balancer,
  settings: TargetSettings,
): EndpointTarget[] {
  const found = new Map<string, EndpointTarget[]>();
  for (const contract of contracts) {
    const channel = balancer.among(contract);
    for (const endpoint of contract.endpoints) {
      const target = new EndpointTarget(endpoint, channel, contract, settings);
      const { endpoint: name } = endpoint.segments;
      const known = found.get(name);
      // The routes reject two endpoints of one contract whose names differ only in case.
      if (known?.some((other) => other.contract === contract)) found.set(endpoint.name, [target]);
      else if (known === undefined) found.set(name, [target]);
      else known.push(target);
    }
  }
  return [...found.values()].map((targets) => {
    const [newest] = targets as [EndpointTarget];
    if (targets.length === 1) return newest;
    const alternatives = new Alternatives(targets, balancer);
    for (const target of targets) target.alternatives = alternatives;
    return newest;
  });
}

/** The targets of one endpoint, one for each contract that instances have. */
export class Alternatives {
  readonly #targets: readonly EndpointTarget[];
  readonly #balancer: Balancer;

  constructor(targets: readonly EndpointTarget[], balancer: Balancer) {
    this.#targets = targets;
    this.#balancer = balancer;
  }

  /** The target of the newest contract. */
  get newest(): EndpointTarget {
    return this.#targets[0] as EndpointTarget;
  }

  /**
   * The target of the instance that is next in turn, without the tried targets; undefined when none
   * is left.
   */
  next(tried: readonly EndpointTarget[]): EndpointTarget | undefined {
    const left = this.#targets.filter((target) => !tried.includes(target));
    const contract = this.#balancer.turn(left.map((target) => target.contract));
    return left.find((target) => target.contract === contract);
  }
}

/**
 * An endpoint that can be called. Its types are parsed and its codecs compiled at their first use,
 * because most endpoints are never called.
 */
export class EndpointTarget {
  /**
   * The targets of the same endpoint in all contracts, with this one; undefined if all instances
   * have one contract.
   */
  alternatives: Alternatives | undefined;
  readonly identity: IdentityForm;
  readonly metadata: PassedMetadata;
  readonly options: ServiceOptions;
  /** Whether it gets the caller assertion. */
  readonly sendsAssertion: boolean;
  /** How long a unary call may take, in milliseconds, if an administrator has set it. */
  readonly callTime: number | undefined;
  /** Undefined if the options set no HTTP status. */
  readonly statuses: ServiceStatuses | undefined;
  #input: DescMessage | undefined;
  #output: DescMessage | undefined;
  #request: MessageCodec | undefined;
  #response: MessageCodec | undefined;

  constructor(
    readonly endpoint: Endpoint,
    readonly channel: Channel,
    readonly contract: CatalogContract,
    { identity, metadata = NO_PASSED_METADATA, options = NO_OPTIONS, statuses }: TargetSettings,
  ) {
    this.identity = identity;
    this.metadata = metadata;
    this.options = options;
    this.statuses = statuses;
    this.sendsAssertion = identity === "assertion" || options.assertion;
    this.callTime = options.callTime && durationMs(options.callTime);
  }

  /**
   * The maximum size of a message in bytes, in both directions.
   * @param isBinary whether the caller sends and receives protobuf
   * @param usual the setting of the gateway, for a service without a limit of its own
   */
  maxMessage(isBinary: boolean, usual: number): number {
    const own = this.options.maxMessage;
    if (own === 0) return usual;
    return isBinary ? own : Math.min(own, MAX_JSON_MESSAGE);
  }

  /** Whether the paths of its annotations are for clients of grpc-gateway. */
  get isGrpcGateway(): boolean {
    return this.options.rest === RestStyle.GRPC_GATEWAY;
  }

  /** The service's own message types. */
  get types(): Registry {
    return this.contract.schema.types;
  }

  /** How its messages look in JSON. */
  get style(): JsonStyle {
    return this.contract.schema.style;
  }

  /** The type of its requests. */
  get input(): DescMessage {
    this.#input ??= this.endpoint.method.input;
    return this.#input;
  }

  /** The type of its responses. */
  get output(): DescMessage {
    this.#output ??= this.endpoint.method.output;
    return this.#output;
  }

  /** The codec of one field of its request or response. */
  field(field: DescField): MessageCodec {
    return limited(this.contract.codec(field), this.options.maxMessage);
  }

  /** Whether its responses contain fields that the contract declares secret. */
  get hasSecrets(): boolean {
    return holdsSecrets(this.output);
  }

  /** The codec of google.protobuf.Any, with the types of the service. */
  get any(): MessageCodec {
    return this.contract.any;
  }

  /** Runs `work` with messages, like `TypeLearner.complete`. */
  async complete<T>(work: () => T, deadlineMonotonicMs: number | undefined): Promise<Awaited<T>> {
    const { learner } = this.contract;
    return await (learner === undefined ? work() : learner.complete(work, this.channel, deadlineMonotonicMs));
  }

  /**
   * Like `complete`, but synchronous. @returns undefined if types are missing; then nothing has
   * been done
   */
  completeAtOnce<T>(work: () => T): T | undefined {
    const { learner } = this.contract;
    return learner === undefined ? work() : learner.completeAtOnce(work);
  }

  /**
   * Passes on a message of a stream. If types are missing, it asks for them instead, and resolves
   * when the server has responded.
   */
  attempt(pass: () => void, round: number, deadlineMonotonicMs: number | undefined): Promise<void> | undefined {
    const { learner } = this.contract;
    if (learner === undefined) {
      pass();
      return undefined;
    }
    return learner.attempt(pass, round, this.channel, deadlineMonotonicMs);
  }

  /** Asks for the types of an error's details; undefined if none is missing. */
  completeDetails(details: readonly Any[], deadlineMonotonicMs: number | undefined): Promise<void> | undefined {
    if (details.length === 0 || this.contract.learner === undefined) return undefined;
    const write = (): true => {
      for (const detail of details) writeDetail(this.any, detail);
      return true;
    };
    return this.completeAtOnce(write) ? undefined : this.complete(write, deadlineMonotonicMs).then(() => {});
  }

  /**
   * The error of a failed call.
   * @param headers the service's metadata before its first message
   */
  toCallError(status: Status, headers: Metadata): ReturnType<typeof toCallError> {
    const { statuses, options, endpoint } = this;
    if (statuses === undefined && !options.showUnknown) return toCallError(endpoint.service, status);
    const httpStatus = statuses?.of(status.code, headers, status.trailers);
    return toCallError(endpoint.service, status, { httpStatus, showUnknown: options.showUnknown });
  }

  get request(): MessageCodec {
    this.#request ??= this.contract.codec(this.input);
    return this.#request;
  }

  get response(): MessageCodec {
    this.#response ??= limited(this.contract.codec(this.output), this.options.maxMessage);
    return this.#response;
  }
}

/**
 * A codec that refuses to write messages that are too large for JSON. Where the limit of the
 * service is lower, its channel has refused them.
 */
function limited(codec: MessageCodec, maxMessage: number): MessageCodec {
  if (maxMessage <= MAX_JSON_MESSAGE) return codec;
  const check = (wire: Uint8Array): Uint8Array => {
    if (wire.length <= MAX_JSON_MESSAGE) return wire;
    throw new TooLargeError(`a message for JSON is larger than ${MAX_JSON_MESSAGE} bytes`);
  };
  return {
    read: (json) => codec.read(json),
    readQuery: (parameters) => codec.readQuery(parameters),
    write: (wire) => codec.write(check(wire)),
    writeBody: (wire) => codec.writeBody(check(wire)),
  };
}

/** The endpoint of a path. */
export interface Route {
  readonly target: EndpointTarget;
  /** Whether the path has the form `/v1/…`: POST only, and never without a valid token. */
  readonly versioned: boolean;
  /** The template of the path, if it has fields in it. */
  readonly template?: string | undefined;
  /** Which metadata passes at this path, where it is not the metadata that passes to the target. */
  readonly metadata?: PassedMetadata | undefined;
  /** See `forbidsKnown` of Credentials. */
  readonly forbidsKnown?: boolean;
  /** The body, if it had to be received to find the route. */
  readonly body?: readonly Uint8Array[];
}
