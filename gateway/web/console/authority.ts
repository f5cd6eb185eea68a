/** What the console reads from the authority and the registry. */
import { readPages } from "../../../src/api/pages.js";
import { previewAll } from "../../../src/api/preview.js";
import type { Effect, Endpoints } from "../../../src/api/types.js";
import { get } from "../http.js";
import { call, listRegistered } from "../session/api.js";
import type { TreeService } from "./endpoint-tree.js";

type Request<Path extends keyof Endpoints> = Endpoints[Path]["request"];

/** Maximum keys or accounts on a page. If there are more, the page says so. */
export const MAX_LISTED = 2_000;

const SELF_GOVERNED = /^service:(?:auth|registry):/;

/** Every key, grant and account, for the pages of one of them. */
export const every = {
  keys: (signal?: AbortSignal, max?: number) =>
    readPages(async (pageToken) => {
      const { keys, nextPageToken } = await call("auth/Keys/List", { pageToken }, signal);
      return { items: keys, nextPageToken };
    }, max),
  grants: (signal?: AbortSignal, max?: number) =>
    readPages(async (pageToken) => {
      const { grants, nextPageToken } = await call("auth/Grants/List", { pageToken }, signal);
      return { items: grants, nextPageToken };
    }, max),
  accounts: (signal?: AbortSignal, max?: number) =>
    readPages(async (pageToken) => {
      const { accounts, nextPageToken } = await call("auth/Accounts/List", { pageToken }, signal);
      return { items: accounts, nextPageToken };
    }, max),
};

export const list = {
  keys: (signal?: AbortSignal) => every.keys(signal, MAX_LISTED),
  grants: (signal?: AbortSignal) => every.grants(signal, MAX_LISTED),
  accounts: (signal?: AbortSignal) => every.accounts(signal, MAX_LISTED),
  rules: (signal?: AbortSignal) =>
    readPages(async (pageToken) => {
      const { rules, nextPageToken } = await call("auth/Rules/List", { pageToken }, signal);
      return { items: rules, nextPageToken };
    }),
  limits: (signal?: AbortSignal) =>
    readPages(async (pageToken) => {
      const { limits, nextPageToken } = await call("auth/Limits/List", { pageToken }, signal);
      return { items: limits, nextPageToken };
    }),
  /** The limits that apply to a caller: without an account and a key, to the visitor. */
  limitsOf: async (request: Request<"auth/Limits/Show">, signal?: AbortSignal) =>
    (await call("auth/Limits/Show", request, signal)).limits,
  namespaces: async (signal?: AbortSignal) => (await call("auth/Namespaces/List", {}, signal)).namespaces,
  issuers: async (signal?: AbortSignal) => (await call("auth/Issuers/List", {}, signal)).issuers,
  trusts: async (signal?: AbortSignal) => (await call("auth/Trusts/List", {}, signal)).trusts,
  clients: async (signal?: AbortSignal) => (await call("auth/Clients/List", {}, signal)).clients,
  /** The configured services, and the instances that the registry rejected. */
  services: (signal?: AbortSignal) => call("registry/Services/List", {}, signal),
  enrolments: (signal?: AbortSignal) => call("auth/Enrolments/List", {}, signal),
  audit: (request: Request<"auth/Audit/List">, signal?: AbortSignal) => call("auth/Audit/List", request, signal),
  usage: (request: Request<"auth/Usage/List">, signal?: AbortSignal) => call("auth/Usage/List", request, signal),
  refusals: (request: Request<"auth/Refusals/List">, signal?: AbortSignal) =>
    call("auth/Refusals/List", request, signal),
  foundRefusals: (request: Request<"auth/Refusals/Find">, signal?: AbortSignal) =>
    call("auth/Refusals/Find", request, signal),
};

/** The gateway's own address for itself (RFC 8414): PORTICO_PUBLIC_URL, if it is set. */
export async function publicUrl(signal?: AbortSignal): Promise<string> {
  return (await get<{ readonly issuer: string }>("/.well-known/oauth-authorization-server", { signal })).issuer;
}

/** Every resource of a registered service about which rules decide. */
export async function listResources(signal?: AbortSignal): Promise<string[]> {
  const services = await listRegistered({ signal });
  const resources = services.flatMap(({ endpoints }) => endpoints.map(({ resource }) => resource));
  return resources.filter((resource) => !SELF_GOVERNED.test(resource));
}

/** All services with their endpoints: those that rules govern, and Portico's own. */
export async function listTree(signal?: AbortSignal): Promise<{ governed: TreeService[]; own: TreeService[] }> {
  const services = (await listRegistered({ signal })).map(({ name, endpoints }) => ({
    name,
    endpoints: endpoints.map(({ resource, reads }) => ({ resource, reads, name: resource.split(":")[2] ?? "" })),
  }));
  const isOwn = ({ name }: TreeService) => SELF_GOVERNED.test(`service:${name}:`);
  return { governed: services.filter((service) => !isOwn(service)), own: services.filter(isOwn) };
}

/** The callers and resources for which a change of the rules changes the decision. */
export function preview(
  change: Pick<Request<"auth/Rules/Preview">, "create" | "set" | "delete">,
  resources: readonly string[],
  signal: AbortSignal,
): Promise<readonly Effect[]> {
  const ask = async (resources: string[]) =>
    (await call("auth/Rules/Preview", { ...change, resources }, signal)).effects;
  return previewAll(ask, resources);
}
