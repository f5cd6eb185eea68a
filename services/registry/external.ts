/**
 * External services, which join without an enrolment. They know nothing of the registry, so the
 * registry reads their contracts regularly. Each target is an instance from the first successful
 * reading of its contract until its service is removed, or the registry closes. If a target goes
 * away, its endpoints stay, so that callers get UNAVAILABLE and not NOT_FOUND.
 */
import { createHash } from "node:crypto";
import { formatServiceTarget } from "../../src/address/srv.js";
import type { ExternalService, ExternalTarget } from "../../src/config/configured-services.js";
import { ConfigError } from "../../src/config/setting.js";
import { ServiceOptions } from "../../src/gen/portico/registry/v1/service_options.js";
import { checkServiceName } from "./check-instance.js";
import { type ExternalOptions, type FollowedTarget, followTarget } from "./external-target.js";
import type { ReflectedContract } from "./reflection-client.js";

/**
 * How long earlier instances of a changed service are called at most, while the new ones cannot be
 * read, in milliseconds.
 */
const MAX_OVERLAP = 2_000;

/** The external services, which are followed until `close`. */
export class ExternalServices {
  readonly #options: ExternalOptions;
  /** By name. */
  #followed = new Map<string, FollowedService>();

  constructor(options: ExternalOptions) {
    this.#options = options;
  }

  /**
   * Follows these services instead of the previous ones. A service that is the same is not
   * interrupted. If one has changed, its instances are replaced without a gap.
   * @throws {ConfigError} if a service has an invalid name; then nothing has changed
   */
  set(services: readonly ExternalService[]): void {
    checkNames(services);
    const before = this.#followed;
    this.#followed = new Map(
      services.map((service) => {
        const old = before.get(service.name);
        const isSame = old !== undefined && keyOf(old.service) === keyOf(service);
        return [service.name, isSame ? old : new FollowedService(service, this.#options, old)];
      }),
    );
    for (const [name, { stop }] of before) if (!this.#followed.has(name)) stop();
  }

  /** Why the contract of a service could not be read the last time; undefined if it was read. */
  errorOf(name: string): string | undefined {
    return this.#followed.get(name)?.error;
  }

  /** Resolves when one attempt was made to read the contract of each target. */
  async tried(): Promise<void> {
    await Promise.all([...this.#followed.values()].map(({ tried }) => tried));
  }

  /**
   * Resolves when the service as it is now is followed: one attempt was made for each target, and
   * targets that it had before are not called any more.
   */
  async changed(name: string): Promise<void> {
    const followed = this.#followed.get(name);
    await Promise.all([followed?.tried, followed?.replaced]);
  }

  close(): void {
    this.set([]);
  }
}

const keys = new WeakMap<ExternalService, string>();

/** A text that differs if anything of the services differs. */
function keyOf(service: ExternalService): string {
  const known = keys.get(service);
  if (known !== undefined) return known;
  const { name, targets, descriptors, options } = service;
  const given = typeof descriptors === "string" ? descriptors : descriptors && sha256(descriptors);
  const key = JSON.stringify([name, targets, given, sha256(ServiceOptions.encode(options).finish())]);
  keys.set(service, key);
  return key;
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("base64");
}

/** Follows every target of a service until it is stopped. */
class FollowedService {
  readonly service: ExternalService;
  readonly #targets: readonly FollowedTarget[];
  /** Resolves when one attempt was made for each target. */
  readonly tried: Promise<unknown>;
  /** Resolves when the service's earlier instances have left. */
  readonly replaced: Promise<void> | undefined;
  #before: FollowedService | undefined;

  /** @param before the same service as it was; its instances stay until new ones have joined */
  constructor(service: ExternalService, options: ExternalOptions, before: FollowedService | undefined) {
    this.service = service;
    if (before !== undefined) before.#retire();
    this.#targets = service.targets.map((target) =>
      followTarget(service, target, options, before?.contractOf(service, target)),
    );
    this.tried = Promise.all(this.#targets.map(({ tried }) => tried));
    if (before === undefined) return;
    this.#before = before;
    const late = new Promise<void>((resolve) => void setTimeout(resolve, MAX_OVERLAP).unref());
    this.replaced = Promise.race([late, ...this.#targets.map(({ tried }) => tried)]).then(() => {
      this.#before?.stop();
      this.#before = undefined;
    });
  }

  get error(): string | undefined {
    return this.#targets.every(({ trouble }) => trouble !== undefined) ? this.#targets[0]?.trouble : undefined;
  }

  /** The contract that was read from a target, if it is valid for the service as it is now. */
  contractOf({ descriptors }: ExternalService, { target }: ExternalTarget): ReflectedContract | undefined {
    if (descriptors !== undefined || this.service.descriptors !== undefined) return undefined;
    const address = formatServiceTarget(target);
    return this.#targets.find((one) => one.address === address)?.contract;
  }

  /** Reads no contract any more. The instances stay. */
  #retire(): void {
    this.#before?.stop();
    this.#before = undefined;
    for (const { closing } of this.#targets) closing.abort();
  }

  /** Ends the instances, except those that others have replaced. */
  readonly stop = (): void => {
    this.#retire();
    for (const target of this.#targets) target.leave();
  };
}

/** @throws {ConfigError} if a name is invalid or used twice */
export function checkNames(services: readonly ExternalService[]): void {
  const seen = new Set<string>();
  for (const { name } of services) {
    try {
      checkServiceName(name, false);
    } catch (error) {
      throw new ConfigError(`services in the configuration file: ${(error as Error).message}`);
    }
    if (seen.has(name)) {
      throw new ConfigError(`services in the configuration file: "${name}" is there twice; list its targets in one`);
    }
    seen.add(name);
  }
}
