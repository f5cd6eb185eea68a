/**
 * Requests to the servers of issuers. An administrator has chosen each issuer, but its server is a
 * stranger's: what is read is bounded, https (or loopback), and never from another place by a
 * redirect.
 */
import { isLoopback } from "../../../src/address/loopback.js";

/** Maximum bytes of a response. */
const MAX_DOCUMENT = 64 * 1024;
const MAX_URL = 500;

/** Why an issuer's server did not help, in words. */
export class IssuerError extends Error {}

/** No response came: the network, TLS, a redirect or a deadline. The cause says which. */
export class NoResponseError extends Error {}

/** Why an issuer cannot have the URL, in words; undefined if it can. */
export function issuerUrlProblem(text: string): string | undefined {
  if (text.length > MAX_URL || !URL.canParse(text))
    return "must be a URL, such as https://token.actions.githubusercontent.com";
  const { username, password, search, hash, href } = new URL(text);
  if (username !== "" || password !== "" || search !== "" || hash !== "") {
    return "must have no user, query and fragment";
  }
  if (href !== text && href !== `${text}/`) return `must be in its usual form: ${href}`;
  return isAllowed(new URL(text)) ? undefined : "must be https, or http for a loopback address";
}

/**
 * Whether an issuer may name the endpoint in its document: then the authority, or a person's
 * browser, goes there. Plain http on this computer is for issuers that are there themselves. Else
 * the server of another could use the authority to reach what only this computer reaches.
 */
export function isEndpointOf(issuer: string, text: unknown): text is string {
  if (typeof text !== "string" || text.length > MAX_URL || !URL.canParse(text)) return false;
  const url = new URL(text);
  if (url.username !== "" || url.password !== "") return false;
  return url.protocol === "https:" || (isAllowed(url) && new URL(issuer).protocol === "http:");
}

/** Whether it is https, or stays on this computer. */
function isAllowed({ protocol, hostname }: URL): boolean {
  return protocol === "https:" || (protocol === "http:" && isLoopback(hostname.replace(/^\[(.*)\]$/, "$1")));
}

/**
 * The endpoint of a name, such as `token_endpoint`, in the document of an issuer.
 * @throws {IssuerError}
 */
export function endpointOf(issuer: string, metadata: Readonly<Record<string, unknown>>, name: string): string {
  const { [name]: text } = metadata;
  if (isEndpointOf(issuer, text)) return text;
  throw new IssuerError(`its document has no ${name} at https`);
}

export interface IssuerRequest {
  readonly signal: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
  /** A form that is posted. */
  readonly form?: URLSearchParams;
}

/** A JSON object, and the status of its response. */
export interface IssuerResponse {
  readonly status: number;
  /** An empty one where the response has none. */
  readonly value: Record<string, unknown>;
  readonly isObject: boolean;
}

/**
 * @param text the URL of the issuer's document, or of an endpoint of its
 * @throws {IssuerError | NoResponseError} (rejects)
 */
export async function askIssuer(text: string, request: IssuerRequest): Promise<IssuerResponse> {
  try {
    const { status, body } = await fetchBounded(text, request);
    const value = objectIn(body.toString("utf8"));
    return { status, value: value ?? {}, isObject: value !== undefined };
  } catch (error) {
    if (error instanceof IssuerError) throw error;
    throw new NoResponseError(`${text} cannot be reached: ${(error as Error).message}`, { cause: error });
  }
}

async function fetchBounded(text: string, { signal, headers = {}, form }: IssuerRequest) {
  const response = await fetch(text, {
    ...{ signal, redirect: "error", headers: { accept: "application/json", ...headers } },
    ...(form !== undefined && { method: "POST", body: form }),
  });
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.length;
    // Leaving the loop closes the connection.
    if (length > MAX_DOCUMENT) throw new IssuerError(`${text} is larger than ${MAX_DOCUMENT} bytes`);
    chunks.push(chunk);
  }
  return { status: response.status, body: Buffer.concat(chunks) };
}

/** The JSON object; undefined where the text is none. */
function objectIn(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // What it is instead helps nobody.
  }
  return undefined;
}

/** @throws {IssuerError | NoResponseError} (rejects) unless the status is 200 */
export async function readIssuer(text: string, request: IssuerRequest): Promise<Record<string, unknown>> {
  const { status, value, isObject } = await askIssuer(text, request);
  if (status !== 200) throw new IssuerError(`${text} has the status ${status}`);
  if (!isObject) throw new IssuerError(`${text} is no JSON object`);
  return value;
}
