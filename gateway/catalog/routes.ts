/**
 * One map from every path of every endpoint, in lower case, to the endpoint. A second lookup finds
 * a path that has upper-case letters or is percent-encoded.
 *
 * A path has one meaning or none. Percent-encoded unreserved characters are decoded once (RFC 3986
 * §6.2.2.2). Nothing else is repaired: not dot segments, not empty segments, not trailing slashes,
 * not `%2F`.
 */
import { Callers, type Endpoint, pathOf } from "../../src/contract/endpoint.js";
import { NAME, RESERVED_NAMES } from "../../src/contract/names.js";
import { nearest } from "../../src/contract/nearest.js";
import { Code, StatusError } from "../../src/errors.js";
import { HttpError } from "../http/errors.js";
import { BindingTable } from "./bindings.js";
import { RpcRoutes } from "./rpc-routes.js";
import type { EndpointTarget, Route } from "./target.js";

/** A path of unreserved characters, which needs no decoding (RFC 3986 §2.3). */
const PLAIN = /^\/[A-Za-z0-9._~/-]*$/;
const UNRESERVED = /[A-Za-z0-9._~-]/;
const PERCENT = /%(?:([0-9A-Fa-f]{2})|)/g;
/** The characters of a URI's path (RFC 3986 §3.3). */
const PATH = /^\/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*$/;

export class Routes {
  /** The paths that services have by `google.api.http` annotations. */
  readonly bindings = new BindingTable();
  /** The gRPC paths of the services. */
  readonly rpc = new RpcRoutes();
  readonly #routes = new Map<string, Route>();
  /** The endpoints of the gateway itself, by exact gRPC path. */
  readonly #own = new Map<string, Route>();
  readonly #services = new Map<
    string,
    { readonly targets: readonly EndpointTarget[]; readonly paths: readonly string[] }
  >();
  readonly #listeners: (() => void)[] = [];

  /** Calls the listener after each change, for as long as the routes exist. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /**
   * Adds a service, or replaces all its routes at once.
   * @param prefix text in front of the paths of its bindings, such as `/api`
   * @returns the problems of its paths, for the operator
   * @throws {Error} for a malformed or reserved name, or two endpoints with one path; then nothing
   * has changed
   */
  set(service: string, targets: readonly EndpointTarget[], prefix = ""): string[] {
    if (!NAME.test(service)) throw new Error("its name must be lower-case letters, digits and -, at most 63");
    if (RESERVED_NAMES.has(service)) throw new Error("its name is reserved for the gateway's own paths");
    const routes = routesOf(service, targets);
    this.#remove(service);
    for (const [path, route] of routes) this.#routes.set(path, route);
    for (const target of targets) this.rpc.add(target);
    const paths = [...routes.keys()];
    this.#services.set(service, { targets, paths });
    const hidden = paths.flatMap((path) => this.#hiddenAt(service, path) ?? []);
    const problems = this.bindings.set(service, targets, prefix, (path) => this.#routes.has(path));
    for (const listener of this.#listeners) listener();
    return [...hidden, ...problems];
  }

  delete(service: string): void {
    this.#remove(service);
    this.bindings.delete(service);
    for (const listener of this.#listeners) listener();
  }

  #remove(service: string): void {
    const { paths = [], targets = [] } = this.#services.get(service) ?? {};
    for (const path of paths) this.#routes.delete(path);
    for (const target of targets) this.rpc.delete(target);
    this.#services.delete(service);
  }

  /** A problem for the operator: the path of an endpoint hides a binding of another service. */
  #hiddenAt(service: string, path: string): string | undefined {
    const other = this.bindings.at(path)?.target.endpoint;
    if (other === undefined || other.service === service) return undefined;
    return `its path ${path} hides a binding of ${other.name}`;
  }

  /** Names of the services, in the order in which they were added. */
  get services(): Iterable<string> {
    return this.#services.keys();
  }

  /** The endpoints of a service: a new array after each change. */
  targetsOf(service: string): readonly EndpointTarget[] | undefined {
    return this.#services.get(service)?.targets;
  }

  /**
   * The route of a path as sent, if any. @throws {HttpError} 400 for a path that is not valid in a
   * URI
   */
  find(path: string): Route | undefined {
    return this.#routes.get(path) ?? this.#routes.get(canonical(path));
  }

  /** The service that has the path, if it can be found without decoding the path. */
  serviceAt(method: string, path: string): string | undefined {
    const rpc = this.rpc.find(path);
    const route = this.#routes.get(path) ?? rpc?.first ?? rpc?.routes[0] ?? this.#routes.get(path.toLowerCase());
    if (route !== undefined) return route.target.endpoint.service;
    return this.bindings.isEmpty ? undefined : this.bindings.find(method, path)?.entry.target.endpoint.service;
  }

  /**
   * The route of a gRPC path as sent, `/helloworld.Helloworld/Call`. It belongs to the requested
   * service. If none was requested, it belongs to the owner of the gRPC name. If the name has no
   * owner, it belongs to the only service that has the name.
   * @throws {StatusError} NOT_FOUND if only other services have it, or if several have a name
   * without an owner; UNAVAILABLE if the service has no instance
   */
  findRpc(path: string, asked: string | undefined): Route | undefined {
    const first = asked === undefined ? this.rpc.find(path)?.first : undefined;
    return first ?? this.#findOther(path, asked);
  }

  /** Like `findRpc`, for a path that does not lead to the owner of its name. */
  #findOther(path: string, asked: string | undefined): Route | undefined {
    const { routes: found = [] } = this.rpc.find(path) ?? {};
    const grpcService = path.slice(1, path.lastIndexOf("/"));
    const owner = this.rpc.ownerOf(grpcService);
    const chosen = asked === undefined ? undefined : found.find((route) => route.target.endpoint.service === asked);
    if (chosen !== undefined) return chosen;
    if (owner !== undefined && (asked ?? owner) === owner && !this.#services.has(owner)) {
      throw new StatusError(Code.UNAVAILABLE, `${grpcService} is served by ${owner}, which has no instance now`);
    }
    if (asked !== undefined || found.length === 0) return undefined;
    const services = found.map((route) => route.target.endpoint.service).join(" and ");
    const why = owner === undefined ? "" : `, and not by ${owner}, to which ${grpcService} belongs`;
    const message = `${path.slice(1)} is served by ${services}${why}: name one in the header Portico-Service`;
    throw new StatusError(Code.NOT_FOUND, message);
  }

  /** The endpoints of the gateway itself. They have only a gRPC path, and belong to no service. */
  set own(targets: readonly EndpointTarget[]) {
    for (const target of targets) this.#own.set(target.endpoint.path, { target, versioned: false });
  }

  get own(): readonly EndpointTarget[] {
    return [...this.#own.values()].map(({ target }) => target);
  }

  /** Whether it is the gRPC path of an endpoint. */
  isRpc(path: string): boolean {
    return this.rpc.find(path) !== undefined || this.#own.has(path);
  }

  /** The route of a gRPC path of the gateway itself. */
  findOwn(path: string): Route | undefined {
    return this.#own.get(path);
  }

  /**
   * For a path without a route: the service that its first segment names, and the most similar path
   * of a route.
   */
  near(path: string): { readonly service: string | undefined; readonly path: string | undefined } {
    const [, versioned = "", name = "", rest = ""] = /^(\/v1(?=\/))?\/([^/]*)\/?(.*)$/s.exec(path.toLowerCase()) ?? [];
    const service = this.#services.has(name) ? name : undefined;
    const meant = service ?? nearest(name, this.#services.keys());
    if (meant === undefined) return { service, path: undefined };
    const start = `${versioned}/${meant}`;
    const paths = (this.#services.get(meant)?.paths ?? []).filter(
      (known) => known === start || known.startsWith(`${start}/`),
    );
    const shapes = paths.map((known) => known.slice(start.length + 1));
    const found = nearest(rest, shapes) ?? nearestByMethod(rest, shapes);
    const route = found === undefined ? undefined : this.#routes.get(found === "" ? start : `${start}/${found}`);
    return { service, path: route && `${route.versioned ? "/v1" : ""}${pathOf(route.target.endpoint)}` };
  }
}

/**
 * The path whose method has nearly the name that is the last part of `rest`. It corrects a `rest`
 * that names another gRPC service or none.
 */
function nearestByMethod(rest: string, shapes: readonly string[]): string | undefined {
  const methods = shapes.map(lastPart);
  const meant = nearest(lastPart(rest), methods);
  return meant === undefined ? undefined : shapes[methods.indexOf(meant)];
}

function lastPart(shape: string): string {
  return shape.slice(Math.max(shape.lastIndexOf("/"), shape.lastIndexOf(".")) + 1);
}

/** The path in lower case, with percent-encoded unreserved characters decoded once. */
function canonical(path: string): string {
  if (PLAIN.test(path)) return path.toLowerCase();
  if (!PATH.test(path)) throw new HttpError(400, "The request target must be a path: / and characters a URI may have");
  return path.replace(PERCENT, decodeUnreserved).toLowerCase();
}

function decodeUnreserved(encoded: string, hex: string | undefined): string {
  if (hex === undefined) throw new HttpError(400, "The path has a broken percent-encoding");
  const character = String.fromCharCode(Number.parseInt(hex, 16));
  return UNRESERVED.test(character) ? character : encoded;
}

/** Every path of a service, in lower case. */
function routesOf(service: string, targets: readonly EndpointTarget[]): Map<string, Route> {
  const routes = new Map<string, Route>();
  const known = new Set<string>();
  const main = mainOf(targets);
  for (const target of targets) {
    const { endpoint } = target;
    if (known.has(endpoint.segments.endpoint)) {
      throw new Error(`it has two endpoints ${endpoint.name}, told apart by case alone`);
    }
    known.add(endpoint.segments.endpoint);
    // Only enrolled processes may call the endpoint. Callers over HTTP are never enrolled, so it
    // has no path.
    if (endpoint.callers === Callers.ENROLLED) continue;
    const versioned: Route = { target, versioned: true };
    const unversioned: Route = { target, versioned: false };
    for (const path of pathsOf(endpoint, endpoint.grpcService === main)) {
      routes.set(`/v1/${service}/${path}`, versioned);
      routes.set(`/${service}/${path}`, unversioned);
      if (path === "call") routes.set(`/${service}`, unversioned);
    }
  }
  return routes;
}

/** `helloworld.call`, `helloworld/call`, and also `call` if the gRPC service may be left out. */
function pathsOf({ segments: { endpoint } }: Endpoint, short: boolean): string[] {
  const dot = endpoint.lastIndexOf(".");
  const [grpcService, method] = [endpoint.slice(0, dot), endpoint.slice(dot + 1)];
  const paths = [endpoint, `${grpcService}/${method}`];
  return short ? [...paths, method] : paths;
}

/**
 * The full name of the gRPC service whose name may be left out; undefined if the contracts of
 * instances name different ones.
 */
function mainOf(targets: readonly EndpointTarget[]): string | undefined {
  const short = targets.filter(({ endpoint }) => endpoint.shortPath);
  const names = new Set(short.map(({ endpoint }) => endpoint.grpcService));
  return names.size === 1 ? [...names][0] : undefined;
}
