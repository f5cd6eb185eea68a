/**
 * What explore reads from the gateway: the services and endpoints that the visitor may call. It
 * also reads their OpenAPI documents and the names of all fields, and keeps them for the session.
 */
import type * as api from "../../../src/api/types.js";
import { listRegistered, read } from "../session/api.js";
import { session } from "../session/session.js";
import type { OpenApi } from "./document.js";

export interface Service extends Omit<api.Service, "endpoints"> {
  readonly endpoints: readonly Endpoint[];
}

export interface Endpoint extends Omit<api.Endpoint, "resource"> {
  /** Unique in its service, such as `Helloworld.Call`. */
  readonly name: string;
  /** Whether everyone may call it, with or without a token. */
  readonly open: boolean;
}

/**
 * Lists the endpoints that the visitor may call, and for each one whether everyone may call it.
 * @throws {ApiError}
 */
export async function listServices(signedIn: boolean, signal: AbortSignal): Promise<readonly Service[]> {
  const [own, everyone] = await Promise.all([
    listRegistered({ signal }),
    signedIn ? listRegistered({ signal, asNobody: true }) : undefined,
  ]);
  const open = new Set((everyone ?? own).flatMap(({ endpoints }) => endpoints.map(({ resource }) => resource)));
  return own.map((service) => ({
    ...service,
    endpoints: service.endpoints.map(({ resource, ...endpoint }) => ({
      ...endpoint,
      name: resource.split(":").slice(2).join(":"),
      open: open.has(resource),
    })),
  }));
}

/** The authority and the registry. The pages list them apart from the services that callers use. */
const OWN: ReadonlySet<string> = new Set(["auth", "registry"]);

export function isOwn({ name }: Service): boolean {
  return OWN.has(name);
}

/** The address of an endpoint's page. */
export function pageOf(service: string, endpoint?: string): string {
  const segments = endpoint === undefined ? [service] : [service, endpoint];
  return `/explore/${segments.map(encodeURIComponent).join("/")}`;
}

/**
 * The endpoint with a name, such as `Helloworld.Call`, or with the end of a path that calls it:
 * `Call`, `Helloworld/Call`, in any case.
 */
export function endpointAt({ name: service, endpoints }: Service, name: string): Endpoint | undefined {
  const wanted = name.toLowerCase().replaceAll("/", ".");
  const path = `/v1/${service}/${name}`.toLowerCase();
  return (
    endpoints.find((one) => one.name.toLowerCase() === wanted) ??
    endpoints.find((one) => one.path.toLowerCase() === path)
  );
}

const documents = new Map<string, Promise<OpenApi>>();
// What a document shows depends on the caller.
session.follow(() => {
  documents.clear();
  forgetFields();
});

export function documentPath(service: string): string {
  return `/openapi/${encodeURIComponent(service)}.json`;
}

/** The OpenAPI document of a service. @throws {ApiError} */
export function documentOf(service: string): Promise<OpenApi> {
  const known = documents.get(service);
  if (known !== undefined) return known;
  const loading = read<OpenApi>(documentPath(service));
  documents.set(service, loading);
  // A failure is not stored, so the next call tries again.
  loading.catch(() => documents.delete(service));
  return loading;
}

/**
 * Names of fields by service and endpoint, such as `helloworld Helloworld.Call`, for the search.
 * One request reads them all.
 * @throws {ApiError}
 */
export function readFields(): Promise<ReadonlyMap<string, readonly string[]>> {
  fields ??= loadFields();
  const loading = fields;
  // A failure is not stored, so the next call tries again.
  loading.catch(() => {
    if (fields === loading) fields = undefined;
  });
  return loading;
}

/** The next `readFields` asks the gateway again. */
export function forgetFields(): void {
  fields = undefined;
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
