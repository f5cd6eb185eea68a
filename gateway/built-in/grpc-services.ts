/**
 * The gRPC services that can be called at the HTTP port. A caller sees only those with an endpoint
 * that it may call.
 */
import { type Admission, type Guard, isVisible } from "../../src/call/admission.js";
import { descriptorsOf } from "../../src/contract/built-in-files.js";
import type { BuiltInRoot } from "../../src/contract/names.js";
import { FileIndex, type Sees } from "../../src/rpc/file-index.js";
import type { CatalogContract } from "../catalog/contracts.js";
import type { Routes } from "../catalog/routes.js";
import type { EndpointTarget } from "../catalog/target.js";

/**
 * The name by which the gateway's own endpoints are decided, logged and counted. No service may
 * take it.
 */
export const BUILT_IN_SERVICE = "gateway";
/**
 * The endpoints have only gRPC paths, so no path begins with this root. The name is reserved
 * nevertheless.
 */
export const BUILT_IN_SERVICE_ROOTS: readonly BuiltInRoot[] = [`/${BUILT_IN_SERVICE}`];

/** One gRPC service of a service. */
export interface GrpcService {
  /** Full name, `helloworld.Helloworld`. */
  readonly name: string;
  /** The service that has it, `helloworld`. */
  readonly service: string;
  readonly targets: EndpointTarget[];
}

/** The caller that asks, and the service that it asks for; `only` is undefined if it names none. */
export type ReflectionViewer = Pick<Admission, "caller" | "namespace"> & { readonly only: string | undefined };

interface Known {
  /**
   * By full name, sorted by name. A list has several entries if several services have a gRPC
   * service of that name.
   */
  readonly byName: ReadonlyMap<string, readonly GrpcService[]>;
  /** The descriptors, in the order of the services' names. */
  readonly files: FileIndex<GrpcService>;
}

export class GrpcServices {
  readonly #routes: Routes;
  readonly #guard: Pick<Guard, "allows">;
  /** Made when it is first needed after a change of the catalog. */
  #known: Known | undefined;

  constructor(routes: Routes, guard: Pick<Guard, "allows">) {
    this.#routes = routes;
    this.#guard = guard;
    routes.onChange(() => {
      this.#known = undefined;
    });
  }

  get byName(): Known["byName"] {
    return this.#read().byName;
  }

  get files(): Known["files"] {
    return this.#read().files;
  }

  /** Full names of the gRPC services that the viewer sees, in order. */
  namesSeenBy(viewer: ReflectionViewer): string[] {
    const sees = this.seenBy(viewer);
    return [...this.byName].flatMap(([name, services]) => (services.some(sees) ? [name] : []));
  }

  seenBy(viewer: ReflectionViewer): Sees<GrpcService> {
    return ({ name, service, targets }) => {
      // Without the header Portico-Service a name leads only to its owner.
      const isMeant = viewer.only === undefined ? this.#routes.rpc.isFirst(name, service) : viewer.only === service;
      const isAsked = isMeant || service === BUILT_IN_SERVICE;
      return isAsked && targets.some(({ endpoint }) => isVisible(this.#guard, viewer, endpoint));
    };
  }

  #read(): Known {
    if (this.#known !== undefined) return this.#known;
    const all: GrpcService[] = [];
    const files = new FileIndex<GrpcService>();
    for (const targets of [this.#routes.own, ...this.#targetsByService()]) {
      const found = grpcServicesOf(targets);
      all.push(...found);
      addFiles(files, targets, found);
    }
    // Error details are in an Any, so a contract need not import their types. Clients that print
    // them ask for the types here. A service's own files come first.
    const own = all.filter(({ service }) => service === BUILT_IN_SERVICE);
    files.add(
      descriptorsOf("google.rpc"),
      own.map((owner) => ({ grpcService: owner.name, owner })),
    );
    const byName = new Map<string, GrpcService[]>();
    for (const one of all.sort(inOrder)) byName.set(one.name, [...(byName.get(one.name) ?? []), one]);
    this.#known = { byName, files };
    return this.#known;
  }

  #targetsByService(): (readonly EndpointTarget[])[] {
    return [...this.#routes.services].sort().map((service) => this.#routes.targetsOf(service) ?? []);
  }
}

/** @param targets of one service */
function grpcServicesOf(targets: readonly EndpointTarget[]): GrpcService[] {
  const found = new Map<string, GrpcService>();
  for (const target of targets) {
    const { service, grpcService: name } = target.endpoint;
    const known = found.get(name);
    if (known === undefined) found.set(name, { name, service, targets: [target] });
    else known.targets.push(target);
  }
  return [...found.values()];
}

/**
 * Adds the descriptors of a service. If it has several contracts, as during an update, the
 * descriptors of the newest come first.
 */
function addFiles(
  files: FileIndex<GrpcService>,
  targets: readonly EndpointTarget[],
  grpcServices: readonly GrpcService[],
): void {
  for (const contract of new Set<CatalogContract>(targets.map((target) => target.contract))) {
    const having = grpcServices.filter(({ targets: own }) => own.some((target) => target.contract === contract));
    const owned = having.map((owner) => ({ grpcService: owner.name, owner }));
    files.add(contract.schema.descriptors, owned);
  }
}

function inOrder(one: GrpcService, other: GrpcService): number {
  return one.name < other.name ? -1 : one.name > other.name ? 1 : 0;
}
