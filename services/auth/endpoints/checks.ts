/** Checks that several endpoints share: of the caller, beyond the guard's checks, and of fields. */

import { KnownCaller } from "../../../src/access/callers/known-caller.js";
import { canonicalAddress } from "../../../src/address/client-address.js";
import { requestIdOf } from "../../../src/call/metadata.js";
import { isToken } from "../../../src/call/token.js";
import { DEFAULT_NAMESPACE, GATEWAY, MAX_NAME, NAME } from "../../../src/contract/names.js";
import { parsePattern, type Resource } from "../../../src/contract/resource.js";
import { invalidArgument, permissionDenied, unauthenticated } from "../../../src/errors.js";
import type { ServiceDefinition } from "../../../src/rpc/definition.js";
import {
  type BuiltInContext,
  type Context,
  part,
  type ServiceImplementation,
  type ServicePart,
} from "../../../src/rpc/service.js";
import type { CallAuthor } from "../log/changelog/changes.js";
import type { Origin } from "../log/changelog/decide.js";

/** Maximum number of accounts of a namespace. */
export const MAX_ACCOUNTS = 10_000;

/** @throws {StatusError} UNAUTHENTICATED unless an account calls. */
export function accountOf({ caller, endpoint }: Context): KnownCaller {
  if (caller instanceof KnownCaller && caller.enrolment === undefined) return caller;
  throw unauthenticated(`Unauthorized call made to ${endpoint}`);
}

/**
 * The author of a change made by this call, for the audit trail.
 * @throws {StatusError} UNAUTHENTICATED unless an account calls.
 */
export function authorOf(context: Context): CallAuthor {
  const caller = accountOf(context);
  const { namespace, account, hashBytes: token } = caller;
  return { namespace, account, caller, origin: { ...originOf(context), token } };
}

/** Where a call comes from, without its token. */
export function originOf({ clientAddress: address, metadata }: Context): Origin {
  return { address, requestId: requestIdOf(metadata) };
}

/** @throws {StatusError} PERMISSION_DENIED unless an account of the namespace `default` calls. */
export function accountOfDefault(context: Context): KnownCaller {
  const caller = accountOf(context);
  if (caller.namespace === DEFAULT_NAMESPACE) return caller;
  throw permissionDenied(`Only administrators of the namespace ${DEFAULT_NAMESPACE} may do this`);
}

/** A part whose methods refuse all but gateways and this process with PERMISSION_DENIED. */
export function gatewayPart<D extends ServiceDefinition>(
  definition: D,
  implementation: ServiceImplementation<D>,
): ServicePart {
  const handlers = Object.entries(part(definition, implementation).implementation);
  const checked = handlers.map(([name, handle]) => [
    name,
    (request: unknown, context: BuiltInContext): unknown => {
      checkGateway(context);
      return handle(request, context);
    },
  ]);
  return { definition, implementation: Object.fromEntries(checked) };
}

/** @throws {StatusError} PERMISSION_DENIED unless a gateway, or this process, calls. */
function checkGateway({ caller, system, endpoint }: BuiltInContext): void {
  if (system || caller?.enrolment === GATEWAY) return;
  throw permissionDenied(`Only gateways may call ${endpoint}`);
}

/**
 * Checks the name of a namespace, a service or an enrolment.
 * @throws {StatusError} INVALID_ARGUMENT naming the field.
 */
export function checkName(field: string, name: string): void {
  if (NAME.test(name)) return;
  throw invalidArgument(
    `${field}: must be 1 to ${MAX_NAME} lower-case letters, digits or -, and start with a letter or digit`,
  );
}

/**
 * Checks each text of a list.
 * @param check throws if the text is invalid
 * @throws {StatusError} INVALID_ARGUMENT naming the field.
 */
export function checkEach(
  field: string,
  texts: readonly string[],
  max: number,
  check: (text: string) => unknown,
): void {
  if (texts.length > max) throw invalidArgument(`${field}: must be at most ${max}`);
  for (const [index, text] of texts.entries()) {
    try {
      check(text);
    } catch (error) {
      throw invalidArgument(`${field}[${index}]: ${(error as Error).message}`);
    }
  }
}

/** Maximum characters of a name in a report. */
export const MAX_REPORTED_NAME = 256;

/**
 * Checks who reports. Others than gateways could report anything.
 * @throws {StatusError} PERMISSION_DENIED or INVALID_ARGUMENT
 */
export function checkReporter(context: BuiltInContext, reporter: string): void {
  checkGateway(context);
  if (reporter !== "" && reporter.length <= MAX_REPORTED_NAME) return;
  throw invalidArgument(`reporter: must have 1 to ${MAX_REPORTED_NAME} characters`);
}

/** @throws {StatusError} INVALID_ARGUMENT for a whole key: it must not be sent around. */
export function checkKeyPrefix(key: string): void {
  if (isToken(key)) throw invalidArgument("key: must be a prefix, such as ptk_4fGh81; never the key itself");
}

/**
 * Checks a message that a request must have.
 * @param field the name of the message's field in the request
 * @param check its errors begin with the name of a field of the message
 * @throws {StatusError} INVALID_ARGUMENT naming the field.
 */
export function checkMessage<T>(field: string, message: T | undefined, check: (message: T) => T): T {
  if (message === undefined) throw invalidArgument(`${field}: is missing`);
  try {
    return check(message);
  } catch (error) {
    throw invalidArgument((error as Error).message.replace(/^(\w+) /, `${field}.$1: `), error);
  }
}

/**
 * Parses a resource without wildcards.
 * @throws {StatusError} INVALID_ARGUMENT naming the field.
 */
export function checkLiteral(field: string, text: string): Resource {
  let resource: Resource;
  try {
    resource = parsePattern(text);
  } catch (error) {
    throw invalidArgument((error as Error).message.replace(/^(\w+) /, `${field}: `), error);
  }
  if (!text.includes("*")) return resource;
  throw invalidArgument(`${field}: must be without wildcards, such as service:helloworld:Helloworld.Call`);
}

/**
 * Reads the address of a client; empty for none.
 * @throws {StatusError} INVALID_ARGUMENT naming the field.
 */
export function checkAddress(field: string, text: string): string {
  const address = text === "" ? "" : canonicalAddress(text);
  if (address === undefined) throw invalidArgument(`${field}: must be an IP address, such as 192.0.2.7`);
  return address;
}

/** Why an account with the right password cannot sign in. */
export function disabledDetail(account: string): string {
  return `The account ${account} is disabled; an administrator can enable it`;
}
