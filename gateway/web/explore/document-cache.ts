/** The services' OpenAPI documents and the names of their fields, each loaded once for whoever is signed in. */
import { read } from "../session/api.js";
import { session } from "../session/session.js";
import type { OpenApi } from "./document.js";

const kept = new Map<string, Promise<OpenApi>>();
// Who may see what depends on who asks.
session.follow(() => {
  kept.clear();
  fields = undefined;
});

export function documentPath(service: string): string {
  return `/openapi/${encodeURIComponent(service)}.json`;
}

/** @throws {ApiError} */
export function documentOf(service: string): Promise<OpenApi> {
  const known = kept.get(service);
  if (known !== undefined) return known;
  const loading = read<OpenApi>(documentPath(service));
  kept.set(service, loading);
  // What failed is tried again the next time.
  loading.catch(() => kept.delete(service));
  return loading;
}

/**
 * Names of fields by service and endpoint, such as `helloworld Helloworld.Call`, for the search: one request for all.
 * Loaded once for whoever is signed in.
 * @throws {ApiError}
 */
export function readFields(): Promise<ReadonlyMap<string, readonly string[]>> {
  fields ??= loadFields();
  const loading = fields;
  // What failed is tried again the next time.
  loading.catch(() => {
    if (fields === loading) fields = undefined;
  });
  return loading;
}

let fields: Promise<ReadonlyMap<string, readonly string[]>> | undefined;

interface FieldNames {
  readonly services: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
}

async function loadFields(): Promise<ReadonlyMap<string, readonly string[]>> {
  const { services } = await read<FieldNames>("/openapi/fields");
  return new Map(
    Object.entries(services).flatMap(([service, endpoints]) =>
      Object.entries(endpoints).map(([endpoint, names]): [string, readonly string[]] => [
        `${service} ${endpoint}`,
        names,
      ]),
    ),
  );
}
