/** The services that can be called, as the registry lists them (proto/portico/registry/v1/registry.proto). */
import { read } from "../api.js";

export interface Service {
  readonly name: string;
  readonly summary: string;
  readonly endpoints: readonly Endpoint[];
  /** How many instances are registered. */
  readonly instances: number;
}

export interface Endpoint {
  /** Unique in its service, such as `Helloworld.Call`. */
  readonly name: string;
  /** With a token, such as `/v1/helloworld/Call`. */
  readonly path: string;
  readonly summary: string;
  readonly clientStreaming: boolean;
  readonly serverStreaming: boolean;
  /** Whether its contract says that it should not be used any more. */
  readonly deprecated: boolean;
  /** Whether everyone may call it, with or without a token. */
  readonly open: boolean;
}

interface Listed {
  readonly services: readonly (Omit<Service, "endpoints"> & { readonly endpoints: readonly ListedEndpoint[] })[];
}

type ListedEndpoint = Omit<Endpoint, "name" | "open"> & { readonly resource: string };

/**
 * Everything that may be called by whoever is signed in, and what of that is open to everyone.
 * @throws {ApiError}
 */
export async function listServices(signedIn: boolean, signal: AbortSignal): Promise<readonly Service[]> {
  const [own, everyone] = await Promise.all([
    read<Listed>("/registry/list", { signal }),
    signedIn ? read<Listed>("/registry/list", { signal, asNobody: true }) : undefined,
  ]);
  const open = new Set(
    (everyone ?? own).services.flatMap(({ endpoints }) => endpoints.map(({ resource }) => resource)),
  );
  return own.services.map((service) => ({
    ...service,
    endpoints: service.endpoints.map(({ resource, ...endpoint }) => ({
      ...endpoint,
      name: resource.split(":").slice(2).join(":"),
      open: open.has(resource),
    })),
  }));
}

/** Services that are parts of Portico, and not what it is the door of. */
const OWN: ReadonlySet<string> = new Set(["auth", "registry"]);

export function isOwn({ name }: Service): boolean {
  return OWN.has(name);
}

/** The address of an endpoint's page. */
export function pageOf(service: string, endpoint?: string): string {
  const segments = endpoint === undefined ? [service] : [service, endpoint];
  return `/explore/${segments.map(encodeURIComponent).join("/")}`;
}
