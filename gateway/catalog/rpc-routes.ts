/**
 * The paths of gRPC, `/helloworld.Helloworld/Call`. gRPC-Web and Connect use the same paths.
 * Several services may have a gRPC service of the same name. Its paths lead to the service that
 * owns the name. The header Portico-Service leads to the others. The authority stores the owner of
 * each name, so the gateway knows it even while the owner has no instance. A name without an owner
 * leads to the only service that has it.
 */
import { Callers } from "../../src/contract/endpoint.js";
import { isReservedGrpcName } from "../../src/contract/names.js";
import type { EndpointTarget, Route } from "./target.js";

/** The routes of a gRPC path. */
export interface RpcPath {
  /** One route for each service that has the path. */
  readonly routes: readonly Route[];
  /** The route for a call without the header Portico-Service; undefined if there is none. */
  readonly first: Route | undefined;
}

/** The gRPC names that each service owns, by service. */
export type Owners = ReadonlyMap<string, readonly string[]>;

const NO_ROUTES: readonly Route[] = [];

export class RpcRoutes {
  /** By exact path. */
  readonly #paths = new Map<string, RpcPath>();
  /** The paths of each gRPC service, by its name in lower case. */
  readonly #pathsOf = new Map<string, Set<string>>();
  /** Owners by gRPC name in lower case, because names that differ only in case have one owner. */
  #owners: ReadonlyMap<string, string> = new Map();

  find(path: string): RpcPath | undefined {
    return this.#paths.get(path);
  }

  /** The service that owns a gRPC name. */
  ownerOf(grpcService: string): string | undefined {
    return this.#owners.get(grpcService.toLowerCase());
  }

  /** Whether calls by this gRPC name reach this service without the header Portico-Service. */
  isFirst(grpcService: string, service: string): boolean {
    return (this.ownerOf(grpcService) ?? service) === service;
  }

  /** Adds an endpoint of a service. */
  add(target: EndpointTarget): void {
    const { path, callers, grpcService, service } = target.endpoint;
    // Reserved names are refused here too, even if a registry announces them: calls to these names
    // contain passwords.
    if (callers === Callers.ENROLLED || isReservedGrpcName(grpcService, service)) return;
    const name = grpcService.toLowerCase();
    const paths = this.#pathsOf.get(name) ?? new Set<string>();
    this.#pathsOf.set(name, paths.add(path));
    this.#set(path, name, [...(this.#paths.get(path)?.routes ?? NO_ROUTES), { target, versioned: false }]);
  }

  delete({ endpoint: { path, service, grpcService } }: EndpointTarget): void {
    const routes = this.#paths.get(path)?.routes ?? NO_ROUTES;
    this.#set(
      path,
      grpcService.toLowerCase(),
      routes.filter((route) => route.target.endpoint.service !== service),
    );
  }

  /** Replaces the owners of all names. */
  set owners(owners: Owners) {
    const before = this.#owners;
    this.#owners = new Map(
      [...owners].flatMap(([service, names]) => names.map((name) => [name.toLowerCase(), service])),
    );
    for (const name of new Set([...before.keys(), ...this.#owners.keys()])) {
      if (before.get(name) === this.#owners.get(name)) continue;
      for (const path of this.#pathsOf.get(name) ?? [])
        this.#set(path, name, this.#paths.get(path)?.routes ?? NO_ROUTES);
    }
  }

  #set(path: string, name: string, routes: readonly Route[]): void {
    const owner = this.#owners.get(name);
    const isOwners = (route: Route): boolean => route.target.endpoint.service === owner;
    const first = owner !== undefined ? routes.find(isOwners) : routes.length === 1 ? routes[0] : undefined;
    if (routes.length > 0) {
      this.#paths.set(path, { routes, first });
      return;
    }
    this.#paths.delete(path);
    const paths = this.#pathsOf.get(name);
    paths?.delete(path);
    if (paths?.size === 0) this.#pathsOf.delete(name);
  }
}
