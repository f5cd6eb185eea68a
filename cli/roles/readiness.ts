/** Why a process cannot serve calls, as a text for the operator. */

import type { Problem } from "../../gateway/built-in/attention.js";
import { HealthRoutes } from "../../gateway/built-in/health.js";
import type { Catalog } from "../../gateway/catalog/catalog.js";
import type { Authorities, AuthorityLink } from "../../src/access/follow/authorities.js";
import type { OpenGuard } from "../../src/access/guard.js";
import { authorityUnreachable } from "../../src/call/admission.js";
import { certificateFaults } from "../../src/config/certificates.js";
import { type Config, SETTINGS } from "../../src/config/config.js";
import { ConfigError } from "../../src/config/setting.js";
import { Code, StatusError } from "../../src/errors.js";

/** A part of a process that follows authorities. */
interface Follower {
  /** By the authority's name: the error for which it cannot be followed. */
  readonly errors: ReadonlyMap<string, unknown>;
}

/** The parts that determine whether a process can serve calls. */
interface HealthOptions {
  readonly guard: OpenGuard;
  /** Only in a gateway. */
  readonly catalog?: Catalog;
  /** Set if the authorities are other processes. */
  readonly authorities?: Authorities | undefined;
  /** The errors of the authority of this process, if it has one. */
  readonly errors?: () => readonly string[];
}

/** The health of a process, and why it is not ready. */
export function healthOf({ guard, catalog, authorities, errors: ownErrors }: HealthOptions) {
  const needs = { guard: () => guard.state === "ready", ...(catalog && { catalog: () => catalog.ready }) };
  const notReady = () => whyNotReady(health.missing, { guard, ...(catalog && { catalog }) }, authorities?.all);
  const health: HealthRoutes = new HealthRoutes(needs, { why: notReady, errors: ownErrors });
  return { health, notReady };
}

/**
 * Why a process refuses calls.
 * @param missing names of the parts that are not ready
 * @param authorities set if they are other processes
 * @returns undefined if calls are not refused
 */
export function whyNotReady(
  missing: readonly string[],
  parts: { readonly guard: Follower; readonly catalog?: Follower },
  authorities: readonly AuthorityLink[] = [],
): string | undefined {
  const [first] = missing;
  if (first === undefined) return undefined;
  const { errors } = first === "catalog" ? (parts.catalog as Follower) : parts.guard;
  // The guard is ready, so the authority can be reached. Only the catalog is still missing.
  if (first === "catalog" && errors.size === 0) return "the catalog has not arrived yet";
  if (authorities.length === 0) return `the authority ${describeError([...errors.values()][0])}`;
  const each = authorities.map(({ name }) => `${name} ${describeError(errors.get(name))}`);
  return each.length === 1 ? `the authority at ${each[0]}` : `no authority can be followed: ${each.join("; ")}`;
}

const MEND = `Start it, or take it out of ${SETTINGS.authority.variable}`;

interface ProblemSources {
  readonly config: Config;
  readonly guard: Follower;
  readonly health: Pick<HealthRoutes, "errors">;
  /** Set if the authorities are other processes. */
  readonly authorities: Authorities | undefined;
}

/** What the operator of a gateway must mend, although it serves calls. */
export function problemsOf({ config, guard, health, authorities }: ProblemSources): Problem[] {
  return [
    ...certificateProblems(config),
    ...(authorities?.all ?? [])
      .filter(({ name, channel: { state } }) => state === "broken" || (state !== "ready" && guard.errors.has(name)))
      .map(({ name, channel: { state } }) => {
        const error = guard.errors.get(name);
        // What an authority responded before its connection broke is no reason any more.
        const isOld = state === "broken" && error instanceof StatusError && error.code !== Code.UNAVAILABLE;
        const text = error === undefined || isOld ? "cannot be reached" : describeError(error);
        return { name: `The authority at ${name}`, text: `${text}. ${MEND}` };
      }),
    ...health.errors.map((text) => ({ name: "The authority", text: `reports: ${text}` })),
  ];
}

function certificateProblems(config: Config): Problem[] {
  try {
    return certificateFaults(config).map(({ setting, fault, to }) => ({
      name: `The certificate of ${setting}`,
      text: `${fault}. It is valid until ${new Date(to).toISOString()}`,
    }));
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return [{ name: "A certificate", text: `is not used: ${error.message}` }];
  }
}

/** What an authority did wrong, after its name. */
export function describeError(error: unknown): string {
  if (error === undefined) return "has not responded yet";
  if (!(error instanceof StatusError)) return `was not understood: ${error instanceof Error ? error.message : error}`;
  const { code, message, cause } = error;
  if (code === Code.UNAUTHENTICATED || code === Code.PERMISSION_DENIED) {
    return `does not accept the enrolment token of this process (${message})`;
  }
  // This side cancels a stream on which pings get no response.
  if (code === Code.CANCELLED || code === Code.DEADLINE_EXCEEDED) return "does not respond";
  // OpenSSL's error texts contain line breaks.
  if (code === Code.UNAVAILABLE && cause instanceof Error) {
    return `cannot be reached: ${cause.message.replace(/\s+/g, " ").trim()}`;
  }
  // It was reached, and said this of itself.
  if (message === authorityUnreachable().message)
    return "responds, but decides nothing: its /readyz and its log say why";
  return `failed: ${message}`;
}
