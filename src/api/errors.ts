/** The error object, in which every failed call is answered, whichever part of Portico refused it. */
export interface ErrorObject {
  /** The service that the call was directed to; `gateway` when none was found. */
  readonly Id: string;
  /** HTTP status. */
  readonly Code: number;
  /** What is wrong, written for the caller. */
  readonly Detail: string;
  /** Name of the code, such as `Unauthorized`. */
  readonly Status: string;
  /** Details of a google.rpc.Status as JSON, where the service sent them. */
  readonly Details?: readonly unknown[];
}

/** Reads the body of an error response. Undefined for anything else, such as what a proxy on the way answered. */
export function readError(body: string): ErrorObject | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return isErrorObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Reads a line of an NDJSON stream: the error that ended it (docs/streams.md), or undefined for a message. */
export function readStreamError(line: string): ErrorObject | undefined {
  // As the gateway writes it. No other line has to be parsed.
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
