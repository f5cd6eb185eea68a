/** Owners of gRPC names, in memory, for a registry without an authority. */
import { GrpcNames } from "../../services/auth/log/state/grpc-names.js";
import type { NameOwners, OwnersListener } from "../../services/registry/name-owners.js";

export function ownersInMemory(): NameOwners & { release(service: string): void } {
  const names = new GrpcNames();
  const listeners = new Set<OwnersListener>();
  let revision = 0;
  return {
    get revision() {
      return names.revision;
    },
    get services() {
      return names.services;
    },
    ownerOf: (name) => names.ownerOf(name),
    of: (service) => names.of(service),
    async claim(service, wanted) {
      const claimed = names.claim(service, names.claimable(service, wanted), ++revision);
      if (claimed.length > 0) for (const listener of listeners) listener([service], []);
    },
    release(service) {
      const released = names.release(service, [], ++revision).map((name) => ({ name, service }));
      for (const listener of listeners) listener([service], released);
    },
    follow(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
