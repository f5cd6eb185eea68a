/**
 * Names: lists which service owns each full name of a gRPC service, and takes names from a service.
 */
import { notFound } from "../../../src/errors.js";
import { NamesService } from "../../../src/gen/portico/auth/v1/names.js";
import { part, type ServicePart } from "../../../src/rpc/service.js";
import type { Changes } from "../log/changelog/changes.js";
import { accountOfDefault, authorOf } from "./checks.js";

/** The gRPC service portico.auth.v1.Names. */
export function names({ changes }: { changes: Changes }): ServicePart {
  return part(NamesService, {
    list: async (_, context) => {
      accountOfDefault(context);
      await changes.sync();
      const services = [...changes.state.grpcNames.services].map(([service, names]) => ({
        service,
        names: [...names].sort(),
      }));
      return { services: services.sort((a, b) => (a.service < b.service ? -1 : 1)) };
    },
    release: async ({ service, name }, context) => {
      let released: readonly string[] = [];
      accountOfDefault(context);
      await changes.issue(authorOf(context), ({ grpcNames }) => {
        const own = grpcNames.of(service);
        released = name === "" ? own : own.filter((one) => one.toLowerCase() === name.toLowerCase());
        if (released.length === 0) throw notFound(unknown(service, name, grpcNames.ownerOf(name)));
        return [{ $case: "grpcNamesReleased", value: { service, names: [...released] } }];
      });
      return { names: [...released] };
    },
  });
}

/** The message of the error: what is missing, and which service owns the name instead. */
function unknown(service: string, name: string, owner: string | undefined): string {
  if (name === "") return `no gRPC name belongs to ${service}`;
  return `${name} does not belong to ${service}, but to ${owner ?? "nobody"}`;
}
