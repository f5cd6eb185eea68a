/** What requests of Connect have in common: the version of the protocol and the timeout. */
import { HttpError } from "../../http/errors.js";
import type { RequestHeaders } from "../../http/headers.js";

/** @throws {HttpError} 400 for any version but 1 */
export function checkVersion(version: string | undefined): void {
  if (version === undefined || version === "1") return;
  throw new HttpError(400, 'Connect-Protocol-Version must be "1"');
}

/** Up to ten digits of milliseconds (https://connectrpc.com/docs/protocol#unary-request). */
const TIMEOUT = /^\d{1,10}$/;

export function readConnectTimeout({ connectTimeout }: RequestHeaders): number | undefined {
  if (connectTimeout === undefined) return undefined;
  if (TIMEOUT.test(connectTimeout)) return Number(connectTimeout);
  throw new HttpError(400, "Connect-Timeout-Ms must be a number of milliseconds of up to ten digits");
}
