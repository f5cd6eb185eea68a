/** Loads each service's OpenAPI document, and the names of all fields, once for each session. */
import { read } from "../session/api.js";
import { session } from "../session/session.js";
import type { OpenApi } from "./document.js";

const kept = new Map<string, Promise<OpenApi>>();
// What a document shows depends on the caller.
session.follow(() => {
  kept.clear();
  fields = undefined;
});

export function documentPath(service: string): string {
  return `/openapi/${encodeURIComponent(service)}.json`;
}

/** The OpenAPI document of a service. @throws {ApiError} */
export function documentOf(service: string): Promise<OpenApi> {
  const known = kept.get(service);
  if (known !== undefined) return known;
  const loading = read<OpenApi>(documentPath(service));
  kept.set(service, loading);
  // A failure is not kept: the next call tries again.
  loading.catch(() => kept.delete(service));
  return loading;
}

/**
 * Names of fields by service and endpoint, such as `helloworld Helloworld.Call`, for the search: one request for all.
 * @throws {ApiError}
 */
export function readFields(): Promise<ReadonlyMap<string, readonly string[]>> {
  fields ??= loadFields();
  const loading = fields;
  // A failure is not kept: the next call tries again.
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
