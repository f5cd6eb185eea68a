/**
 * Fetches a small document from an address that was chosen before: no name is resolved here, no
 * redirect is followed, and no proxy is used.
 */
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { isIP } from "node:net";
import type { DocumentRequest, FetchedDocument } from "../http/fetched-document.js";

/** @throws {Error} (rejects) when it cannot be fetched in time, or is too large */
export function fetchDocument({ url, address, maxBytes, timeoutMs }: DocumentRequest): Promise<FetchedDocument> {
  const family = isIP(address);
  const request = url.protocol === "http:" ? requestHttp : requestHttps;
  const signal = AbortSignal.timeout(timeoutMs);
  return new Promise((resolve, reject) => {
    const outgoing = request(
      url,
      {
        agent: false,
        signal,
        headers: { Accept: "application/json" },
        // TLS verifies the name of the URL all the same.
        lookup: (_, { all }, callback) =>
          all
            ? callback(null, [{ address, family }])
            : (callback as (...args: unknown[]) => void)(null, address, family),
      },
      (response) => {
        const chunks: Buffer[] = [];
        let length = 0;
        response.on("data", (chunk: Buffer) => {
          length += chunk.length;
          if (length > maxBytes) outgoing.destroy(new Error(`it is larger than ${maxBytes} bytes`));
          else chunks.push(chunk);
        });
        response.on("error", reject);
        response.on("end", () => {
          const { "content-type": contentType = "", "cache-control": cacheControl = "" } = response.headers;
          resolve({ status: response.statusCode ?? 0, contentType, cacheControl, body: Buffer.concat(chunks) });
        });
      },
    );
    outgoing.on("error", reject);
    outgoing.end();
  });
}
