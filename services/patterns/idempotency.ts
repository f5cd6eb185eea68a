/**
 * Idempotency keys: a call has its effect exactly once. The response of a call is stored in the
 * same commit as its changes. A repeated call with the same key gets the stored response, even
 * after a crash.
 */
import { createHash } from "node:crypto";
import { type Call, invalidArgument, type Write } from "../../src/kit/index.js";
import { checkPrintable, checkText } from "./checks.js";
import { retry } from "./retry.js";

// Stores that exist have the collection under this name.
const COLLECTION = "answers";
const KEY = { min: 1, max: 64 };

interface StoredResponse<T> {
  /** A hash of the endpoint and the request. */
  readonly request: string;
  readonly response: T;
}

export interface IdempotencyOptions {
  /** The account. Accounts do not share keys. */
  readonly account: string;
  /** Empty if the caller gave no key. Then a repeated call has its effect again. */
  readonly idempotencyKey: string;
  /** The parts of the request that must be equal in a repeated call, without the key itself. */
  readonly request: readonly (string | number | bigint)[];
  /** How long the key is remembered. */
  readonly ttlMs: number;
}

/**
 * Runs an attempt (see `retry`), unless the key was used before: then it returns the stored
 * response. The attempt adds the writes of `record(response)` to its commit. The response must be
 * JSON.
 * @throws {StatusError} INVALID_ARGUMENT if the key is malformed or was used with another request
 */
export function withIdempotencyKey<T>(
  call: Call,
  { account, idempotencyKey, request, ttlMs }: IdempotencyOptions,
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
    const stored = await responses.get(key);
    if (stored === undefined) {
      return attempt((response) => [
        { set: key, value: { request: hash, response }, ttlMs, ifAbsent: true, collection: COLLECTION },
      ]);
    }
    if (stored.request !== hash) throw invalidArgument("idempotencyKey: was used before, with another request");
    return stored.response;
  });
}
