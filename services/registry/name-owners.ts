/** What the registry needs to know of owners of gRPC names, which the authority keeps in its log. */

/**
 * Told of changes of owners.
 * @param services whose names are others than before
 * @param released names that are nobody's any more, and whose they were
 */
export type OwnersListener = (
  services: readonly string[],
  released: readonly { readonly name: string; readonly service: string }[],
) => void;

/** Which service each full name of a gRPC service belongs to. Names are compared without regard to case. */
export interface NameOwners {
  /** The revision of the log that last changed an owner; 0 where none did. */
  readonly revision: number;
  /** All services that own names. */
  readonly services: Iterable<[service: string, names: readonly string[]]>;
  ownerOf(name: string): string | undefined;
  /** The names of a service. */
  of(service: string): readonly string[];
  /**
   * Gives a service those of the names that are nobody's, as many as it may own. They are its own when this resolves.
   * @param token the enrolment token by which it joins, by its SHA-256 in hex; undefined where it joins by none
   * @throws {StatusError} (rejects with one) UNAVAILABLE where they cannot be given now; UNAUTHENTICATED where the token was revoked
   */
  claim(service: string, names: readonly string[], token?: string): Promise<void>;
  /** Tells a listener of changes until the returned function is called. */
  follow(listener: OwnersListener): () => void;
}
