/**
 * How messages are encoded in gRPC, gRPC-Web and Connect: as protobuf, whose bytes pass unchanged,
 * or as JSON, which is transcoded as in the JSON dialect.
 *
 * While instances of a service have different contracts, a protobuf message is read with the newest
 * one, because that is the contract that callers see. For an instance with another contract the
 * message is transcoded.
 */

import type { MessageCodec as JsonCodec } from "../../../src/json/codec.js";
import { asBuffer } from "../../../src/wire/buffer.js";
import type { EndpointTarget } from "../../catalog/target.js";
import { toResponseError } from "../json/message.js";

export interface RpcCodec {
  /** The codec's name in content types: `application/grpc+proto`. */
  readonly name: "proto" | "json";
  /** Encodes a request message for the instance. @throws {JsonError} */
  read(target: EndpointTarget, message: Uint8Array): Uint8Array;
  /**
   * Encodes a message of the instance for the caller.
   * @throws {HttpError} 502 when it is not a message of the type
   */
  write(target: EndpointTarget, message: Uint8Array): Uint8Array;
}

export const PROTO: RpcCodec = {
  name: "proto",
  read(target, message) {
    const newest = otherContract(target);
    return newest === undefined ? message : transcode(message, newest.request, target.request);
  },
  write(target, message) {
    const newest = otherContract(target);
    if (newest === undefined) return message;
    try {
      return transcode(message, target.response, newest.response);
    } catch (cause) {
      throw toResponseError(target, cause);
    }
  },
};

export const JSON_CODEC: RpcCodec = {
  name: "json",
  read: ({ request }, message) => request.read(message),
  write(target, message) {
    try {
      return bytesOf(target.response.writeBody(message));
    } catch (cause) {
      throw toResponseError(target, cause);
    }
  },
};

/** The endpoint in the newest contract, if the target has another contract. */
function otherContract(target: EndpointTarget): EndpointTarget | undefined {
  const newest = target.alternatives?.newest;
  return newest === target ? undefined : newest;
}

function transcode(message: Uint8Array, from: JsonCodec, to: JsonCodec): Uint8Array {
  return to.read(bytesOf(from.writeBody(message)));
}

function bytesOf(json: string | Uint8Array): Uint8Array {
  return typeof json === "string" ? Buffer.from(json) : asBuffer(json);
}
