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
  // A request line may directly follow a body. The value of a header may look like one: such lines do not count.
  const versions = [...text.matchAll(/(?<=^|\n)(?![\w!#$%&'*+.^`|~-]+:)[^\r\n]*[A-Z-] \S+ HTTP\/1\.([01])\r\n/g)];
  const forNode = text.replaceAll(/(?<=\n)upgrade(?=:([^\r\n]*))/gi, (name, value, at) => {
    const isOld = versions.findLast(({ index }) => index < at)?.[1] === "0";
    return !isOld && /(?:^|,)[ \t]*websocket[ \t]*(?:,|$)/i.test(value) ? name : "UpgradX";
  });
  return Buffer.from(forNode, "latin1");
}

/**
 * A quoted value of a chunk extension may not contain DEL (RFC 9110 §5.6.4). Node's parser refuses it; the port's reads on to the
 * end of the line, as it must for every extension that it does not know (RFC 9112 §7.1.1). So node:http is given spaces there.
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
  /** Whether the requests of this place differ for that reason; what follows them is not compared then. */
  differs(port: RecordedRequest, node: RecordedRequest): boolean;
  /** The port reads nothing behind such a request. */
  readonly closes?: true;
}

const DIFFERENCES: readonly Difference[] = [
  {
    why: "a refused request that has arrived to its end costs the client no connection",
    differs: ({ error }, node) => error === node.error && (error === 413 || error === 417),
  },
  {
    why: "with more headers than the limit the gateway refuses a request; node:http knows of 200 more or fewer, by how they came",
    differs: ({ headers }) => headers.length >= 2 * MAX_HEADERS,
    closes: true,
  },
  {
    why: "the gateway takes no transfer coding but chunked: where the first header names another, or none, it reads no body",
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
    why: "bytes of chunk extensions count for the body, not for each chunk; trailers count with the headers, by bytes and number",
    differs: ({ body, error }) => (error === 431 || error === 413) && body === undefined,
    closes: true,
  },
  {
    why: "the same of a request that was refused already because it names no host",
    differs: ({ body, error, headers }, node) =>
      error === 400 && body === undefined && node.body !== undefined && !hasHost(headers),
    closes: true,
  },
  {
    why: "Connection among the trailers says nothing (RFC 9110 §6.5.1); node:http closes the connection, or keeps it",
    differs: (_, node) => node.connectionInTrailers === true,
  },
  {
    why: "an expectation that is not met is refused where a WebSocket is asked for, too; node:http looks at none there",
    differs: ({ upgrade, error }, node) => upgrade && node.upgrade && error === 417 && node.error === undefined,
    closes: true,
  },
  {
    why: "HTTP/0.9 is refused, whatever its headers are, with lines that end in LF",
    differs: ({ error }, node) => error === 505 && node.error === 505,
  },
];

function hasHost(headers: readonly string[]): boolean {
  return headers.some((name, at) => at % 2 === 0 && /^host$/i.test(name));
}

/** Both outcomes as they are compared. */
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
 * Of two things that are wrong with bytes, which one is seen first is a matter of how many the parser is given at once; and a
 * CONNECT of HTTP/0.9 is refused for its version here.
 */
function isRefusedEitherWay({ refused }: Outcome, node: Outcome): boolean {
  return (refused === 431 && node.refused === 400) || (refused === 505 && node.refused === 405);
}

function outcomeOf(outcome: Outcome): unknown {
  return { ...outcome, statuses: finalStatuses(outcome), requests: outcome.requests.map(withoutUpgrade) };
}

/** What came of the requests before this place. */
function outcomeBefore(outcome: Outcome, at: number, isOver: boolean): unknown {
  const requests = outcome.requests.slice(0, at).map(withoutUpgrade);
  return { requests, statuses: finalStatuses(outcome).slice(0, at), isOver };
}

/** Node says "100 Continue" where no body follows, too. */
function finalStatuses({ statuses }: Outcome): readonly string[] {
  return statuses.filter((status) => status !== "100");
}

/** Without what one side was given in other words: the header of an upgrade that is ignored, and DEL. */
function withoutUpgrade({ headers, body, ...rest }: RecordedRequest): unknown {
  const kept = headers
    .slice(0, 2 * MAX_HEADERS)
    .filter((_, at) => !/^upgrad[ex]$/i.test(headers[at - (at % 2)] as string));
  return { ...rest, headers: kept, body: body?.replaceAll(/\nupgrad[ex]/gi, "\nUpgrade").replaceAll("\x7f", " ") };
}
