/** A small document of another server, as gateway/node/fetch-document.ts fetches it. */

export interface DocumentRequest {
  readonly url: URL;
  /** The IP address to connect to. */
  readonly address: string;
  readonly maxBytes: number;
  readonly timeoutMs: number;
}

export interface FetchedDocument {
  readonly status: number;
  readonly contentType: string;
  readonly cacheControl: string;
  readonly body: Buffer;
}

/** Rejects when the document cannot be fetched in time, or is too large. */
export type FetchDocument = (request: DocumentRequest) => Promise<FetchedDocument>;
