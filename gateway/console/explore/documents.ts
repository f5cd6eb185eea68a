/** The services' OpenAPI documents, each loaded once for whoever is signed in. */
import { read } from "../api.js";
import { session } from "../session.js";
import { endpointDocument, fieldNames, type OpenApi } from "./document.js";
import type { Service } from "./listing.js";

const kept = new Map<string, Promise<OpenApi>>();
// Who may see what depends on who asks.
session.follow(() => kept.clear());

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

/** Of more services than these the fields are not searched. */
const MOST_SEARCHED = 300;
const AT_ONCE = 6;
/** Documents: each time the list is searched and drawn anew. */
const TOLD_EVERY = 20;

/**
 * Names of fields by service and endpoint, for the search; tells now and then what is known by then.
 * Documents that cannot be had are left out: the rest of the search does not need them.
 */
export async function readFields(
  services: readonly Service[],
  signal: AbortSignal,
  onKnown: (fields: ReadonlyMap<string, readonly string[]>) => void,
): Promise<void> {
  const fields = new Map<string, readonly string[]>();
  const queue = services.slice(0, MOST_SEARCHED);
  let done = 0;
  const work = async () => {
    for (let service = queue.shift(); service !== undefined && !signal.aborted; service = queue.shift()) {
      const document = await documentOf(service.name).catch(() => undefined);
      if (document === undefined) continue;
      for (const { name, path } of service.endpoints) {
        const described = endpointDocument(document, path);
        if (described !== undefined) fields.set(`${service.name} ${name}`, fieldNames(described));
      }
      done++;
      if (done % TOLD_EVERY === 0 && !signal.aborted) onKnown(new Map(fields));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  if (!signal.aborted) onKnown(fields);
}
