/**
 * Compression of responses (RFC 9110 §8.4): which responses are compressed, and which headers then
 * change.
 */
import { compress, MAX_AT_ONCE, MIN_COMPRESSED, preferredCoding } from "../http/content-coding.js";
import { NO_MEMORY } from "../http/errors.js";
import { listOf } from "../http/headers.js";
import { type BareResponse, type GatewayRequest, isStream } from "../http/message.js";
import type { RequestState } from "./record.js";

/**
 * Media types that become smaller by compression. The types of gRPC and of Connect's streams are
 * left out, because these protocols compress each message.
 */
const COMPRESSIBLE =
  /^(?:text\/[\w.+-]+|image\/svg\+xml|application\/(?:json|proto|javascript|xml|(?!grpc|connect)[\w.-]+\+(?:json|xml)))[ \t]*(?:;|$)/i;
const NO_TRANSFORM = /(?:^|,)[ \t]*no-transform[ \t]*(?:,|$)/i;
const NO_HEADERS: readonly string[] = [];
const VARY: readonly string[] = ["Vary", "Accept-Encoding"];

/**
 * Whether the reply is large enough to be compressed. A stream is not: its messages are sent as
 * they come.
 */
export function isLarge({ body }: BareResponse): boolean {
  return !isStream(body) && body.length >= MIN_COMPRESSED;
}

/**
 * The reply as it is sent: compressed where the client accepts that. These are not compressed:
 * - bytes that would not become smaller
 * - responses to a request with `no-transform`
 * - messages with a secret. If such a message also contains text that the caller chose, its
 *   compressed length reveals something about the secret (https://www.breachattack.com).
 * @param reply one for which `isLarge` returns true
 * @throws {HttpError} (rejects) 503 where there is no memory for the reply
 */
export async function encoded(
  request: GatewayRequest,
  state: RequestState,
  reply: BareResponse,
): Promise<BareResponse> {
  const { headers = NO_HEADERS, contentType = "application/json", status } = reply;
  const body = reply.body as string | Uint8Array;
  if (status === 101 || !COMPRESSIBLE.test(contentType) || state.target?.hasSecrets) return reply;
  // The web pages choose their own coding, because the build has already compressed their files.
  if (headers.includes("Accept-Encoding")) return reply;
  const plain = { ...reply, headers: [...headers, ...VARY] };
  const { acceptEncoding } = request.headers;
  const coding = acceptEncoding === undefined ? undefined : preferredCoding(acceptEncoding);
  if (coding === undefined || NO_TRANSFORM.test(listOf(request.rawHeaders, "cache-control"))) return plain;
  if (body.length > MAX_AT_ONCE && !request.tryReserveResponse(body.length)) throw NO_MEMORY;
  const compressed = await compress(coding, body);
  if (compressed === undefined) return plain;
  return { ...reply, body: compressed, headers: [...weakened(headers), ...VARY, "Content-Encoding", coding] };
}

/**
 * Replaces a strong ETag by a weak one: a strong ETag names the uncompressed bytes (RFC 9110
 * §8.8.3.3).
 */
function weakened(headers: readonly string[]): readonly string[] {
  return headers.map((value, index) => {
    const isTag = index % 2 === 1 && (headers[index - 1] as string).toLowerCase() === "etag";
    return isTag && !value.startsWith("W/") ? `W/${value}` : value;
  });
}
