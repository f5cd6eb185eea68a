/**
 * The configured services of this authority: the services of the log, which all authorities follow,
 * and of its configuration file. If both have a service of one name, the log's is followed.
 */
import type { Logger } from "pino";
import type { ExternalService } from "../../src/config/configured-services.js";
import type { ConfiguredService } from "../../src/gen/portico/registry/v1/services.js";
import { ServiceSource } from "../../src/gen/portico/registry/v1/services.js";
import { externalServiceOf } from "./configured-service.js";
import { checkNames, ExternalServices } from "./external.js";
import type { ExternalOptions } from "./external-target.js";
import type { Reach } from "./reach.js";
import type { ServiceLog } from "./service-log.js";

/** A service that is followed. */
export interface NamedService {
  readonly service: ExternalService;
  readonly source: ServiceSource;
}

interface ConfiguredOptions extends ExternalOptions {
  /** Undefined if there is no log. */
  readonly serviceLog: ServiceLog | undefined;
  readonly reach: Reach;
}

export class ConfiguredServices {
  readonly #log: Logger;
  readonly #serviceLog: ServiceLog | undefined;
  readonly #reach: Reach;
  readonly #unfollow: () => void;
  readonly external: ExternalServices;
  #file: readonly ExternalService[] = [];
  #services: ReadonlyMap<string, NamedService> = new Map();
  /** The names in the file that were last reported as not used. */
  #reported = "";
  /** Services of the log that were reported as not usable. */
  readonly #unusable = new WeakSet<ConfiguredService>();

  constructor({ serviceLog, reach, ...options }: ConfiguredOptions) {
    this.#log = options.log;
    this.#serviceLog = serviceLog;
    this.#reach = reach;
    this.external = new ExternalServices(options);
    this.#unfollow = serviceLog?.follow(() => this.#apply()) ?? (() => {});
  }

  /** By name. */
  get services(): ReadonlyMap<string, NamedService> {
    return this.#services;
  }

  /**
   * Follows these services of the file instead of the previous ones.
   * @throws {ConfigError} if a name is invalid; then nothing has changed
   */
  setFile(services: readonly ExternalService[]): void {
    checkNames(services);
    this.#file = services;
    this.#apply();
  }

  /** Whether the file has a service that is not followed, because the log has one of its name. */
  isHidden(name: string): boolean {
    return this.#services.get(name)?.source === ServiceSource.LOG && this.#file.some((one) => one.name === name);
  }

  close(): void {
    this.#unfollow();
    this.external.close();
  }

  #apply(): void {
    const all = new Map<string, NamedService>();
    for (const service of this.#file) all.set(service.name, { service, source: ServiceSource.FILE });
    for (const [name, service] of this.#serviceLog?.services ?? []) {
      const usable = this.#usable(service);
      if (usable !== undefined) all.set(name, { service: usable, source: ServiceSource.LOG });
    }
    this.#services = new Map([...all].sort(([a], [b]) => (a < b ? -1 : 1)));
    const followed = [...this.#services.values()].map(({ service }) => service);
    this.external.set(followed);
    this.#reach.set(followed);
    this.#report();
  }

  /** Undefined if the service was written by a version with other rules. */
  #usable(service: ConfiguredService): ExternalService | undefined {
    try {
      return externalServiceOf(service);
    } catch (error) {
      if (!this.#unusable.has(service)) {
        const { name } = service;
        this.#log.warn({ service: name, reason: (error as Error).message }, "a service of the log cannot be used");
      }
      this.#unusable.add(service);
      return undefined;
    }
  }

  #report(): void {
    const hidden = this.#file.map(({ name }) => name).filter((name) => this.isHidden(name));
    const services = hidden.join(", ");
    if (services !== "" && services !== this.#reported)
      this.#log.warn({ services }, "the log has services of these names, so the configuration file's are not used");
    this.#reported = services;
  }
}
