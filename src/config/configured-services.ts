/** The services that join by configuration: the member `services` of the configuration file. */
import { resolve } from "node:path";
import { type GrpcTarget, parseGrpcTarget } from "../address/address.js";
import { isMetadataNames, METADATA_NAMES } from "../contract/metadata-names.js";
import { BINDING_PREFIX, NAME } from "../contract/names.js";
import { isObject } from "./setting-values.js";

/** A service in any language that joins by configuration and does not use Portico's code. */
export interface ExternalService {
  readonly name: string;
  /** The addresses of its gRPC servers. */
  readonly targets: readonly GrpcTarget[];
  /** A file with a google.protobuf.FileDescriptorSet; undefined means gRPC server reflection. */
  readonly descriptors: string | undefined;
  /** Whether it receives the account and the namespace of each caller. */
  readonly identity: boolean;
  /**
   * Names of headers and metadata that pass between callers and the service, in lower case; `*`
   * means all that may pass.
   */
  readonly metadata?: readonly string[] | undefined;
  /** The prefix of the paths of its `google.api.http` annotations, such as `/api`. */
  readonly bindingPrefix?: string | undefined;
}

/**
 * @param folder that paths in the file are relative to
 * @throws {Error} with a message for the author of the file
 */
export function parseExternalServices(value: unknown, folder: string): ExternalService[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw new Error('"services" in the configuration file must be a list');
  return value.map((entry, index) => {
    try {
      return parseExternalService(entry, folder);
    } catch (error) {
      throw new Error(`services[${index}] in the configuration file: ${(error as Error).message}`);
    }
  });
}

/**
 * `{"name": "greeter", "target": "127.0.0.1:9000", "descriptors": "greeter.binpb", "identity":
 * true, "metadata": ["x-tenant"], "bindings": {"prefix": "/api"}}`; target may be a list.
 * @param folder that the path of `descriptors` is relative to
 * @throws {Error} with a message for the author of the entry
 */
export function parseExternalService(entry: unknown, folder: string): ExternalService {
  if (!isObject(entry)) throw new Error("must be an object with name and target");
  const { name, target, descriptors, identity = false, metadata = [], bindings, ...rest } = entry;
  const extra = Object.keys(rest)[0];
  if (extra !== undefined) throw new Error(`unknown member "${extra}"; known are ${KNOWN_MEMBERS}`);
  if (typeof name !== "string" || !NAME.test(name)) {
    throw new Error("name must be lower-case letters, digits and -");
  }
  if (descriptors !== undefined && (typeof descriptors !== "string" || descriptors === ""))
    throw new Error("descriptors must be the path of a file");
  if (typeof identity !== "boolean") throw new Error("identity must be true or false");
  if (!isMetadataNames(metadata)) throw new Error(METADATA_NAMES);
  const bindingPrefix = prefixOf(bindings);
  const targets = Array.isArray(target) ? target : [target];
  const file = descriptors === undefined ? undefined : resolve(folder, descriptors);
  try {
    const parsed = targets.map((one) => parseGrpcTarget(String(one)));
    return {
      name,
      targets: parsed,
      descriptors: file,
      identity,
      ...(metadata.length > 0 && { metadata }),
      ...(bindingPrefix !== undefined && { bindingPrefix }),
    };
  } catch (error) {
    throw new Error(`target: ${(error as Error).message}`);
  }
}

const KNOWN_MEMBERS = "name, target, descriptors, identity, metadata, bindings";

/** `{"prefix": "/api"}` */
function prefixOf(bindings: unknown): string | undefined {
  if (bindings === undefined) return undefined;
  const { prefix, ...rest } = isObject(bindings) ? bindings : {};
  if (typeof prefix !== "string" || !BINDING_PREFIX.test(prefix) || Object.keys(rest).length > 0) {
    throw new Error(
      'bindings must be an object such as {"prefix": "/api"}: a path that begins with / and does not end with it',
    );
  }
  return prefix;
}
