/**
 * Checks a configured service as `Services.Put` gets it and as the log has it, by the rules of the
 * configuration file: the table SERVICE_OPTIONS. Errors name the field of the message.
 */
import { formatServiceTarget, parseServiceTarget } from "../../src/address/srv.js";
import {
  checkAssertion,
  checkTls,
  type ExternalService,
  type ExternalTarget,
  MAX_WEIGHT,
} from "../../src/config/configured-services.js";
import { checkServiceOptions, noServiceOptions, SERVICE_OPTIONS } from "../../src/config/service-options.js";
import { invalidArgument } from "../../src/errors.js";
import { ServiceOptions } from "../../src/gen/portico/registry/v1/service_options.js";
import type { ConfiguredService, Target } from "../../src/gen/portico/registry/v1/services.js";
import { checkServiceName } from "./check-instance.js";
import { grpcServicesOf } from "./contract.js";

/** The maximum number of targets of a service in the log. */
const MAX_TARGETS = 100;
/** The maximum size of descriptors in the log, in bytes. */
const MAX_DESCRIPTORS = 1024 ** 2;

/** The field of each option. */
const FIELDS: Readonly<Record<keyof typeof SERVICE_OPTIONS, string>> = {
  identity: "identity",
  assertion: "assertion",
  metadata: "metadata",
  prefix: "binding_prefix",
  credential: "credential.name",
  credentialHeader: "credential.header",
  ca: "tls.ca",
  cert: "tls.cert",
  key: "tls.key",
  serverName: "tls.server_name",
  callTime: "call_time",
  maxMessage: "max_message",
  maxConcurrent: "max_concurrent",
  names: "json_names",
  omitZeros: "omit_zeros",
  unknown: "ignore_unknown",
  rest: "rest",
  status: "statuses",
  statusMetadata: "status_metadata",
  showUnknown: "show_unknown",
  httpRules: "http_rules",
};

/** Services of the log that were read before. A service of the log is never changed. */
const read = new WeakMap<ConfiguredService, ExternalService>();

/**
 * The service as the registry follows it. Weights of 0 become 1.
 * @throws {StatusError} INVALID_ARGUMENT naming the field
 */
export function externalServiceOf(given: ConfiguredService): ExternalService {
  const known = read.get(given);
  if (known !== undefined) return known;
  named("name", () => checkServiceName(given.name, false));
  const service: ExternalService = {
    name: given.name,
    targets: targetsOf(given.targets),
    descriptors: descriptorsOf(given.descriptors),
    options: optionsOf(given.options ?? noServiceOptions()),
  };
  named("options.assertion", () => checkAssertion(service));
  named("options.tls", () => checkTls(service));
  read.set(given, service);
  return service;
}

/** The message for a service of the file or the log, without its descriptors. */
export function listedServiceOf({ name, targets, options }: ExternalService): ConfiguredService {
  return {
    name,
    targets: targets.map(({ target, weight }) => ({ address: formatServiceTarget(target), weight })),
    descriptors: Buffer.alloc(0),
    options,
  };
}

function targetsOf(targets: readonly Target[]): ExternalTarget[] {
  if (targets.length === 0 || targets.length > MAX_TARGETS)
    throw invalidArgument(`service.targets: must be 1 to ${MAX_TARGETS}`);
  const seen = new Set<string>();
  return targets.map(({ address, weight }, index) => {
    const field = `targets[${index}]`;
    const target = named(`${field}.address`, () => parseServiceTarget(address));
    if (weight > MAX_WEIGHT) throw invalidArgument(`service.${field}.weight: must be 1 to ${MAX_WEIGHT}`);
    const text = formatServiceTarget(target);
    if (seen.has(text)) throw invalidArgument(`service.${field}.address: ${text} is there twice`);
    seen.add(text);
    return { target, weight: weight || 1 };
  });
}

function descriptorsOf(descriptors: Buffer): Buffer | undefined {
  if (descriptors.length === 0) return undefined;
  if (descriptors.length > MAX_DESCRIPTORS) {
    const where = `at most ${MAX_DESCRIPTORS} are accepted; a larger set can be a file that the configuration file names`;
    throw invalidArgument(`service.descriptors: are ${descriptors.length} bytes; ${where}`);
  }
  named("descriptors", () => grpcServicesOf(descriptors));
  return descriptors;
}

/** Sets each option again by its text, so that the checks of the text apply. */
function optionsOf(given: ServiceOptions): ServiceOptions {
  const options = noServiceOptions();
  for (const [key, option] of Object.entries(SERVICE_OPTIONS)) {
    const field = `options.${FIELDS[key as keyof typeof SERVICE_OPTIONS]}`;
    named(field, () => option.set(options, option.get(given)));
  }
  named("options", () => checkServiceOptions(options));
  // What is left has no text: a value of an enum that this version does not know, for example.
  for (const key of Object.keys(options) as (keyof ServiceOptions)[]) {
    if (!isSame({ [key]: given[key] }, { [key]: options[key] }))
      throw invalidArgument(`service.options.${snakeCase(key)}: has a value that this version does not know`);
  }
  return options;
}

function isSame(one: Partial<ServiceOptions>, other: Partial<ServiceOptions>): boolean {
  const bytes = (options: Partial<ServiceOptions>) =>
    ServiceOptions.encode(ServiceOptions.fromPartial(options)).finish();
  return Buffer.from(bytes(one)).equals(bytes(other));
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Runs a check. Its error becomes INVALID_ARGUMENT with the field. */
function named<T>(field: string, check: () => T): T {
  try {
    return check();
  } catch (error) {
    throw invalidArgument(`service.${field}: ${(error as Error).message}`, error);
  }
}
