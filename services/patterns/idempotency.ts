/**
 * Exactly once by idempotency key: the response of a call is recorded in the same commit as what the call changes. A repeated call
 * with the same key is answered from the record, also after a crash.
 */
import { createHash } from "node:crypto";
import { type Call, invalidArgument, type Write } from "../../src/kit/index.js";
import { checkPrintable, checkText } from "./checks.js";
import { retry } from "./retry.js";

const COLLECTION = "answers";
const KEY = { min: 1, max: 64 };

interface StoredResponse<T> {
  /** A hash of the endpoint and the request. */
  readonly request: string;
  readonly response: T;
}

export interface OnceOptions {
  /** The account, because keys of several accounts share nothing. */
  readonly account: string;
  /** Empty for a call that may not be repeated. */
  readonly idempotencyKey: string;
  /** What makes two requests the same, without the key itself. */
  readonly request: readonly (string | number | bigint)[];
  /** How long the key is remembered. */
  readonly ttlMs: number;
}

/**
 * Runs an attempt (see `retry`) unless the key was used before. The attempt adds the writes of `record(response)` to its commit.
 * The response is JSON.
 * @throws {StatusError} INVALID_ARGUMENT when the key is malformed or was used with another request
 */
export function once<T>(
  call: Call,
  { account, idempotencyKey, request, ttlMs }: OnceOptions,
  attempt: (record: (response: T) => Write[]) => Promise<T | undefined>,
): Promise<T> {
  if (idempotencyKey === "") return retry(call, account, () => attempt(() => []));
  checkText("idempotencyKey", idempotencyKey, KEY);
  checkPrintable("idempotencyKey", idempotencyKey);
  const responses = call.store<StoredResponse<T>>(COLLECTION);
  const key = `${account}/${idempotencyKey}`;
  const hash = createHash("sha256")
    .update(JSON.stringify([call.endpoint, ...request.map(String)]))
    .digest("base64");
  return retry(call, account, async () => {
    const answer = await responses.get(key);
    if (answer === undefined) {
      return attempt((response) => [
        { set: key, value: { request: hash, response }, ttlMs, ifAbsent: true, collection: COLLECTION },
      ]);
    }
    if (answer.request !== hash) throw invalidArgument("idempotencyKey: was used before, with another request");
    return answer.response;
  });
}
