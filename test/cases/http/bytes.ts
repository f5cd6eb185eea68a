/** Bytes that are no HTTP request, or more than one, and requests over a limit. (RFC 9110, RFC 9112) */
import { ADA, HELLO, type HttpCase, NAME } from "./case.js";

/** Bytes that are no request, or more than one. */
export const wire: readonly HttpCase[] = [
  { title: "not HTTP", raw: "hello\r\n\r\n", status: 400 },
  { title: "unknown method", raw: "BREW /helloworld HTTP/1.1\r\nHost: x\r\n\r\n", status: 400 },
  { title: "tunnel", raw: "CONNECT portico.test:80 HTTP/1.1\r\nHost: x\r\n\r\n", status: 405, has: { allow: /GET/ } },
  { title: "non-ASCII path", raw: "GET /h\xe9lloworld HTTP/1.1\r\nHost: x\r\n\r\n", status: 400 },
  { title: "space in the path", raw: "GET /hello world HTTP/1.1\r\nHost: x\r\n\r\n", status: 400 },
  { title: "HTTP/2.0 in the form of HTTP/1", raw: "GET /helloworld HTTP/2.0\r\nHost: x\r\n\r\n", status: 505 },
  { title: "HTTP/0.9 with a version", raw: "GET /helloworld HTTP/0.9\r\nHost: x\r\n\r\n", status: 505 },
  { title: "HTTP/1.2", raw: "GET /helloworld HTTP/1.2\r\nHost: x\r\n\r\n", status: 505 },
  { title: "HTTP/3.0", raw: "GET /helloworld HTTP/3.0\r\nHost: x\r\n\r\n", status: 505 },
  { title: "HTTP/2 without asking first", raw: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", status: 505 },
  {
    title: "HTTP/2.0 that asks for a WebSocket",
    raw: "GET /probe/tell HTTP/2.0\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    status: 505,
  },
  {
    title: "no host, for a WebSocket",
    raw: "GET /probe/tell HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    status: 400,
  },
  { title: "no host", raw: "GET /helloworld HTTP/1.1\r\nConnection: close\r\n\r\n", status: 400 },
  {
    title: "two hosts, alive",
    raw: "GET /livez HTTP/1.1\r\nHost: x\r\nHost: x\r\nConnection: close\r\n\r\n",
    status: 400,
    detail: /Host/,
  },
  {
    title: "two hosts",
    raw: "GET /helloworld HTTP/1.1\r\nHost: x\r\nHost: y\r\nConnection: close\r\n\r\n",
    status: 400,
  },
  { title: "HTTP/1.0 without host", raw: "GET /helloworld HTTP/1.0\r\n\r\n", status: 200, calls: HELLO },
  {
    title: "smuggling: two lengths",
    raw: `POST /helloworld HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 14\r\nContent-Length: 0\r\n\r\n${NAME}`,
    status: 400,
  },
  {
    title: "smuggling: length and chunks",
    raw: "POST /helloworld HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    status: 400,
  },
  {
    title: "smuggling: chunks, then something else",
    raw: "POST /helloworld HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    status: 400,
  },
  {
    title: "smuggling: chunks by another name",
    raw: "POST /helloworld HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    status: 400,
    id: "helloworld",
  },
  {
    title: "smuggling: chunks of something else",
    raw: "POST /helloworld HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    status: 400,
    id: "helloworld",
  },
  {
    title: "smuggling: space before the colon",
    raw: "GET /helloworld HTTP/1.1\r\nHost: x\r\nContent-Length : 0\r\n\r\n",
    status: 400,
  },
  { title: "smuggling: folded header", raw: "GET /helloworld HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n", status: 400 },
  { title: "bare newline in a header", raw: "GET /helloworld HTTP/1.1\r\nHost: x\r\nA: b\rX: y\r\n\r\n", status: 400 },
  {
    title: "headers too large",
    raw: `GET /helloworld HTTP/1.1\r\nHost: x\r\nA: ${"a".repeat(20_000)}\r\n\r\n`,
    status: 431,
  },
  { title: "path too large", raw: `GET /${"a".repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, status: 431 },
  { title: "headers that do not come", raw: "GET /helloworld HTTP/1.1\r\nHost: x\r\n", status: 408 },
];

export const limits: readonly HttpCase[] = [
  {
    title: "too many headers",
    target: "/helloworld",
    headers: Array.from({ length: 101 }, (_, n) => [`A${n}`, "b"] as const),
    status: 431,
  },
  {
    title: "many too many headers, the last a second token",
    target: "/helloworld",
    headers: [ADA, ...Array.from({ length: 500 }, (_, n) => [`A${n}`, "b"] as const), ADA],
    status: 431,
  },
];
