/**
 * Sends a request to the gateway that served this page. A token is sent in a header, never in the
 * address.
 */
import { readError } from "../../src/api/errors.js";

/** A call that failed. `message` is the error's Detail, written for the caller. */
export class ApiError extends Error {
  /** HTTP status; 0 when there was no response. */
  readonly status: number;
  readonly requestId: string | undefined;

  constructor(status: number, detail: string, requestId?: string) {
    super(detail);
    this.name = "ApiError";
    this.status = status;
    this.requestId = requestId;
  }

  /** Converts an error of fetch, or an error from reading its response. */
  static from(thrown: unknown): ApiError {
    if (thrown instanceof ApiError) return thrown;
    if ((thrown as Error)?.name === "TimeoutError") return new ApiError(0, "The gateway did not respond in time");
    return new ApiError(0, "The gateway cannot be reached. Check that it runs and that you are connected.");
  }
}

const DEADLINE_MS = 30_000;

/**
 * Clocks that differ by less count as equal. The header Date is in whole seconds, and a response
 * may be as old as the deadline.
 */
const CLOCK_TOLERANCE_MS = DEADLINE_MS;

/**
 * How far the gateway's clock is ahead of this computer's, in milliseconds, according to the last
 * response with a date.
 */
let clockLead = 0;

/**
 * The time by the gateway's clock, in milliseconds since 1970. The clock of a visitor's computer
 * may be wrong by hours.
 */
export function gatewayTime(): number {
  return Date.now() + clockLead;
}

export interface RequestOptions {
  readonly token?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Whether to send and receive cookies: only `/session` has some. */
  readonly cookies?: boolean;
}

/**
 * Sends a POST with a JSON object, and returns the JSON object of the response.
 * @param path such as `/v1/auth/Auth/WhoAmI`
 * @throws {ApiError}
 */
export function post<HttpResult>(path: string, body: unknown, options: RequestOptions = {}): Promise<HttpResult> {
  return json(request(path, { method: "POST", body: JSON.stringify(body) }, options));
}

/** Sends a GET, and returns the JSON object of the response. @throws {ApiError} */
export function get<HttpResult>(path: string, options: RequestOptions = {}): Promise<HttpResult> {
  return json(getText(path, options));
}

/** Sends a GET, and returns the text of the response. @throws {ApiError} */
export function getText(path: string, options: RequestOptions = {}): Promise<string> {
  return request(path, { method: "GET" }, options);
}

async function json<HttpResult>(text: Promise<string>): Promise<HttpResult> {
  const responded = await text;
  try {
    return JSON.parse(responded);
  } catch {
    throw new ApiError(0, "The response is no JSON. Something between this page and the gateway may have made it.");
  }
}

/** Requests without a response yet. */
const running = new Set<Promise<unknown>>();

/** Resolves when no request is running: those that follow from a response are waited for too. */
export async function requestsEnd(): Promise<void> {
  do {
    await Promise.allSettled(running);
    // The page draws the response, and may then need more.
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  } while (running.size > 0);
}

function request(path: string, init: RequestInit, options: RequestOptions): Promise<string> {
  const sent = send(path, init, options);
  running.add(sent);
  const end = () => running.delete(sent);
  sent.then(end, end);
  return sent;
}

async function send(path: string, init: RequestInit, { token, signal, cookies }: RequestOptions): Promise<string> {
  const headers: Record<string, string> = {};
  if (init.body !== undefined) headers["Content-Type"] = "application/json";
  if (token !== undefined) headers.Authorization = `Bearer ${token}`;
  const deadlineMonotonicMs = AbortSignal.timeout(DEADLINE_MS);
  try {
    const response = await fetch(path, {
      ...init,
      headers,
      credentials: cookies ? "same-origin" : "omit",
      redirect: "error",
      signal: signal === undefined ? deadlineMonotonicMs : AbortSignal.any([signal, deadlineMonotonicMs]),
    });
    // The response to a GET may come from the browser's cache, with an old date.
    if (init.method === "POST") readClock(response.headers);
    if (response.ok) return await response.text();
    throw await toApiError(response);
  } catch (thrown) {
    throw ApiError.from(thrown);
  }
}

function readClock(headers: Headers): void {
  const lead = Date.parse(headers.get("Date") ?? "") - Date.now();
  if (!Number.isNaN(lead)) clockLead = Math.abs(lead) < CLOCK_TOLERANCE_MS ? 0 : lead;
}

async function toApiError(response: Response): Promise<ApiError> {
  const { status, statusText } = response;
  const requestId = response.headers.get("X-Request-Id") ?? undefined;
  // A response without an error object came from a proxy between the page and the gateway.
  const detail = readError(await response.text())?.Detail ?? `The response was ${status} ${statusText}`;
  return new ApiError(status, detail, requestId);
}
