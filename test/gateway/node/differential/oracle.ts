/**
 * A plain server of node:http with its default parser, which records what it finds. The gateway's
 * port adds some checks after the parser, and this server adds the same: the versions, the required
 * Host, the size limits, and that only a request for a WebSocket is an upgrade.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Limits } from "../dial.js";
import type { RecordedRequest, RecordingServer } from "./recording.js";

const CODES: Readonly<Record<string, number>> = {
  HPE_INVALID_VERSION: 505,
  HPE_PAUSED_H2_UPGRADE: 505,
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
};

export async function oracle({ maxBody, maxHeaders, maxHeaderCount }: Limits): Promise<RecordingServer> {
  const server = createServer({
    maxHeaderSize: maxHeaders,
    requireHostHeader: false,
    headersTimeout: 0,
    requestTimeout: 0,
    keepAliveTimeout: 0,
  });
  server.maxHeadersCount = maxHeaderCount + 1;
  const closing = new WeakSet<Socket>();
  /** Rejects the latest request, unless it is complete. */
  let refuseLatest: (status: number) => void = () => {};
  const recorded: RecordingServer = {
    port: 0,
    recording: { requests: [] },
    async close() {
      server.close();
      server.closeAllConnections();
    },
  };

  /**
   * Begins the record of a request.
   * @returns the record and the number of the request
   */
  const record = (req: IncomingMessage, upgrade: boolean) => {
    const { requests } = recorded.recording;
    const request: RecordedRequest = {
      method: req.method ?? "",
      target: req.url ?? "",
      headers: req.rawHeaders,
      upgrade,
    };
    const number = requests.push(request);
    const { httpVersion, headers } = req;
    if (httpVersion === "1.0" && headers["transfer-encoding"] !== undefined) request.oldCoding = true;
    if (req.httpVersionMajor !== 1 || req.httpVersionMinor > 1) request.error = 505;
    else if (req.httpVersionMinor === 1 && req.headers.host === undefined) request.error = 400;
    return { request, number };
  };

  const serve = (req: IncomingMessage, res: ServerResponse, onRead: () => void = () => {}, refuse?: number): void => {
    const { request, number } = record(req, false);
    const chunks: Buffer[] = [];
    let length = 0;
    const response = (): void => {
      request.answered = true;
      const isLast = closing.has(req.socket) && request === recorded.recording.requests.at(-1);
      const more = isLast ? { Connection: "close" } : {};
      res.writeHead(request.error ?? 200, { "Content-Length": 0, Number: number, ...more }).end();
    };
    const fail = (status: number): void => {
      request.error ??= status;
      closing.add(req.socket);
      req.removeAllListeners("data").resume();
      response();
    };
    refuseLatest = (status) => {
      if (!req.complete) fail(status);
    };
    if (refuse !== undefined && request.error === undefined) return void fail(refuse);
    if (Number(req.headers["content-length"]) > maxBody) return void fail(413);
    onRead();
    req.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      length += chunk.length;
      if (length > maxBody) fail(413);
    });
    req.on("end", () => {
      if (request.answered || length > maxBody) return;
      request.body = Buffer.concat(chunks).toString("latin1");
      if (req.trailers.connection !== undefined) request.connectionInTrailers = true;
      setImmediate(response);
    });
    req.on("error", () => {});
  };

  server.on("request", (req, res) => serve(req, res));
  server.on("checkContinue", (req, res) => serve(req, res, () => res.writeContinue()));
  server.on("checkExpectation", (req, res) => serve(req, res, undefined, 417));
  const answerRaw = (socket: Socket, status: number, number: number): void => {
    socket.end(`HTTP/1.1 ${status} -\r\nConnection: close\r\nNumber: ${number}\r\n\r\n`);
    socket.resume();
  };
  /** Resolves when the requests before have their responses. */
  const allAnswered = async (): Promise<void> => {
    const { requests } = recorded.recording;
    while (requests.some(({ answered }) => answered !== true)) await new Promise((resolve) => setImmediate(resolve));
  };
  server.on("upgrade", async (req, socket: Socket) => {
    socket.on("error", () => {});
    await allAnswered();
    const { request, number } = record(req, true);
    request.answered = true;
    answerRaw(socket, request.error ?? 200, number);
  });
  server.on("connect", async (_req, socket: Socket) => {
    socket.on("error", () => {});
    await allAnswered();
    recorded.recording.refused = 405;
    answerRaw(socket, 405, 0);
  });
  server.on("clientError", (error: Error & { code?: string }, socket: Socket) => {
    if (!socket.writable || socket.readableEnded || error.code === "ECONNRESET") return void socket.destroy();
    if (closing.has(socket)) return;
    const status = CODES[error.code ?? ""] ?? 400;
    const { requests } = recorded.recording;
    const last = requests.at(-1);
    closing.add(socket);
    if (last === undefined || last.answered) {
      recorded.recording.refused = status;
      answerRaw(socket, status, 0);
    } else {
      refuseLatest(status); // If the request is complete, its response is the last one.
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return Object.assign(recorded, { port: (server.address() as AddressInfo).port });
}
