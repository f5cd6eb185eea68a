/**
 * The forms of grpc-gateway in responses, which the REST paths of a service have if its options say
 * so: errors are a google.rpc.Status, and a stream is lines with the member `result`, or `error` at
 * its end.
 */
/** What of a response has these forms: its errors, or its lines too. */
export type Envelopes = "errors" | "lines";

interface StatusFailure {
  /** The HTTP status; 0 if it was sent before the call failed. */
  readonly status: number;
  readonly detail: string;
  readonly details?: readonly unknown[] | undefined;
}

interface Content {
  readonly content?: Readonly<Record<string, unknown>>;
}

/** The forms in an operation of an OpenAPI document (gateway/openapi/grpc-gateway.ts). */
export function envelopesOf(responses: Readonly<Record<string, Content>>): Envelopes | undefined {
  const medias = Object.values(responses).map(({ content }) => Object(content?.["application/json"]));
  if (medias.some((media) => "x-item-schema" in media)) return "lines";
  const isStatus = (media: { readonly schema?: { readonly $ref?: string } }) =>
    media.schema?.$ref === "#/components/schemas/grpc-gateway-error";
  return medias.some(isStatus) ? "errors" : undefined;
}

/** The failure in the body of an error response; an empty one for any other body. */
export function statusFailure(status: number, body: string): StatusFailure {
  return { status, detail: "", ...readStatus(body, (value) => value) };
}

/** The failure that ended a stream; undefined if its last line is a message. */
export function lastLineFailure(line: string): StatusFailure | undefined {
  const failure = readStatus(line, (value) => Object(value).error);
  return failure && { status: 0, ...failure };
}

function readStatus(text: string, find: (value: unknown) => unknown): Omit<StatusFailure, "status"> | undefined {
  try {
    const { code, message, details }: { code?: unknown; message?: unknown; details?: unknown } = Object(
      find(JSON.parse(text)),
    );
    if (typeof code !== "number" || typeof message !== "string") return undefined;
    return { detail: message, details: Array.isArray(details) ? details : undefined };
  } catch {
    return undefined;
  }
}
