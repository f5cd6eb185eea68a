/**
 * The intended differences between the gateway's port and node:http: what is compared, and why the
 * rest is not.
 */
import type { Outcome, RecordedRequest } from "./recording.js";

/**
 * With one header more than the limit, the gateway rejects a request, and does not read the headers
 * after it.
 */
const MAX_HEADERS = 101;

/** The preface of HTTP/2, which the port accepts and node:http rejects. */
const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/** Whether node:http can be compared with the port for these bytes. */
export function isComparable(bytes: Buffer): boolean {
  return !bytes.toString("latin1").startsWith(PREFACE);
}

/**
 * Here only a request for a WebSocket is an upgrade, and only in HTTP/1.1. Any other upgrade is
 * ignored (RFC 9110 §7.8). Node lets a server ignore all upgrades or none, and loses the bytes
 * after an upgrade that it ignores. So node:http gets the header under another name of the same
 * length, which it does not know.
 */
export function withoutIgnoredUpgrades(bytes: Buffer): Buffer {
  const text = bytes.toString("latin1");
  // A request line may directly follow a body. The value of a header may look like a request line:
  // lines of headers do not count.
  const versions = [...text.matchAll(/(?<=^|\n)(?![\w!#$%&'*+.^`|~-]+:)[^\r\n]*[A-Z-] \S+ HTTP\/1\.([01])\r\n/g)];
  const forNode = text.replaceAll(/(?<=\n)upgrade(?=:([^\r\n]*))/gi, (name, value, at) => {
    const isOld = versions.findLast(({ index }) => index < at)?.[1] === "0";
    return !isOld && /(?:^|,)[ \t]*websocket[ \t]*(?:,|$)/i.test(value) ? name : "UpgradX";
  });
  return Buffer.from(forNode, "latin1");
}

/**
 * A quoted value of a chunk extension may not contain DEL (RFC 9110 §5.6.4). Node's parser rejects
 * it. The port's parser reads to the end of the line, as it must for every extension that it does
 * not know (RFC 9112 §7.1.1). So node:http gets spaces instead.
 */
export function withoutQuotedDeletes(bytes: Buffer): Buffer {
  const text = bytes.toString("latin1");
  const forNode = text.replaceAll(/(?<=\n)[0-9a-f]+;[^\r\n]*/gi, (line) =>
    line.replaceAll(/"(?:\\.|[^"\\])*/g, (value) =>
      value.replaceAll(/\\.|\x7f/g, (part) => (part === "\x7f" ? " " : part)),
    ),
  );
  return Buffer.from(forNode, "latin1");
}

interface Difference {
  readonly why: string;
  /**
   * Whether the requests at this position differ for that reason. Requests after them are not
   * compared then.
   */
  differs(port: RecordedRequest, node: RecordedRequest): boolean;
  /** The port reads nothing after such a request. */
  readonly closes?: true;
}

const DIFFERENCES: readonly Difference[] = [
  {
    why: "a rejected request that has arrived completely does not close the connection",
    differs: ({ error }, node) => error === node.error && (error === 413 || error === 417),
  },
  {
    why: "with more headers than the limit the gateway rejects a request; node:http accepts up to 200 more, depending on the chunks",
    differs: ({ headers }) => headers.length >= 2 * MAX_HEADERS,
    closes: true,
  },
  {
    why: "the gateway takes only the transfer coding chunked: where the first header names another, or none, it reads no body",
    differs({ error, headers }) {
      const at = headers.findIndex((name, index) => index % 2 === 0 && /^transfer-encoding$/i.test(name));
      return error === 400 && at >= 0 && !/(?:^|,)[ \t]*chunked$/i.test(headers[at + 1] as string);
    },
    closes: true,
  },
  {
    why: "the gateway takes no transfer coding in HTTP/1.0 (RFC 9112 §6.1): it reads no body",
    differs: ({ error, body }, node) => error === 400 && body === undefined && node.oldCoding === true,
    closes: true,
  },
  {
    why: "the limit of chunk extensions is for the whole body, not for each chunk; trailers count with the headers, by bytes and number",
    differs: ({ body, error }) => (error === 431 || error === 413) && body === undefined,
    closes: true,
  },
  {
    why: "the same for a request that was already rejected because it has no host",
    differs: ({ body, error, headers }, node) =>
      error === 400 && body === undefined && node.body !== undefined && !hasHost(headers),
    closes: true,
  },
  {
    why: "Connection among the trailers is ignored (RFC 9110 §6.5.1); node:http closes the connection, or keeps it",
    differs: (_, node) => node.connectionInTrailers === true,
  },
  {
    why: "an unknown expectation is rejected also in a request for a WebSocket; node:http does not check it there",
    differs: ({ upgrade, error }, node) => upgrade && node.upgrade && error === 417 && node.error === undefined,
    closes: true,
  },
  {
    why: "HTTP/0.9 is rejected, whatever its headers are, with lines that end in LF",
    differs: ({ error }, node) => error === 505 && node.error === 505,
  },
];

function hasHost(headers: readonly string[]): boolean {
  return headers.some((name, at) => at % 2 === 0 && /^host$/i.test(name));
}

/** Both outcomes in the form in which they are compared. */
export function comparable(port: Outcome, node: Outcome): [unknown, unknown] {
  if (port.refused !== node.refused && isRefusedEitherWay(port, node)) {
    return comparable({ ...port, refused: 400, statuses: [] }, { ...node, refused: 400, statuses: [] });
  }
  for (const [at, request] of port.requests.entries()) {
    const other = node.requests[at];
    const difference = other && DIFFERENCES.find(({ differs }) => differs(request, other));
    if (difference === undefined) continue;
    const isOver = difference.closes === undefined || (port.closed && port.requests.length === at + 1);
    return [outcomeBefore(port, at, isOver), outcomeBefore(node, at, true)];
  }
  return [outcomeOf(port), outcomeOf(node)];
}

/**
 * Bytes may have two defects. Which one is found first depends on how many bytes the parser gets at
 * once. And here a CONNECT of HTTP/0.9 is rejected for its version.
 */
function isRefusedEitherWay({ refused }: Outcome, node: Outcome): boolean {
  return (refused === 431 && node.refused === 400) || (refused === 505 && node.refused === 405);
}

function outcomeOf(outcome: Outcome): unknown {
  return { ...outcome, statuses: finalStatuses(outcome), requests: outcome.requests.map(withoutUpgrade) };
}

/** The outcome of the requests before this position. */
function outcomeBefore(outcome: Outcome, at: number, isOver: boolean): unknown {
  const requests = outcome.requests.slice(0, at).map(withoutUpgrade);
  return { requests, statuses: finalStatuses(outcome).slice(0, at), isOver };
}

/** Node sends "100 Continue" also where no body follows. */
function finalStatuses({ statuses }: Outcome): readonly string[] {
  return statuses.filter((status) => status !== "100");
}

/**
 * Without the parts that were changed for node:http: the header of an upgrade that is ignored, and
 * DEL.
 */
function withoutUpgrade({ headers, body, ...rest }: RecordedRequest): unknown {
  const kept = headers
    .slice(0, 2 * MAX_HEADERS)
    .filter((_, at) => !/^upgrad[ex]$/i.test(headers[at - (at % 2)] as string));
  return { ...rest, headers: kept, body: body?.replaceAll(/upgrad[ex]/gi, "Upgrade").replaceAll("\x7f", " ") };
}
