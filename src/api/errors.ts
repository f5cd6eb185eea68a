/** The body of every error response, whichever part of Portico refused the call. */
export interface ErrorObject {
  /** The service that was called; `gateway` if none was found, or a limit refused the call. */
  readonly Id: string;
  /** The HTTP status. */
  readonly Code: number;
  /** The error message, for the caller. */
  readonly Detail: string;
  /** The name of the code, such as `Unauthorized`. */
  readonly Status: string;
  /** The details of a google.rpc.Status as JSON, if the service sent them. */
  readonly Details?: readonly unknown[];
}

/**
 * Reads the body of an error response. Undefined for any other body, such as the response of a
 * proxy.
 */
export function readError(body: string): ErrorObject | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return isErrorObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Reads a line of an NDJSON stream. Returns the error that ended the stream (docs/streams.md), or
 * undefined for a message.
 */
export function readStreamError(line: string): ErrorObject | undefined {
  // The gateway writes an error exactly so. No other line has to be parsed.
  if (!line.startsWith('{"error":{"Id":')) return undefined;
  try {
    const { error, ...others }: { error?: unknown } = JSON.parse(line);
    return Object.keys(others).length === 0 && isErrorObject(error) ? error : undefined;
  } catch {
    return undefined;
  }
}

function isErrorObject(value: unknown): value is ErrorObject {
  const { Code, Detail }: Partial<ErrorObject> = Object(value);
  return typeof Code === "number" && typeof Detail === "string";
}
