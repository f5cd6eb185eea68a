/** Bytes that are not one HTTP request, and requests over a limit (RFC 9110, RFC 9112). */
import { ADA, HELLO, type HttpCase, NAME } from "./case.js";

/** Bytes that are not a request, or more than one. */
export const wire: readonly HttpCase[] = [
  { title: "bytes that are not HTTP", raw: "hello\r\n\r\n", status: 400 },
  { title: "a method that does not exist", raw: "BREW /helloworld HTTP/1.1\r\nHost: x\r\n\r\n", status: 400 },
  {
    title: "CONNECT opens no tunnel",
    raw: "CONNECT portico.test:80 HTTP/1.1\r\nHost: x\r\n\r\n",
    status: 405,
    has: { allow: /GET/ },
  },
  { title: "a path with a byte that is not ASCII", raw: "GET /h\xe9lloworld HTTP/1.1\r\nHost: x\r\n\r\n", status: 400 },
  { title: "a path with a space", raw: "GET /hello world HTTP/1.1\r\nHost: x\r\n\r\n", status: 400 },
  {
    title: "a request line of HTTP/1 that claims HTTP/2.0",
    raw: "GET /helloworld HTTP/2.0\r\nHost: x\r\n\r\n",
    status: 505,
  },
  { title: "a request line that claims HTTP/0.9", raw: "GET /helloworld HTTP/0.9\r\nHost: x\r\n\r\n", status: 505 },
  { title: "a request line that claims HTTP/1.2", raw: "GET /helloworld HTTP/1.2\r\nHost: x\r\n\r\n", status: 505 },
  { title: "a request line that claims HTTP/3.0", raw: "GET /helloworld HTTP/3.0\r\nHost: x\r\n\r\n", status: 505 },
  { title: "the preface of HTTP/2 behind an empty line", raw: "\r\nPRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", status: 505 },
  {
    title: "an upgrade to a WebSocket that claims HTTP/2.0",
    raw: "GET /probe/tell HTTP/2.0\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    status: 505,
  },
  {
    title: "an upgrade to a WebSocket without a Host",
    raw: "GET /probe/tell HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    status: 400,
  },
  { title: "HTTP/1.1 without a Host", raw: "GET /helloworld HTTP/1.1\r\nConnection: close\r\n\r\n", status: 400 },
  {
    title: "two Host headers, for a built-in route",
    raw: "GET /livez HTTP/1.1\r\nHost: x\r\nHost: x\r\nConnection: close\r\n\r\n",
    status: 400,
    detail: /Host/,
  },
  {
    title: "two Host headers",
    raw: "GET /helloworld HTTP/1.1\r\nHost: x\r\nHost: y\r\nConnection: close\r\n\r\n",
    status: 400,
  },
  { title: "HTTP/1.0 needs no Host", raw: "GET /helloworld HTTP/1.0\r\n\r\n", status: 200, calls: HELLO },
  {
    title: "request smuggling by two Content-Length headers",
    raw: `POST /helloworld HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 14\r\nContent-Length: 0\r\n\r\n${NAME}`,
    status: 400,
  },
  {
    title: "request smuggling by Content-Length and Transfer-Encoding",
    raw: "POST /helloworld HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    status: 400,
  },
  {
    title: "request smuggling by a Transfer-Encoding that does not end in chunked",
    raw: "POST /helloworld HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    status: 400,
  },
  {
    title: "request smuggling by a Transfer-Encoding in HTTP/1.0",
    raw: "POST /helloworld HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    status: 400,
    detail: /HTTP\/1.0 has no Transfer-Encoding/,
  },
  {
    title: "request smuggling by a Transfer-Encoding that is unknown",
    raw: "POST /helloworld HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    status: 400,
    id: "helloworld",
  },
  {
    title: "request smuggling by a Transfer-Encoding before chunked",
    raw: "POST /helloworld HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    status: 400,
    id: "helloworld",
  },
  {
    title: "request smuggling by a space before the colon",
    raw: "GET /helloworld HTTP/1.1\r\nHost: x\r\nContent-Length : 0\r\n\r\n",
    status: 400,
  },
  {
    title: "request smuggling by a folded header",
    raw: "GET /helloworld HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n",
    status: 400,
  },
  {
    title: "a header with a bare carriage return",
    raw: "GET /helloworld HTTP/1.1\r\nHost: x\r\nA: b\rX: y\r\n\r\n",
    status: 400,
  },
  {
    title: "headers of more than 16 KiB",
    raw: `GET /helloworld HTTP/1.1\r\nHost: x\r\nA: ${"a".repeat(20_000)}\r\n\r\n`,
    status: 431,
  },
  { title: "a path of more than 16 KiB", raw: `GET /${"a".repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, status: 431 },
  { title: "headers that do not arrive in time", raw: "GET /helloworld HTTP/1.1\r\nHost: x\r\n", status: 408 },
];

export const limits: readonly HttpCase[] = [
  {
    title: "more than 100 headers",
    target: "/helloworld",
    headers: Array.from({ length: 101 }, (_, n) => [`A${n}`, "b"] as const),
    status: 431,
  },
  {
    title: "headers far over the limit; the last one is a second token",
    target: "/helloworld",
    headers: [ADA, ...Array.from({ length: 500 }, (_, n) => [`A${n}`, "b"] as const), ADA],
    status: 431,
  },
];
