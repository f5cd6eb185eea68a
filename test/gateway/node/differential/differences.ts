/** Where the gateway's port differs from node:http on purpose: what is compared of both, and why the rest is not. */
import type { Outcome, RecordedRequest } from "./recording.js";

/** With a header more than the limit the gateway refuses a request, and looks at no further one. */
const MAX_HEADERS = 101;

/** The preface of HTTP/2, which the port speaks and node:http refuses. */
const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/** Whether node:http can say what the port is to make of the bytes. */
export function isComparable(bytes: Buffer): boolean {
  return !bytes.toString("latin1").startsWith(PREFACE);
}

/**
 * Only a request for a WebSocket is an upgrade here, and only in HTTP/1.1; any other is read as if it did not ask (RFC 9110
 * §7.8). Node lets a server ignore all upgrades or none, and loses the bytes behind one that it ignores. So it is given the
 * header under a name of the same length that means nothing to it.
 */
export function withoutIgnoredUpgrades(bytes: Buffer): Buffer {
  const text = bytes.toString("latin1");
  const versions = [...text.matchAll(/HTTP\/1\.([01])\r\n/g)];
  const forNode = text.replaceAll(/(?<=\n)upgrade(?=:([^\r\n]*))/gi, (name, value, at) => {
    const isOld = versions.findLast(({ index }) => index < at)?.[1] === "0";
    return !isOld && /(?:^|,)[ \t]*websocket[ \t]*(?:,|$)/i.test(value) ? name : "UpgradX";
  });
  return Buffer.from(forNode, "latin1");
}

interface Difference {
  readonly why: string;
  /** Whether the requests of this place differ for that reason; what follows them is not compared then. */
  differs(port: RecordedRequest, node: RecordedRequest): boolean;
}

const DIFFERENCES: readonly Difference[] = [
  {
    why: "a refused request that has arrived to its end costs the client no connection",
    differs: ({ fault }, node) => fault === node.fault && (fault === 413 || fault === 417),
  },
  {
    why: "with more headers than the limit the gateway refuses a request; node:http knows of 200 more or fewer, by how they came",
    differs: ({ headers }) => headers.length >= 2 * MAX_HEADERS,
  },
  {
    why: "the gateway takes no transfer coding but chunked: where the first header names another, or none, it reads no body",
    differs: ({ fault, headers }) => {
      const at = headers.findIndex((name, index) => index % 2 === 0 && /^transfer-encoding$/i.test(name));
      return fault === 400 && at >= 0 && !/(?:^|[ \t,])chunked$/i.test(headers[at + 1] as string);
    },
  },
  {
    why: "bytes of chunk extensions count for the body, not for each chunk; trailers count with the headers, by bytes and number",
    differs: ({ body, fault }, node) =>
      (fault === 431 || fault === 413) && body === undefined && node.body !== undefined,
  },
];

/** Both outcomes as they are compared. */
export function comparable(port: Outcome, node: Outcome): [unknown, unknown] {
  // Of two things that are wrong, which is seen first is a matter of how many bytes the parser is given at once.
  if (port.refused === 431 && node.refused === 400)
    return comparable({ ...port, refused: 400, statuses: [] }, { ...node, statuses: [] });
  const at = port.requests.findIndex((request, index) => {
    const other = node.requests[index];
    return other !== undefined && DIFFERENCES.some((difference) => difference.differs(request, other));
  });
  return [outcomeUpTo(port, at), outcomeUpTo(node, at)];
}

function outcomeUpTo(outcome: Outcome, at: number): unknown {
  // Node says "100 Continue" where no body follows, too.
  const statuses = outcome.statuses.filter((status) => status !== "100");
  if (at < 0) return { ...outcome, statuses, requests: outcome.requests.map(withoutUpgrade) };
  return { requests: outcome.requests.slice(0, at).map(withoutUpgrade), statuses: statuses.slice(0, at) };
}

/** Without the header of an upgrade that is ignored, which has another name on one side. */
function withoutUpgrade({ headers, body, ...rest }: RecordedRequest): unknown {
  const kept = headers
    .slice(0, 2 * MAX_HEADERS)
    .filter((_, at) => !/^upgrad[ex]$/i.test(headers[at - (at % 2)] as string));
  return { ...rest, headers: kept, body: body?.replaceAll(/\nupgrad[ex]/gi, "\nUpgrade") };
}
