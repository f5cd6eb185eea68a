/**
 * The paths of gRPC, `/helloworld.Helloworld/Call`, which gRPC-Web and Connect have, too. Several services may have a gRPC
 * service of one name. Its paths lead to the service that the name belongs to; to the others leads the header Portico-Service.
 * The authority keeps whose each name is, so it is known also while the owner has no instance. A name that belongs to nobody leads
 * to the one service that has it.
 */
import { Callers } from "../../src/contract/endpoint.js";
import { isReservedGrpcName } from "../../src/contract/names.js";
import type { Route, Target } from "./target.js";

/** The routes of a gRPC path. */
export interface RpcPath {
  /** One for each service that has it. */
  readonly routes: readonly Route[];
  /** The one that is called without the header Portico-Service; undefined where none is. */
  readonly first: Route | undefined;
}

/** By service, its gRPC names. */
export type Owners = ReadonlyMap<string, readonly string[]>;

const NO_ROUTES: readonly Route[] = [];

export class RpcRoutes {
  /** By exact path. */
  readonly #paths = new Map<string, RpcPath>();
  /** The paths of each gRPC service, by its name in lower case. */
  readonly #pathsOf = new Map<string, Set<string>>();
  /** By name in lower case, as owners are told apart. */
  #owners: ReadonlyMap<string, string> = new Map();

  find(path: string): RpcPath | undefined {
    return this.#paths.get(path);
  }

  /** The service that a gRPC name belongs to. */
  ownerOf(grpcService: string): string | undefined {
    return this.#owners.get(grpcService.toLowerCase());
  }

  /** Whether a service is reached by a gRPC name of its own without the header Portico-Service. */
  isFirst(grpcService: string, service: string): boolean {
    return (this.ownerOf(grpcService) ?? service) === service;
  }

  /** Adds an endpoint of a service. */
  add(target: Target): void {
    const { path, callers, grpcService, service } = target.endpoint;
    // Whatever a registry says: calls to these names carry passwords.
    if (callers === Callers.ENROLLED || isReservedGrpcName(grpcService, service)) return;
    const name = grpcService.toLowerCase();
    const paths = this.#pathsOf.get(name) ?? new Set<string>();
    this.#pathsOf.set(name, paths.add(path));
    this.#set(path, name, [...(this.#paths.get(path)?.routes ?? NO_ROUTES), { target, versioned: false }]);
  }

  delete({ endpoint: { path, service, grpcService } }: Target): void {
    const routes = this.#paths.get(path)?.routes ?? NO_ROUTES;
    this.#set(
      path,
      grpcService.toLowerCase(),
      routes.filter((route) => route.target.endpoint.service !== service),
    );
  }

  /** Whose names are whose from now on. */
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
