/**
 * Documents of every service in the catalog, as the gateway serves them:
 *
 *     /openapi                    which there are, also at /openapi/index.json, its name in spec/
 *     /openapi/<service>.json     the OpenAPI document of one
 *     /openapi/fields             the names of all fields, by service and endpoint: what the pages search, in one request
 *
 * Each caller is shown what `registry:Registry.Describe` shows: the endpoints it may call. Whoever that endpoint refuses
 * is refused here.
 */

import { isVisible } from "../../src/access/admission.js";
import type { Admission, Guard } from "../../src/access/guard.js";
import { BoundedMap } from "../../src/bounded-map.js";
import type { Endpoint } from "../../src/contract/endpoint.js";
import { nearest } from "../../src/contract/nearest.js";
import { Code, StatusError } from "../../src/errors.js";
import type { Routes, Target } from "../catalog/routes.js";
import { HttpError } from "../errors.js";
import type { OwnAnswer, OwnPaths } from "../own/own.js";
import { bearerToken, checkHeaders, namespaceOf, readHeaders } from "../request-headers.js";
import { openApi, summaryOfService } from "./document.js";
import { fieldNames } from "./field-names.js";

export interface ServedDocumentsOptions {
  readonly catalog: { readonly routes: Routes };
  readonly guard: Guard;
  /** As the catalog's codecs. */
  readonly omitZeros?: boolean;
}

/** Documents that are kept. Callers who may call the same are served the same one. */
const MOST_KEPT = 32;

export class ServedDocuments implements OwnPaths {
  readonly #routes: Routes;
  readonly #guard: Guard;
  readonly #omitZeros: boolean | undefined;
  /** By service and which of its endpoints are shown; good for as long as the service's targets are these. */
  readonly #kept = new BoundedMap<string, { readonly targets: readonly Target[]; readonly document: string }>(
    MOST_KEPT,
  );

  constructor({ catalog, guard, omitZeros }: ServedDocumentsOptions) {
    this.#routes = catalog.routes;
    this.#guard = guard;
    this.#omitZeros = omitZeros;
  }

  answer(path: string, headers: readonly string[]): Promise<OwnAnswer> | undefined {
    if (path === "/openapi") return this.#index(headers);
    if (path === "/openapi/fields") return this.#fields(headers);
    const service = /^\/openapi\/([^/]+)\.json$/i.exec(path)?.[1]?.toLowerCase();
    if (service === undefined) return undefined;
    // A service may be called so too.
    const isIndex = service === "index" && this.#routes.targetsOf(service) === undefined;
    return isIndex ? this.#index(headers) : this.#document(service, headers);
  }

  async #index(headers: readonly string[]): Promise<OwnAnswer> {
    const viewer = await this.#viewer(headers);
    const services = [...this.#routes.services].sort().flatMap((name) => {
      const shown = this.#shown(name, viewer).map(({ endpoint }) => endpoint);
      return shown.length === 0 ? [] : [indexEntry(name, shown, "/openapi/")];
    });
    return { status: 200, body: JSON.stringify({ services }) };
  }

  async #fields(headers: readonly string[]): Promise<OwnAnswer> {
    const viewer = await this.#viewer(headers);
    const services = [...this.#routes.services].sort().flatMap((name) => {
      const shown = this.#shown(name, viewer).map(({ endpoint }) => endpoint);
      const named = shown.map((one) => [one.name.slice(name.length + 1), fieldNames(one.method)]);
      return shown.length === 0 ? [] : [[name, Object.fromEntries(named)]];
    });
    return { status: 200, body: JSON.stringify({ services: Object.fromEntries(services) }) };
  }

  async #document(service: string, headers: readonly string[]): Promise<OwnAnswer> {
    const viewer = await this.#viewer(headers);
    const shown = this.#shown(service, viewer);
    const [first] = shown;
    if (first === undefined) throw this.#notFound(service, viewer);
    return { status: 200, body: this.#compiled(service, shown, first) };
  }

  #compiled(service: string, shown: readonly Target[], { types }: Target): string {
    const targets = this.#routes.targetsOf(service) ?? shown;
    const key = `${service} ${targets.map((target) => (shown.includes(target) ? 1 : 0)).join("")}`;
    const kept = this.#kept.get(key);
    if (kept?.targets === targets) return kept.document;
    const endpoints = shown.map(({ endpoint }) => endpoint);
    const document = openApi({ service, endpoints, types, server: "/", omitZeros: this.#omitZeros });
    this.#kept.set(key, { targets, document });
    return document;
  }

  /** @throws {StatusError} (rejects) as a call of `registry:Registry.Describe` would be refused. */
  async #viewer(raw: readonly string[]): Promise<Admission> {
    const headers = readHeaders(raw);
    checkHeaders(headers);
    const describe = this.#routes.find("/registry/describe");
    if (describe === undefined) throw new StatusError(Code.UNAVAILABLE, "The catalog of services has not arrived yet");
    const credentials = { token: bearerToken(headers), namespace: namespaceOf(headers), tokenRequired: false };
    return this.#guard.admit(credentials, describe.target.endpoint);
  }

  #shown(service: string, viewer: Admission): readonly Target[] {
    const targets = this.#routes.targetsOf(service) ?? [];
    return targets.filter(({ endpoint }) => isVisible(this.#guard, viewer, endpoint));
  }

  #notFound(service: string, viewer: Admission): HttpError {
    const seen = [...this.#routes.services].filter((name) => this.#shown(name, viewer).length > 0);
    const meant = nearest(service, seen);
    const hint = meant === undefined ? "" : `; did you mean ${meant}?`;
    return new HttpError(404, `There is no service ${JSON.stringify(service.slice(0, 64))} to be seen${hint}`);
  }
}

/** What an index says of a service. */
export function indexEntry(name: string, endpoints: readonly Endpoint[], folder: string): object {
  return { name, summary: summaryOfService(name, endpoints), document: `${folder}${name}.json` };
}
