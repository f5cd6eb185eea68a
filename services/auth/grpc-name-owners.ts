/** The owners of gRPC names, for the registry. They are in the log, so all authorities agree. */
import { unauthenticated } from "../../src/errors.js";
import { type Journal, PORTICO, type StateListener } from "./log/changelog/journal.js";
import type { GrpcNames } from "./log/state/grpc-names.js";

/**
 * Notified of changes of owners.
 * @param services whose list of names has changed
 * @param released names that have no owner any more, with their former owners
 */
type OwnersListener = (
  services: readonly string[],
  released: readonly { readonly name: string; readonly service: string }[],
) => void;

/** Which service each full name of a gRPC service belongs to. */
export class GrpcNameOwners implements StateListener {
  readonly #journal: Journal;
  readonly #listeners = new Set<OwnersListener>();
  /** The revision of the names at the last notification. */
  #revision: number;
  #known: ReadonlyMap<string, readonly string[]>;

  /** @param journal followed until it is closed */
  constructor(journal: Journal) {
    this.#journal = journal;
    this.#revision = this.#names.revision;
    this.#known = new Map(this.#names.services);
    journal.follow(this);
  }

  get #names(): GrpcNames {
    return this.#journal.state.grpcNames;
  }

  /** The revision that last changed an owner; 0 if none did. */
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
   * Gives the service the names that have no owner, up to its maximum. When this resolves, the
   * service owns them, and this is on disk. Writes nothing if there are no such names.
   * @param token SHA-256 in hex of the enrolment token by which the service joins; undefined if it
   *   joins without one
   * @throws {StatusError} (rejects) UNAVAILABLE when the store fails; UNAUTHENTICATED when the
   *   token was revoked
   */
  async claim(service: string, names: readonly string[], token?: string): Promise<void> {
    if (this.#names.claimable(service, names).length === 0) return;
    await this.#journal.commit(PORTICO, (state) => {
      // Deleting the last enrolment releases the names. A registration that began before must not
      // take them back.
      if (token !== undefined && !state.enrolments.has(token)) {
        throw unauthenticated(`The enrolment token of ${service} was revoked`);
      }
      const free = state.grpcNames.claimable(service, names);
      return free.length === 0 ? [] : [{ $case: "grpcNamesClaimed", value: { service, names: free } }];
    });
  }

  /** Notifies a listener of changes until the returned function is called. */
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
