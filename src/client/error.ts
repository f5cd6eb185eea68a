/**
 * The error of a call, whether Portico, the service or the connection caused it, and how it is read
 * from a response.
 */
import type { AnyMessage } from "./values.js";

/** The error object that Portico sends. */
export interface ErrorObject {
  readonly Id: string;
  readonly Code: number;
  readonly Detail: string;
  readonly Status: string;
  readonly Details?: readonly AnyMessage[];
}

/** What a client knows about an error that is not in the error object. */
interface ErrorCircumstances {
  readonly requestId?: string | undefined;
  readonly retryAfter?: number | undefined;
  readonly neverSent?: boolean;
  readonly cause?: unknown;
}

/** A call that failed: it was refused, or got no response. */
export class PorticoError extends Error {
  override readonly name = "PorticoError";
  /** The service that was called, or `gateway` if none was found, or a limit refused the call. */
  readonly Id: string;
  /**
   * HTTP status. 503 also if Portico could not be reached, 504 also if the call's own deadline
   * passed.
   */
  readonly Code: number;
  /** What is wrong, in words for the caller. */
  readonly Detail: string;
  /** Name of the code, such as `Unauthorized`. */
  readonly Status: string;
  /** More details from the service: messages of google.rpc, such as BadRequest. */
  readonly Details: readonly AnyMessage[];
  /** `X-Request-Id` of the response. With it an operator finds the call in the log. */
  readonly requestId: string | undefined;
  /** Seconds to wait before a retry, if the response said so. */
  readonly retryAfter: number | undefined;
  /** Whether the call certainly did not reach Portico, because no connection could be opened. */
  readonly neverSent: boolean;

  constructor({ Id, Code, Detail, Status, Details = [] }: ErrorObject, circumstances: ErrorCircumstances = {}) {
    super(`${Detail} (${Code} ${Status})`, { cause: circumstances.cause });
    this.Id = Id;
    this.Code = Code;
    this.Detail = Detail;
    this.Status = Status;
    this.Details = Details;
    this.requestId = circumstances.requestId;
    this.retryAfter = circumstances.retryAfter;
    this.neverSent = circumstances.neverSent ?? false;
  }
}

/** Codes of Node's errors that occur before anything was sent. */
const NEVER_SENT = /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/;

/**
 * A connection that could not be opened, or broke. A browser does not say which of the two
 * happened.
 */
export function toConnectionError(service: string, url: string, thrown: unknown): PorticoError {
  const { cause = thrown } = Object(thrown) as { cause?: unknown };
  const { code = "", message = "" } = Object(cause) as { code?: string; message?: string };
  const Detail = `No response from ${url}: ${message || code || String(thrown)}`;
  const error = { Id: service, Code: 503, Detail, Status: "Service Unavailable" };
  return new PorticoError(error, { cause: thrown, neverSent: NEVER_SENT.test(code) });
}

/** The error of a response that is no success. */
export async function readFailure(service: string, response: Response): Promise<PorticoError> {
  const { status, statusText, headers, url } = response;
  const text = await response.text();
  const retryAfter = secondsOf(headers.get("retry-after") ?? "");
  const circumstances = {
    requestId: requestIdOf(response),
    retryAfter: Number.isFinite(retryAfter) ? Math.max(0, retryAfter) : undefined,
  };
  const Detail = `${url} answered ${status} ${statusText}, but not as Portico does`;
  const other = { Id: service, Code: status, Detail, Status: statusText };
  return new PorticoError(readErrorObject(text) ?? other, circumstances);
}

/** Seconds, or a date (RFC 9110, section 10.2.3). NaN for any other text. */
function secondsOf(retryAfter: string): number {
  return /^\d+$/.test(retryAfter) ? Number(retryAfter) : (Date.parse(retryAfter) - Date.now()) / 1000;
}

export function requestIdOf({ headers }: Response): string | undefined {
  return headers.get("x-request-id") ?? undefined;
}

/** The error object in a JSON text, or undefined for any other text. */
export function readErrorObject(text: string): ErrorObject | undefined {
  try {
    const value = JSON.parse(text) as Partial<ErrorObject> | null;
    return typeof value?.Code === "number" && typeof value.Detail === "string" ? (value as ErrorObject) : undefined;
  } catch {
    return undefined;
  }
}
