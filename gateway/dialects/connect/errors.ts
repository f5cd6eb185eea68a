/**
 * Errors of Connect: the name of a code, a message, and details.
 * https://connectrpc.com/docs/protocol#error-end-stream
 */

import type { Metadata } from "../../../src/call/metadata.js";
import { Code } from "../../../src/errors.js";
import { type Failure, typeName } from "../../http/errors.js";
import { addMetadata, unpadded } from "../metadata.js";

export interface ConnectError {
  readonly code: string;
  readonly message?: string;
  readonly details?: readonly { readonly type: string; readonly value: string }[];
}

/** `not_found` for NOT_FOUND. Connect spells `canceled` with one l. */
const NAMES: ReadonlyMap<Code, string> = new Map(
  Object.entries(Code).flatMap(([name, code]) =>
    typeof code === "number" ? [[code, code === Code.CANCELLED ? "canceled" : name.toLowerCase()]] : [],
  ),
);

export function toConnectError({ code, original: message, details }: Failure): ConnectError {
  return {
    code: NAMES.get(code) ?? "unknown",
    ...(message === "" ? {} : { message }),
    ...(details.length === 0
      ? {}
      : { details: details.map(({ typeUrl, value }) => ({ type: typeName(typeUrl), value: unpadded(value) })) }),
  };
}

/** Metadata as JSON: a list of values for each name. */
export function metadataObject(metadata: Metadata): Record<string, string[]> {
  const list = addMetadata([], metadata);
  const object: Record<string, string[]> = {};
  for (let index = 0; index + 1 < list.length; index += 2) {
    const name = list[index] as string;
    object[name] = [...(object[name] ?? []), list[index + 1] as string];
  }
  return object;
}
