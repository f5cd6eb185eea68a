/** The configured services in the log, for the registry: all authorities have the same ones. */
import { alreadyExists, notFound, resourceExhausted } from "../../src/errors.js";
import { ConfiguredService } from "../../src/gen/portico/registry/v1/services.js";
import type { Context } from "../../src/rpc/service.js";
import { accountOfDefault, authorOf } from "./endpoints/checks.js";
import type { Changes } from "./log/changelog/changes.js";
import type { LogEvent } from "./log/changelog/decide.js";
import type { Journal, StateListener } from "./log/changelog/journal.js";
import type { State } from "./log/state/state.js";

const MAX_SERVICES = 1_000;
/** The maximum size of all descriptors, in bytes. */
const MAX_DESCRIPTORS = 32 * 1024 ** 2;
/** The maximum size of everything else, in bytes, so that a list fits into one message. */
const MAX_OTHERS = 2 * 1024 ** 2;
const NONE = Buffer.alloc(0);

/** The services that join without an enrolment, by the log. */
export class StoredServices implements StateListener {
  readonly #journal: Journal;
  readonly #changes: Changes;
  readonly #listeners = new Set<() => void>();
  /** The revision of the services at the last notification. */
  #revision = 0;

  /** @param parts the journal is followed until it is closed */
  constructor({ journal, changes }: { journal: Journal; changes: Changes }) {
    this.#journal = journal;
    this.#changes = changes;
    journal.follow(this);
  }

  get services(): ReadonlyMap<string, ConfiguredService> {
    return new Map(this.#journal.state.services);
  }

  /** @throws {StatusError} (rejects) as in services/registry/service-log.ts */
  assertionKey(name: string): Buffer | undefined {
    return this.#journal.state.assertionKeys(name)[0]?.key;
  }

  async sync(context: Context): Promise<void> {
    accountOfDefault(context);
    await this.#changes.sync();
  }

  /** @throws {StatusError} (rejects) as in services/registry/service-log.ts */
  async put(
    context: Context,
    given: ConfiguredService,
    { create, keepDescriptors, dryRun }: { create: boolean; keepDescriptors: boolean; dryRun: boolean },
  ): Promise<void> {
    accountOfDefault(context);
    const decide = (state: State): LogEvent[] => {
      const before = state.services.get(given.name);
      if (create && before !== undefined) throw alreadyExists(`There is a service ${given.name} already`);
      const isKept = keepDescriptors && given.descriptors.length === 0;
      const service = isKept ? { ...given, descriptors: before?.descriptors ?? NONE } : given;
      checkSize(state, service);
      return [{ $case: "servicePut", value: { service } }];
    };
    if (dryRun) decide(this.#journal.state);
    else await this.#changes.make(authorOf(context), decide);
  }

  /** @throws {StatusError} (rejects) as in services/registry/service-log.ts */
  async delete(context: Context, name: string): Promise<void> {
    accountOfDefault(context);
    await this.#changes.make(authorOf(context), (state) => {
      if (!state.services.has(name)) throw notFound(`The log has no service ${JSON.stringify(name.slice(0, 64))}`);
      return [{ $case: "serviceDeleted", value: { name } }];
    });
  }

  /** Notifies a listener of changes until the returned function is called. */
  follow(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  changed(): void {
    if (this.#journal.state.services.revision !== this.#revision) this.replaced();
  }

  replaced(): void {
    this.#revision = this.#journal.state.services.revision;
    for (const listener of this.#listeners) listener();
  }
}

/** @throws {StatusError} RESOURCE_EXHAUSTED if the log may not have this service in addition */
export function checkSize(state: State, service: ConfiguredService): void {
  const others = [...state.services].filter(([name]) => name !== service.name).map(([, other]) => other);
  const all = [...others, service];
  const full = (what: string) =>
    resourceExhausted(`the log has at most ${what} of configured services; remove some, or leave this one in a file`);
  if (all.length > MAX_SERVICES) throw full(`${MAX_SERVICES}`);
  const sum = (sizeOf: (service: ConfiguredService) => number) => all.reduce((size, one) => size + sizeOf(one), 0);
  if (sum(({ descriptors }) => descriptors.length) > MAX_DESCRIPTORS)
    throw full(`${MAX_DESCRIPTORS / 1024 ** 2} MiB of descriptors`);
  const size = sum((one) => ConfiguredService.encode({ ...one, descriptors: NONE }).finish().length);
  if (size > MAX_OTHERS) throw full(`${MAX_OTHERS / 1024 ** 2} MiB of options and HTTP rules`);
}
