/** The gRPC names and their owners, as the registry uses them: the log keeps them, so all authorities on a store agree. */
import { unauthenticated } from "../../src/errors.js";
import { type Journal, PORTICO, type StateListener } from "./log/changelog/journal.js";
import type { GrpcNames } from "./log/state/grpc-names.js";

/**
 * Told of changes of owners.
 * @param services whose names are others than before
 * @param released names that are nobody's any more, and whose they were
 */
type OwnersListener = (
  services: readonly string[],
  released: readonly { readonly name: string; readonly service: string }[],
) => void;

/** Which service each full name of a gRPC service belongs to. */
export class GrpcNameOwners implements StateListener {
  readonly #journal: Journal;
  readonly #listeners = new Set<OwnersListener>();
  /** As it was told last. */
  #revision: number;
  #known: ReadonlyMap<string, readonly string[]>;

  /** @param journal which it follows as long as that is open */
  constructor(journal: Journal) {
    this.#journal = journal;
    this.#revision = this.#names.revision;
    this.#known = new Map(this.#names.services);
    journal.follow(this);
  }

  get #names(): GrpcNames {
    return this.#journal.state.grpcNames;
  }

  /** The revision that last changed an owner; 0 where none did. */
  get revision(): number {
    return this.#names.revision;
  }

  ownerOf(name: string): string | undefined {
    return this.#names.ownerOf(name);
  }

  of(service: string): readonly string[] {
    return this.#names.of(service);
  }

  /** All services that own names. */
  get services(): Iterable<[service: string, names: readonly string[]]> {
    return this.#names.services;
  }

  /**
   * Gives a service those of the names that are nobody's, as many as it may own. They are its own when this resolves, and
   * on disk. Where there are none, nothing is written.
   * @param token the enrolment token by which it joins, by its SHA-256 in hex; undefined where it joins by none
   * @throws {StatusError} (rejects with one) UNAVAILABLE where the store fails; UNAUTHENTICATED where the token was revoked
   */
  async claim(service: string, names: readonly string[], token?: string): Promise<void> {
    if (this.#names.claimable(service, names).length === 0) return;
    await this.#journal.commit(PORTICO, (state) => {
      // Deleting the last enrolment releases the names, which a registration of before must not take back.
      if (token !== undefined && !state.enrolments.has(token)) {
        throw unauthenticated(`The enrolment token of ${service} was revoked`);
      }
      const free = state.grpcNames.claimable(service, names);
      return free.length === 0 ? [] : [{ $case: "grpcNamesClaimed", value: { service, names: free } }];
    });
  }

  /** Tells a listener of changes until the returned function is called. */
  follow(listener: OwnersListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  changed(): void {
    if (this.#names.revision !== this.#revision) this.replaced();
  }

  replaced(): void {
    const before = this.#known;
    this.#known = new Map(this.#names.services);
    this.#revision = this.#names.revision;
    const services = [...new Set([...before.keys(), ...this.#known.keys()])].filter(
      (service) => before.get(service) !== this.#known.get(service),
    );
    const released = services.flatMap((service) =>
      (before.get(service) ?? []).filter((name) => this.ownerOf(name) === undefined).map((name) => ({ name, service })),
    );
    for (const listener of this.#listeners) listener(services, released);
  }
}
