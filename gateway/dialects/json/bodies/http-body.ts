/**
 * `google.api.HttpBody`. An endpoint with this message as its request or response takes or returns
 * raw bytes with their content type, instead of JSON.
 * https://github.com/googleapis/googleapis/blob/master/google/api/httpbody.proto
 */
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { HttpError } from "../../../http/errors.js";
import type { StreamFormat } from "../streams/response-stream.js";

export interface HttpBody {
  readonly contentType: string;
  readonly data: Uint8Array;
}

/** Field numbers of `content_type` and `data`. */
const CONTENT_TYPE = 1;
const DATA = 2;

export function encodeHttpBody({ contentType, data }: HttpBody): Uint8Array {
  const writer = new BinaryWriter();
  if (contentType !== "") writer.tag(CONTENT_TYPE, WireType.LengthDelimited).string(contentType);
  return writer.tag(DATA, WireType.LengthDelimited).bytes(data).finish();
}

/** A media type (RFC 9110 §8.3.1) that can be sent as a header. */
const MEDIA_TYPE = /^[\w!#$%&'*+.^`|~-]{1,127}\/[\w!#$%&'*+.^`|~-]{1,127}(?:[ \t]*;[\x20-\x7e]{0,255})?$/;
const UNKNOWN = "application/octet-stream";

/**
 * Decodes the response of `service`. A malformed content type becomes application/octet-stream.
 * @throws {HttpError} 502 when the bytes are no HttpBody
 */
export function decodeHttpBody(service: string, message: Uint8Array): HttpBody {
  let contentType = "";
  let data: Uint8Array = new Uint8Array(0);
  try {
    const reader = new BinaryReader(message);
    while (reader.pos < reader.len) {
      const [field, wireType] = reader.tag();
      if (field === CONTENT_TYPE && wireType === WireType.LengthDelimited) contentType = reader.string();
      else if (field === DATA && wireType === WireType.LengthDelimited) data = reader.bytes();
      else reader.skip(wireType, field);
    }
  } catch (cause) {
    throw new HttpError(502, `${service} did not respond with a valid google.api.HttpBody`, { cause });
  }
  return { contentType: MEDIA_TYPE.test(contentType) ? contentType : UNKNOWN, data };
}

/**
 * Headers of raw bytes. A service may have got the bytes from anyone. With this header, a browser
 * that shows them as a page does not run their scripts with the rights of the gateway's origin
 * (https://www.w3.org/TR/CSP3/#directive-sandbox).
 */
export const RAW_HEADERS: readonly string[] = ["Content-Security-Policy", "sandbox"];

/**
 * A stream of raw bytes, with the content type of its first message. The format has no place for an
 * error, so the body breaks off when the stream fails.
 * @param decode returns the raw bytes and content type of a message
 */
export function rawChunks(decode: (message: Uint8Array) => HttpBody): StreamFormat {
  return {
    contentType: (first) => (first === undefined ? UNKNOWN : decode(first).contentType),
    message: (message) => decode(message).data,
    failure: () => undefined,
    heartbeat: undefined,
    end: undefined,
  };
}
