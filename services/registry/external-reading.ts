/** Reads the contract of an external service, from its server or from a file. */
import { readFile, stat } from "node:fs/promises";
import type { GrpcTarget } from "../../src/address/address.js";
import type { Lookup } from "../../src/address/resolved-names.js";
import { formatServiceTarget, type ServiceTarget, serversOf } from "../../src/address/srv.js";
import { SETTINGS } from "../../src/config/config.js";
import type { ExternalService } from "../../src/config/configured-services.js";
import { SecretFileError } from "../../src/config/secret-files.js";
import { Code, StatusError } from "../../src/errors.js";
import type { ServiceOptions } from "../../src/gen/portico/registry/v1/service_options.js";
import type { Channel } from "../../src/rpc/channel.js";
import { grpcServicesOf, MAX_DESCRIPTORS } from "./contract.js";
import { HttpRulesError } from "./http-rules.js";
import { type ReflectedContract, reflect } from "./reflection-client.js";

/** Opens a channel to a target, for one reading. */
export type Connect = (target: GrpcTarget, options: ServiceOptions) => Channel;

/** The maximum time of one reading, in milliseconds. */
const READ_TIME = 10_000;

/** The error of an instance that could not join although its contract could be read. */
export class JoinError extends Error {}

/**
 * The contract of a service, from the first target that responds with it.
 * @param timeMs the maximum time of a reading
 * @throws {Error} (rejects) with the error of the first target and what to do, for the operator
 */
export async function readOnce(service: ExternalService, connect: Connect, timeMs: number): Promise<ReflectedContract> {
  const decided = new AbortController();
  const reading = service.targets.map(({ target }) => read(service, target, { connect }, decided.signal, timeMs));
  try {
    return await Promise.any(reading);
  } catch (error) {
    const [first] = (error as AggregateError).errors;
    throw new Error(explain(service, formatServiceTarget(service.targets[0]!.target), first), { cause: first });
  } finally {
    decided.abort();
  }
}

/** The contract from a target, or from the service's file. */
export async function read(
  service: ExternalService,
  target: ServiceTarget,
  { connect, lookup }: { readonly connect: Connect; readonly lookup?: Lookup | undefined },
  signal: AbortSignal,
  timeMs = READ_TIME,
): Promise<ReflectedContract> {
  const { descriptors, options } = service;
  if (typeof descriptors === "string") return readDescriptorFile(descriptors);
  if (descriptors !== undefined) return { descriptors, grpcServices: grpcServicesOf(descriptors) };
  const decided = new AbortController();
  const either = AbortSignal.any([signal, decided.signal]);
  const deadlineMonotonicMs = performance.now() + timeMs;
  const readFrom = async (server: GrpcTarget): Promise<ReflectedContract> => {
    // A new channel each time, because a channel that failed would wait before its next attempt.
    const channel = connect(server, options);
    try {
      return await reflect(channel, deadlineMonotonicMs, either);
    } finally {
      channel.close();
    }
  };
  try {
    return await Promise.any((await serversOf(target, lookup)).map(readFrom));
  } catch (error) {
    throw error instanceof AggregateError ? error.errors[0] : error;
  } finally {
    decided.abort();
  }
}

/**
 * The contract in a file with a google.protobuf.FileDescriptorSet.
 * @throws {Error} (rejects)
 */
export async function readDescriptorFile(path: string): Promise<ReflectedContract> {
  const { size } = await stat(path);
  if (size > MAX_DESCRIPTORS) throw new Error(`the file has ${size} bytes; at most ${MAX_DESCRIPTORS} are accepted`);
  const descriptors = await readFile(path);
  return { descriptors, grpcServices: grpcServicesOf(descriptors) };
}

/** The reason of the failure and what to do, for the operator. */
export function explain({ descriptors, options }: ExternalService, address: string, error: unknown): string {
  const { message, cause } = error as Error;
  if (cause instanceof SecretFileError) return cause.message;
  if (error instanceof HttpRulesError) return message;
  // The store cannot take the names of its gRPC services, which is not the service's error.
  if (error instanceof JoinError && cause instanceof StatusError && cause.code === Code.UNAVAILABLE) return message;
  if (typeof descriptors === "string") return `${descriptors}: ${message}; correct the file`;
  const code = error instanceof StatusError ? error.code : undefined;
  if (code === Code.UNAUTHENTICATED || code === Code.PERMISSION_DENIED)
    return `${message}; set "credential" of the service, or correct its file in ${SETTINGS.credentials.variable}`;
  if (code === Code.UNIMPLEMENTED)
    return `${message}; turn it on, or name a file in "descriptors" of the configuration`;
  if (code === Code.UNAVAILABLE || code === Code.DEADLINE_EXCEEDED) {
    const why = cause instanceof Error ? cause.message : message;
    const trust = /^(?:grpcs|dns\+srvs):/.test(address) ? ` or ${options.tls?.ca || SETTINGS.tlsCa.variable}` : "";
    return `${address} cannot be reached (${why}); start it, or correct its address${trust}`;
  }
  return `${message}; correct the service, or name a file in "descriptors" of the configuration`;
}
