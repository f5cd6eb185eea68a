/**
 * How a service calls another service. It sends the authority its enrolment token and, to act for
 * the caller that it is serving, the caller assertion of that call. It gets an assertion for calls
 * to the one endpoint that it asked for.
 */

import { CONTEXT, first, type Metadata } from "../../call/metadata.js";
import { DelegationService } from "../../gen/portico/auth/v1/delegation.js";
import type { Channel } from "../../rpc/channel.js";
import { repeated } from "../../rpc/client.js";

/** Which endpoint is called, and for whom. */
export interface DelegationOptions {
  /** To the authority. */
  readonly channel: Channel;
  /** With the service's enrolment token, `["authorization", "Bearer pte_…"]`. */
  readonly metadata: Metadata;
  /** Canonical resource of the endpoint to call, such as `service:orders:Orders.Get`. */
  readonly resource: string;
  /**
   * The metadata of the call that is being served, to act for its caller; undefined: the service
   * acts for itself.
   */
  readonly actingFor?: Metadata | undefined;
  /** The namespace in which the service acts for itself; default: `default`. */
  readonly namespace?: string | undefined;
}

/** Metadata for calls to the endpoint. */
export interface Delegated {
  readonly metadata: Metadata;
  /** When a new assertion must be asked for, in milliseconds of `performance.now()`. */
  readonly until: number;
}

/**
 * @throws {StatusError} UNAUTHENTICATED or PERMISSION_DENIED if the rules do not allow the service
 * or its caller; UNAUTHENTICATED also if the service acts for the caller of a call that has no
 * assertion
 */
export async function delegate(options: DelegationOptions): Promise<Delegated> {
  const { channel, metadata, resource, actingFor, namespace = "" } = options;
  const asked = performance.now();
  // A call without an assertion has no caller to act for. An empty text would mean the service's
  // own account.
  const context = actingFor === undefined ? "" : (first(actingFor, CONTEXT) ?? "none");
  const request = { resource, actingFor: context, namespace };
  const response = await repeated(channel, DelegationService.issue, request, { metadata });
  return { metadata: [[CONTEXT, response.context]], until: asked + Number(response.lifetimeMs) };
}
