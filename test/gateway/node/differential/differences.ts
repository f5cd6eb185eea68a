/** Where the gateway's port differs from node:http on purpose, and what is compared of both. */
import type { Outcome, RecordedRequest } from "./recording.js";

/**
 * Only a request for a WebSocket is an upgrade here; any other is read as if it did not ask (RFC 9110 §7.8). Node lets a
 * server ignore all upgrades or none, and loses the bytes behind one that it ignores. So it is given the header under a name
 * of the same length that means nothing to it.
 */
export function withoutIgnoredUpgrades(bytes: Buffer): Buffer {
  const text = bytes.toString("latin1").replaceAll(/(?<=\n)upgrade(?=:([^\r\n]*))/gi, (name, value) => {
    return /(?:^|,)[ \t]*websocket[ \t]*(?:,|$)/i.test(value) ? name : IGNORED;
  });
  return Buffer.from(text, "latin1");
}
const IGNORED = "UpgradX";

/** An outcome as it is compared: without the header of an upgrade that is ignored. */
export function comparable(outcome: Outcome): unknown {
  return { ...outcome, requests: outcome.requests.map(withoutUpgrade) };
}

function withoutUpgrade({ headers, body, ...rest }: RecordedRequest): unknown {
  const kept = headers.filter((_, at) => !/^upgrad[ex]$/i.test(headers[at - (at % 2)] as string));
  return { ...rest, headers: kept, body: body?.replaceAll(/\nupgrad[ex]/gi, "\nUpgrade") };
}
