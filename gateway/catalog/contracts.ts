/**
 * The contracts of all instances. Many instances have the same contract, and many services the same descriptors, so each is
 * read once and counted by its users.
 */
import { createHash } from "node:crypto";
import type { Registry } from "@bufbuild/protobuf";
import { DescriptorSet } from "../../src/contract/descriptor-set.js";
import { type Endpoint, endpointsOf } from "../../src/contract/endpoint.js";
import { SELF_GOVERNED } from "../../src/contract/names.js";
import type { Instance } from "../../src/gen/portico/registry/v1/registry.js";
import type { Codec } from "../../src/json/codec.js";
import { type CodecOptions, type CodecType, compileCodecs } from "../../src/json/compile.js";

/** A contract as an instance announces it. */
export type Announced = Pick<Instance, "service" | "descriptors" | "grpcServices">;

/** What instances of one service have in common whose messages mean the same. */
export interface Contract {
  readonly hash: string;
  readonly schema: Schema;
  readonly grpcServices: readonly string[];
  readonly endpoints: readonly Endpoint[];
  /** How many instances and links hold it. */
  uses: number;
}

/** Descriptors, whose types are parsed at the first call: of many services most are not called for long. */
class Schema {
  /** Of the descriptors, and of how their JSON is written. */
  readonly hash: string;
  readonly descriptors: DescriptorSet;
  readonly #options: CodecOptions;
  #compile: ((type: CodecType) => Codec) | undefined;
  /** How many contracts hold it. */
  uses = 0;

  constructor(hash: string, descriptors: DescriptorSet, options: CodecOptions) {
    this.hash = hash;
    this.descriptors = descriptors;
    this.#options = options;
  }

  get types(): Registry {
    return this.descriptors.types;
  }

  codec(type: CodecType): Codec {
    this.#compile ??= compileCodecs(this.types, this.#options);
    return this.#compile(type);
  }
}

export interface ContractsOptions {
  /** Whether responses leave out zero and empty fields without presence; default false. Portico's own services never do. */
  readonly omitZeros?: boolean | undefined;
  /** Most bytes of a request message; default 4 MiB. */
  readonly maxMessage?: number | undefined;
}

export class Contracts {
  readonly #options: ContractsOptions;
  readonly #contracts = new Map<string, Contract>();
  readonly #schemas = new Map<string, Schema>();

  constructor(options: ContractsOptions) {
    this.#options = options;
  }

  /**
   * The contract, for one more user, who must release it.
   * @throws {Error} when the bytes are no descriptors, or lack one of the gRPC services
   */
  hold({ service, descriptors, grpcServices }: Announced): Contract {
    const omitZeros = this.#options.omitZeros === true && !SELF_GOVERNED.has(service);
    const schemaHash = createHash("sha256").update(descriptors).update(String(omitZeros)).digest("base64");
    const hash = [service, schemaHash, ...grpcServices].join(" ");
    let contract = this.#contracts.get(hash);
    if (contract === undefined) {
      const schema = this.#schemas.get(schemaHash) ?? this.#read(schemaHash, descriptors, omitZeros);
      const endpoints = endpointsOf(service, schema.descriptors, grpcServices);
      contract = { hash, schema, endpoints, grpcServices, uses: 0 };
      this.#contracts.set(hash, contract);
      this.#schemas.set(schemaHash, schema);
      schema.uses++;
    }
    contract.uses++;
    return contract;
  }

  release(contract: Contract): void {
    contract.uses--;
    if (contract.uses > 0) return;
    this.#contracts.delete(contract.hash);
    contract.schema.uses--;
    if (contract.schema.uses === 0) this.#schemas.delete(contract.schema.hash);
  }

  #read(hash: string, descriptors: Buffer, omitZeros: boolean): Schema {
    return new Schema(hash, new DescriptorSet(descriptors), { omitZeros, maxMessage: this.#options.maxMessage });
  }
}
