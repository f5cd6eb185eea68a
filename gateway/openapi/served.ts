/**
 * The OpenAPI documents of the services in the catalog, as the gateway serves them:
 *
 *     /openapi                    the list of documents; also at /openapi/index.json, as in spec/
 *     /openapi/<service>.json     the document of one service
 *     /openapi/fields             the field names of all endpoints, for the search on the pages
 *
 * Each caller sees the endpoints that it may call, as in `registry:Registry.Describe`. A caller
 * that may not call `registry:Registry.Describe` is refused here, too. A result for all services is
 * made in steps, because the types of services that have not been called yet are parsed for it.
 */
import type { DescMessage } from "@bufbuild/protobuf";
import type { Admission, Guard } from "../../src/access/guard.js";
import { isVisible } from "../../src/call/admission.js";
import type { Endpoint } from "../../src/contract/endpoint.js";
import { didYouMean } from "../../src/contract/nearest.js";
import { hasOwnForm, type JsonStyle, writtenName } from "../../src/json/types.js";
import { BoundedMap } from "../../src/memory/bounded-map.js";
import { inTurns, mapPaced } from "../../src/overload/pace.js";
import type { Routes } from "../catalog/routes.js";
import type { EndpointTarget } from "../catalog/target.js";
import { HttpError } from "../http/errors.js";
import type { BareResponse, BuiltInRoutes, GatewayRequestHead } from "../http/message.js";
import { viewerOf } from "../stages/viewer.js";
import { openApiSteps, summaryOfService } from "./document.js";

export interface ServedDocumentsOptions {
  readonly catalog: { readonly routes: Routes };
  readonly guard: Guard;
  /**
   * The gateway's address in the documents. Default: the address from which a document was read.
   */
  readonly publicUrl?: string | undefined;
}

/** Maximum documents in memory. Callers who may call the same endpoints share a document. */
const MAX_CACHED = 32;

export class ServedDocuments implements BuiltInRoutes {
  readonly roots: BuiltInRoutes["roots"] = ["/openapi"];
  readonly #routes: Routes;
  readonly #guard: Guard;
  readonly #server: string;
  /**
   * By service and by which of its endpoints are shown. An entry is valid as long as the service
   * has these targets.
   */
  readonly #cache = new BoundedMap<
    string,
    { readonly targets: readonly EndpointTarget[]; readonly document: Promise<string> }
  >(MAX_CACHED);

  constructor({ catalog, guard, publicUrl = "/" }: ServedDocumentsOptions) {
    this.#routes = catalog.routes;
    this.#guard = guard;
    this.#server = publicUrl;
  }

  reply(path: string, request: GatewayRequestHead): Promise<BareResponse> | undefined {
    if (path === "/openapi") return this.#index(request);
    if (path === "/openapi/fields") return this.#fields(request);
    const service = /^\/openapi\/([^/]+)\.json$/i.exec(path)?.[1]?.toLowerCase();
    if (service === undefined) return undefined;
    // A service may have the name `index`.
    const isIndex = service === "index" && this.#routes.targetsOf(service) === undefined;
    return isIndex ? this.#index(request) : this.#document(service, request);
  }

  async #index(request: GatewayRequestHead): Promise<BareResponse> {
    const viewer = await this.#viewer(request);
    const visible = this.#visibleServices(viewer);
    const endpointsOf = (targets: readonly EndpointTarget[]) => targets.map(({ endpoint }) => endpoint);
    const services = await mapPaced(visible, ([name, shown]) => indexEntry(name, endpointsOf(shown), "/openapi/"));
    return { status: 200, body: JSON.stringify({ services }) };
  }

  async #fields(request: GatewayRequestHead): Promise<BareResponse> {
    const viewer = await this.#viewer(request);
    const services = await mapPaced(this.#visibleServices(viewer), ([name, shown]) => [
      name,
      Object.fromEntries(shown.map((target) => [target.endpoint.name.slice(name.length + 1), fieldNames(target)])),
    ]);
    return { status: 200, body: JSON.stringify({ services: Object.fromEntries(services) }) };
  }

  async #document(service: string, request: GatewayRequestHead): Promise<BareResponse> {
    const viewer = await this.#viewer(request);
    const shown = this.#shown(service, viewer);
    const [first] = shown;
    if (first === undefined) throw this.#notFound(service, viewer);
    return { status: 200, body: await this.#compiled(service, shown, first) };
  }

  /** Made in steps, and only once for all callers that ask at the same time. */
  #compiled(service: string, shown: readonly EndpointTarget[], target: EndpointTarget): Promise<string> {
    const targets = this.#routes.targetsOf(service) ?? shown;
    const key = `${service} ${targets.map((target) => (shown.includes(target) ? 1 : 0)).join("")}`;
    const cached = this.#cache.get(key);
    if (cached?.targets === targets) return cached.document;
    const endpoints = shown.map(({ endpoint }) => endpoint);
    const bindings = (endpoint: Endpoint) => this.#routes.bindings.of(endpoint);
    const { types, statuses, style, isGrpcGateway } = target;
    const document = inTurns(
      openApiSteps({ service, endpoints, types, style, bindings, isGrpcGateway, statuses, server: this.#server }),
    );
    this.#cache.set(key, { targets, document });
    document.catch(() => this.#cache.delete(key));
    return document;
  }

  /** @throws {StatusError} (rejects) when `registry:Registry.Describe` would refuse the caller */
  #viewer(request: GatewayRequestHead): Promise<Admission> {
    return viewerOf(request, this.#routes, this.#guard);
  }

  #shown(service: string, viewer: Admission): readonly EndpointTarget[] {
    const targets = this.#routes.targetsOf(service) ?? [];
    return targets.filter(({ endpoint }) => isVisible(this.#guard, viewer, endpoint));
  }

  /** The services with endpoints that the viewer may see, by name, with these endpoints. */
  #visibleServices(viewer: Admission): [name: string, targets: readonly EndpointTarget[]][] {
    return [...this.#routes.services].sort().flatMap((name) => {
      const targets = this.#shown(name, viewer);
      return targets.length === 0 ? [] : [[name, targets]];
    });
  }

  #notFound(service: string, viewer: Admission): HttpError {
    const hint = didYouMean(
      service,
      this.#visibleServices(viewer).map(([name]) => name),
    );
    return new HttpError(404, `There is no service ${JSON.stringify(service.slice(0, 64))} to be seen${hint}`);
  }
}

/** The entry of a service in the list of documents. */
export function indexEntry(name: string, endpoints: readonly Endpoint[], folder: string): object {
  return { name, summary: summaryOfService(name, endpoints), document: `${folder}${name}.json` };
}

/** Maximum field names of an endpoint that the search covers. */
const MAX_NAMES = 500;

/** The key is the target, because a service that changes has new targets. */
const knownNames = new WeakMap<EndpointTarget, readonly string[]>();

/**
 * The names in JSON of all fields of an endpoint and of its nested messages, each name once. The
 * search on the pages needs them.
 */
function fieldNames(target: EndpointTarget): readonly string[] {
  const before = knownNames.get(target);
  if (before !== undefined) return before;
  const { input, output } = target.endpoint.method;
  const names = namesIn([input, output], target.style);
  knownNames.set(target, names);
  return names;
}

function namesIn(messages: readonly DescMessage[], style: JsonStyle): string[] {
  const names = new Set<string>();
  const open = [...messages];
  const seen = new Set<DescMessage>();
  for (let type = open.pop(); type !== undefined && names.size < MAX_NAMES; type = open.pop()) {
    if (seen.has(type) || hasOwnForm(type)) continue;
    seen.add(type);
    for (const field of type.fields) {
      names.add(writtenName(field, style));
      const { message } = field;
      if (message !== undefined) open.push(message);
    }
  }
  return [...names].slice(0, MAX_NAMES);
}
