/** What the console reads from the authority and the registry. */
import type { Effect, Endpoints } from "../../../src/api/types.js";
import { call, listRegistered } from "../session/api.js";

type Request<Path extends keyof Endpoints> = Endpoints[Path]["request"];

const SELF_GOVERNED = /^service:(?:auth|registry):/;

export const list = {
  keys: async (signal?: AbortSignal) => (await call("auth/Keys/List", {}, signal)).keys,
  rules: async (signal?: AbortSignal) => (await call("auth/Rules/List", {}, signal)).rules,
  accounts: async (signal?: AbortSignal) => (await call("auth/Accounts/List", {}, signal)).accounts,
  namespaces: async (signal?: AbortSignal) => (await call("auth/Namespaces/List", {}, signal)).namespaces,
  audit: async (before: string, signal?: AbortSignal) =>
    (await call("auth/Audit/List", { before, limit: 100 }, signal)).records,
  usage: (request: Request<"auth/Usage/List">, signal?: AbortSignal) => call("auth/Usage/List", request, signal),
};

/** Every resource of a registered service that rules decide on. */
export async function listResources(signal?: AbortSignal): Promise<string[]> {
  const services = await listRegistered({ signal });
  const resources = services.flatMap(({ endpoints }) => endpoints.map(({ resource }) => resource));
  return resources.filter((resource) => !SELF_GOVERNED.test(resource));
}

/** Whose calls a change of the rules would answer differently. */
export async function preview(
  change: Pick<Request<"auth/Rules/Preview">, "create" | "delete">,
  signal: AbortSignal,
): Promise<readonly Effect[]> {
  const resources = await listResources(signal);
  return (await call("auth/Rules/Preview", { ...change, resources }, signal)).effects;
}
