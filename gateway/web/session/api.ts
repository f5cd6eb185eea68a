/**
 * Calls of Portico's own endpoints with the token of the session, by the HTTP API that everyone can
 * use.
 */
import type { Endpoints, Service } from "../../../src/api/types.js";
import { ApiError, get, getText, post } from "../http.js";
import { Store } from "../state/store.js";
import { accessToken, checkSession } from "./session.js";

/** The number of changes that this page has made. */
export const changes = new Store(0);
const READS = /\/(List|Find|Explain|Preview|Show)$/;

/**
 * Calls an endpoint as the account that is signed in.
 * @param path such as `auth/Keys/Create`
 * @throws {ApiError}
 */
export async function call<Path extends keyof Endpoints>(
  path: Path,
  request: Endpoints[Path]["request"],
  signal?: AbortSignal,
): Promise<Endpoints[Path]["response"]> {
  const token = await accessToken();
  if (token === undefined) throw new ApiError(401, "Sign in first");
  try {
    const response = await post<Endpoints[Path]["response"]>(`/v1/${path}`, request, { token, signal });
    if (!READS.test(path)) changes.set(changes.value + 1);
    return response;
  } catch (thrown) {
    // The rules or an invalid token may cause a 401. Only the authority knows which.
    if ((thrown as ApiError).status === 401) await checkSession();
    throw thrown;
  }
}

/**
 * Lists the services and endpoints that the caller may call: with the session's token, if there is
 * one.
 * @param options.asNobody leaves the token out
 * @throws {ApiError}
 */
export async function listRegistered(
  options: { readonly signal?: AbortSignal | undefined; readonly asNobody?: boolean } = {},
): Promise<readonly Service[]> {
  const token = options.asNobody ? undefined : await accessToken();
  const listed = await get<Endpoints["registry/Registry/List"]["response"]>("/registry/list", {
    token,
    signal: options.signal,
  });
  return listed.services;
}

/**
 * Reads a JSON document of the gateway: with the session's token, if there is one.
 * @param path such as `/openapi/fields`
 * @throws {ApiError}
 */
export async function read<HttpResult>(path: string): Promise<HttpResult> {
  return get<HttpResult>(path, { token: await accessToken() });
}

/** The same as `read`, but returns the text of the response. */
export async function readText(path: string): Promise<string> {
  return getText(path, { token: await accessToken() });
}
