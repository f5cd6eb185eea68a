/** The services that join by configuration: the member `services` of the configuration file. */
import { readFileSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { formatServiceTarget, isPrivate, parseServiceTarget, type ServiceTarget } from "../address/srv.js";
import { BINDING_PREFIX, NAME } from "../contract/names.js";
import type { ServiceOptions } from "../gen/portico/registry/v1/service_options.js";
import {
  checkServiceOptions,
  MAX_HTTP_RULES,
  noServiceOptions,
  SERVICE_OPTIONS,
  type ServiceOption,
} from "./service-options.js";
import { isObject } from "./setting-values.js";

/** A service in any language that joins by configuration and does not use Portico's code. */
export interface ExternalService {
  readonly name: string;
  /** The addresses of its gRPC servers. */
  readonly targets: readonly ExternalTarget[];
  /**
   * A google.protobuf.FileDescriptorSet, or the path of a file with it; undefined means gRPC server
   * reflection.
   */
  readonly descriptors: string | Buffer | undefined;
  readonly options: ServiceOptions;
}

/** A gRPC server of a service, or a name for several. */
export interface ExternalTarget {
  readonly target: ServiceTarget;
  /** Its share of the calls, relative to the shares of the other targets. */
  readonly weight: number;
}

/** The maximum weight of a target. */
export const MAX_WEIGHT = 1_000;

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
 * true, "metadata": ["x-tenant"], "bindings": {"prefix": "/api"}}`. `target` may be a list, whose
 * elements may have a weight: `{"address": "127.0.0.1:9000", "weight": 5}`. All other members
 * are the keys of SERVICE_OPTIONS.
 * @param folder that paths in the entry are relative to
 * @throws {Error} with a message for the author of the entry
 */
export function parseExternalService(entry: unknown, folder: string): ExternalService {
  if (!isObject(entry)) throw new Error("must be an object with name and target");
  const { name, target, descriptors, bindings, ...members } = entry;
  if (typeof name !== "string" || !NAME.test(name)) {
    throw new Error("name must be lower-case letters, digits and -");
  }
  if (descriptors !== undefined && (typeof descriptors !== "string" || descriptors === ""))
    throw new Error("descriptors must be the path of a file");
  const options = optionsOf({ ...members, ...prefixOf(bindings) }, folder);
  const targets = Array.isArray(target) ? target : [target];
  const file = descriptors === undefined ? undefined : resolve(folder, descriptors);
  const service = { name, targets: targets.map(parseTarget), descriptors: file, options };
  checkAssertion(service);
  checkTls(service);
  return service;
}

/** @throws {SyntaxError} if a caller assertion would be sent in plain text over a network */
export function checkAssertion({ targets, options }: Pick<ExternalService, "targets" | "options">): void {
  const plain = targets.find(({ target }) => !isPrivate(target))?.target;
  if (!options.assertion || plain === undefined) return;
  const shown = formatServiceTarget(plain);
  throw new SyntaxError(
    `assertion is sent over TLS, to a loopback address or a unix socket only, not to ${shown}: use grpcs:// or dns+srvs://`,
  );
}

/** @throws {SyntaxError} if an option for TLS would have no effect, because no target has TLS */
export function checkTls({ targets, options }: Pick<ExternalService, "targets" | "options">): void {
  if (options.tls === undefined || targets.some(({ target }) => "tls" in target)) return;
  throw new SyntaxError("ca, cert, key and serverName are for TLS, and no target has it: use grpcs:// or dns+srvs://");
}

/** `"127.0.0.1:9000"` or `{"address": "127.0.0.1:9000", "weight": 5}`. @throws {Error} */
function parseTarget(value: unknown): ExternalTarget {
  const { address = "", weight = 1, ...rest } = isObject(value) ? value : { address: value };
  const extra = Object.keys(rest)[0];
  if (extra !== undefined) throw new Error(`target: unknown member "${extra}"; known are address, weight`);
  try {
    const target = parseServiceTarget(String(address));
    if (Number.isInteger(weight) && Number(weight) >= 1 && Number(weight) <= MAX_WEIGHT)
      return { target, weight: Number(weight) };
  } catch (error) {
    throw new Error(`target: ${(error as Error).message}`);
  }
  throw new Error(`target: weight must be a whole number from 1 to ${MAX_WEIGHT}`);
}

/** @throws {Error} that names the option */
function optionsOf(members: Record<string, unknown>, folder: string): ServiceOptions {
  const options = noServiceOptions();
  const table: Readonly<Record<string, ServiceOption>> = SERVICE_OPTIONS;
  for (const [key, value] of Object.entries(members)) {
    const option = table[key];
    if (option === undefined) throw new Error(`unknown member "${key}"; known are ${KNOWN_MEMBERS}`);
    if (value === undefined) continue;
    if (Array.isArray(value) !== (option.list === true) || (isObject(value) && !Array.isArray(value)))
      throw new Error(`${key} must be ${option.list ? "a list" : "one value"}`);
    const texts = [value].flat().map(String);
    try {
      option.set(options, key === "httpRules" ? texts.map((path) => readRules(resolve(folder, path))) : texts);
    } catch (error) {
      throw new Error(`${key} ${(error as Error).message}`);
    }
  }
  checkServiceOptions(options);
  return options;
}

/** The content of a service configuration. @throws {Error} */
export function readRules(path: string): string {
  const { size } = statSync(path);
  if (size > MAX_HTTP_RULES) throw new Error(`has ${size} bytes; at most ${MAX_HTTP_RULES / 1024} KiB are accepted`);
  return readFileSync(path, "utf8");
}

const KNOWN_MEMBERS = [
  ...["name", "target", "descriptors", "bindings"],
  ...Object.keys(SERVICE_OPTIONS).filter((key) => key !== "prefix"),
].join(", ");

/** `{"prefix": "/api"}` */
function prefixOf(bindings: unknown): { prefix?: unknown } {
  if (bindings === undefined) return {};
  const { prefix, ...rest } = isObject(bindings) ? bindings : {};
  if (typeof prefix !== "string" || !BINDING_PREFIX.test(prefix) || Object.keys(rest).length > 0)
    throw new Error(BINDINGS);
  return { prefix };
}

const BINDINGS =
  'bindings must be an object such as {"prefix": "/api"}: a path that begins with / and does not end with it';
