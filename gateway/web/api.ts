/** Portico's own API, as everybody else calls it. */
import { ApiError, get, getText, post } from "./http.js";
import { accessToken, checkSession } from "./session.js";

/**
 * Calls an endpoint as the account that is signed in.
 * @param endpoint such as `auth/Keys/Create`
 * @throws {ApiError}
 */
export async function call<Answer>(endpoint: string, body: unknown = {}, signal?: AbortSignal): Promise<Answer> {
  const token = await accessToken();
  if (token === undefined) throw new ApiError(401, "Sign in first");
  try {
    return await post<Answer>(`/v1/${endpoint}`, body, { token, signal });
  } catch (thrown) {
    // The rules refuse with 401 too, so only the authority can say whether it was the token.
    if ((thrown as ApiError).status === 401) await checkSession();
    throw thrown;
  }
}

/**
 * Reads what may be open to everyone: with the token of whoever is signed in, if anybody is.
 * @param path such as `/registry/list`
 * @param options.asNobody leaves the token out
 * @throws {ApiError}
 */
export async function read<Answer>(
  path: string,
  options: { readonly signal?: AbortSignal; readonly asNobody?: boolean } = {},
): Promise<Answer> {
  const token = options.asNobody ? undefined : await accessToken();
  return get<Answer>(path, { token, signal: options.signal });
}

/** As `read`, the text as it came. */
export async function readText(path: string): Promise<string> {
  return getText(path, { token: await accessToken() });
}
