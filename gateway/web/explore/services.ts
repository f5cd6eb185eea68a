/** The services and endpoints that the visitor may call, as the registry lists them. */
import type * as api from "../../../src/api/types.js";
import { listRegistered } from "../session/api.js";

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
 * Lists what the visitor may call, and says of each endpoint whether everyone may.
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

/** Portico's own services, beside those that it serves for others. */
const OWN: ReadonlySet<string> = new Set(["auth", "registry"]);

export function isOwn({ name }: Service): boolean {
  return OWN.has(name);
}

/** The address of an endpoint's page. */
export function pageOf(service: string, endpoint?: string): string {
  const segments = endpoint === undefined ? [service] : [service, endpoint];
  return `/explore/${segments.map(encodeURIComponent).join("/")}`;
}
