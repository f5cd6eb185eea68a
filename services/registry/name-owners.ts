/** The owners of gRPC names, as the registry needs them. The authority stores them in its log. */

/**
 * Called after a change of owners.
 * @param services the services whose names have changed
 * @param released names that belong to no service any more, with their previous owners
 */
export type OwnersListener = (
  services: readonly string[],
  released: readonly { readonly name: string; readonly service: string }[],
) => void;

/**
 * Which service the full name of each gRPC service belongs to. Names are compared without regard to
 * case.
 */
export interface NameOwners {
  /** The revision of the log that last changed an owner; 0 if none did. */
  readonly revision: number;
  /** All services that own names. */
  readonly services: Iterable<[service: string, names: readonly string[]]>;
  ownerOf(name: string): string | undefined;
  /** The names of a service. */
  of(service: string): readonly string[];
  /**
   * Claims for a service the names that belong to no other service, up to its maximum. When this
   * resolves, they belong to it.
   * @param token the SHA-256 in hex of the enrolment token that it joins with; undefined if it
   *   joins without a token
   * @throws {StatusError} (rejects) UNAVAILABLE if they cannot be claimed now; UNAUTHENTICATED if
   *   the token was revoked
   */
  claim(service: string, names: readonly string[], token?: string): Promise<void>;
  /** Calls the listener after each change, until the returned function is called. */
  follow(listener: OwnersListener): () => void;
}
