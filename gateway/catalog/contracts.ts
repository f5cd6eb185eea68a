/**
 * The contracts of all instances. Many instances have the same contract, and many services have the
 * same descriptors. So each is read once, and its users are counted.
 */
import { createHash } from "node:crypto";
import type { Registry } from "@bufbuild/protobuf";
import { AnySchema } from "@bufbuild/protobuf/wkt";
import { DescriptorSet } from "../../src/contract/descriptor-set.js";
import { type Endpoint, endpointsOf } from "../../src/contract/endpoint.js";
import { bindingsOf } from "../../src/contract/http-rule.js";
import { SELF_GOVERNED } from "../../src/contract/names.js";
import type { Instance } from "../../src/gen/portico/registry/v1/registry.js";
import { JsonNames, RestStyle, type ServiceOptions } from "../../src/gen/portico/registry/v1/service_options.js";
import type { MessageCodec } from "../../src/json/codec.js";
import { type CodecOptions, type CodecType, compileCodecs } from "../../src/json/compile.js";
import type { JsonStyle } from "../../src/json/types.js";
import { inTurns, type Steps } from "../../src/overload/pace.js";
import { standardType } from "../http/standard-types.js";
import { type ReadTypes, TypeLearner } from "./learned-types.js";

/** A contract as an instance announces it. */
export type Announced = Pick<Instance, "service" | "descriptors" | "grpcServices"> &
  Partial<Pick<Instance, "reflected" | "options">> & {
    /** `ServiceOptions.http_rules` of the instance. */
    readonly httpRules?: string;
  };

/** The contract of instances of one service whose messages have the same meaning. */
export class CatalogContract {
  /** Asks for types that the contract lacks; undefined if its servers have no reflection. */
  learner: TypeLearner | undefined;
  /** How many instances and links use it. */
  uses = 0;
  #compile: ((type: CodecType) => MessageCodec) | undefined;
  #any: MessageCodec | undefined;

  constructor(
    readonly hash: string,
    readonly schema: Schema,
    readonly grpcServices: readonly string[],
    readonly endpoints: readonly Endpoint[],
  ) {}

  codec(type: CodecType): MessageCodec {
    const { learner, schema } = this;
    if (learner === undefined) return schema.codec(type);
    this.#compile ??= schema.compile((name) => learner.find(name));
    return learner.codec(this.#compile(type));
  }

  /** The codec of google.protobuf.Any, which writes the details of errors. */
  get any(): MessageCodec {
    this.#any ??= this.codec(AnySchema);
    return this.#any;
  }
}

/**
 * Descriptors. Their types are parsed at the first call: a gateway may know many services, and most
 * of them are not called for a long time.
 */
class Schema {
  /** The hash of the descriptors and of the options for their JSON. */
  readonly hash: string;
  readonly descriptors: DescriptorSet;
  readonly #options: CodecOptions;
  #compile: ((type: CodecType) => MessageCodec) | undefined;
  /** How many contracts use it. */
  uses = 0;

  constructor(hash: string, descriptors: DescriptorSet, options: CodecOptions) {
    this.hash = hash;
    this.descriptors = descriptors;
    this.#options = options;
  }

  get types(): Registry {
    return this.descriptors.types;
  }

  /** How its messages look in JSON. */
  get style(): JsonStyle {
    return this.#options;
  }

  codec(type: CodecType): MessageCodec {
    this.#compile ??= this.compile(standardType);
    return this.#compile(type);
  }

  /** @param findOther see `CodecOptions` */
  compile(findOther: CodecOptions["findOther"]): (type: CodecType) => MessageCodec {
    return compileCodecs(this.types, { ...this.#options, findOther });
  }
}

/**
 * The hashes of descriptors, by the bytes that arrived. A hash is needed when the bytes arrive, and
 * again when the instance joins.
 */
const hashes = new WeakMap<Uint8Array, string>();

function hashOf(descriptors: Uint8Array): string {
  let hash = hashes.get(descriptors);
  if (hash === undefined) {
    hash = createHash("sha256").update(descriptors).digest("base64");
    hashes.set(descriptors, hash);
  }
  return hash;
}

export interface ContractsOptions {
  /**
   * Whether responses leave out zero and empty fields without presence; default false. A service
   * may do so by its options. The authority and the registry never do.
   */
  readonly omitZeros?: boolean | undefined;
  /** Maximum bytes of a request message; default 4 MiB. */
  readonly maxMessage?: number | undefined;
  /** Reads types that a contract lacks. Without it they stay unknown. */
  readonly readTypes?: ReadTypes | undefined;
}

/** The maximum size of a message that calls in JSON carry, in bytes. */
export const MAX_JSON_MESSAGE = 16 * 1024 ** 2;

/**
 * Maximum elements that the first call parses at once, and maximum endpoints whose paths are read
 * at once. It takes about 20 ms.
 */
const MAX_LAZY_ELEMENTS = 5_000;
const MAX_LAZY_PATHS = 200;

/**
 * Parses the types of a contract, and the paths of its endpoints, in steps, so that other calls do
 * not wait.
 * @param prefix text in front of each path
 * @returns undefined if parsing takes a few milliseconds: then it is done when it is needed
 */
export function parseAhead(contract: CatalogContract, prefix: string): Promise<void> | undefined {
  const isLong = contract.schema.descriptors.unparsedElements > MAX_LAZY_ELEMENTS;
  const annotated = contract.endpoints.filter((endpoint) => endpoint.annotated);
  if (!isLong && annotated.length <= MAX_LAZY_PATHS) return undefined;
  // An error is reported at the first use of the contract.
  return inTurns(parseSteps(contract, annotated, prefix)).catch(() => {});
}

function* parseSteps({ schema }: CatalogContract, annotated: readonly Endpoint[], prefix: string): Steps<void> {
  yield* schema.descriptors.parse();
  for (const { method } of annotated) {
    bindingsOf(method, prefix);
    yield;
  }
}

export class Contracts {
  readonly #options: ContractsOptions;
  readonly #contracts = new Map<string, CatalogContract>();
  readonly #schemas = new Map<string, Schema>();

  constructor(options: ContractsOptions) {
    this.#options = options;
  }

  /**
   * Returns the contract for one more user, who must release it.
   * @throws {Error} when the bytes are no descriptors, or lack one of the gRPC services
   */
  hold({ service, descriptors, grpcServices, reflected, options }: Announced): CatalogContract {
    const style = SELF_GOVERNED.has(service) ? CANONICAL : styleOf(options, this.#options);
    const maxMessage = options?.maxMessage ? Math.min(options.maxMessage, MAX_JSON_MESSAGE) : this.#options.maxMessage;
    const { omitZeros, nullUnset, protoNames, ignoreUnknown } = style;
    const schemaHash = [hashOf(descriptors), omitZeros, nullUnset, protoNames, ignoreUnknown, maxMessage].join(" ");
    const hash = [service, schemaHash, ...grpcServices].join(" ");
    let contract = this.#contracts.get(hash);
    if (contract === undefined) {
      const schema = this.#schemas.get(schemaHash) ?? this.#read(schemaHash, descriptors, { ...style, maxMessage });
      const endpoints = endpointsOf(service, schema.descriptors, grpcServices);
      contract = new CatalogContract(hash, schema, grpcServices, endpoints);
      this.#contracts.set(hash, contract);
      this.#schemas.set(schemaHash, schema);
      schema.uses++;
    }
    contract.uses++;
    const { readTypes } = this.#options;
    if (reflected && readTypes !== undefined) contract.learner ??= new TypeLearner(readTypes);
    return contract;
  }

  release(contract: CatalogContract): void {
    contract.uses--;
    if (contract.uses > 0) return;
    this.#contracts.delete(contract.hash);
    contract.schema.uses--;
    if (contract.schema.uses === 0) this.#schemas.delete(contract.schema.hash);
  }

  #read(hash: string, descriptors: Buffer, options: JsonStyle & CodecOptions): Schema {
    return new Schema(hash, new DescriptorSet(descriptors), options);
  }
}

/** The style of the authority and the registry, whatever is set. */
const CANONICAL: JsonStyle = { omitZeros: false, nullUnset: false, protoNames: false, ignoreUnknown: false };

function styleOf(options: ServiceOptions | undefined, defaults: ContractsOptions): JsonStyle {
  const omitZeros = (defaults.omitZeros || options?.omitZeros) ?? false;
  if (options === undefined) return { ...CANONICAL, omitZeros };
  return {
    omitZeros,
    nullUnset: !omitZeros && options.rest === RestStyle.GRPC_GATEWAY,
    protoNames: options.jsonNames === JsonNames.PROTO,
    ignoreUnknown: options.ignoreUnknown,
  };
}
