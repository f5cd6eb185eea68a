/** The headers that all requests of a channel to one path have; made once for each path. */
import { type Field, sizeOf } from "../../http2/static-table.js";
import { CONTENT_TYPE } from "../http-to-status.js";
import { ACCEPTED_ENCODINGS } from "./messages.js";

export interface PathHeaders {
  readonly fields: readonly Field[];
  /** Maximum bytes of a header block. */
  readonly size: number;
}

/** Paths whose headers are kept. */
const MAX_PATHS = 1_000;

export class RequestHeaders {
  readonly #scheme: "http" | "https";
  readonly #authority: string;
  readonly #kept = new Map<string, PathHeaders>();

  constructor(scheme: "http" | "https", authority: string) {
    this.#scheme = scheme;
    this.#authority = authority;
  }

  get(path: string): PathHeaders {
    const kept = this.#kept.get(path);
    if (kept !== undefined) return kept;
    const fields = [
      { name: ":method", value: "POST" },
      { name: ":scheme", value: this.#scheme },
      { name: ":path", value: path },
      { name: ":authority", value: this.#authority },
      { name: "te", value: "trailers" },
      { name: "content-type", value: CONTENT_TYPE },
      { name: "grpc-accept-encoding", value: ACCEPTED_ENCODINGS },
      { name: "user-agent", value: "grpc-node-portico" },
    ];
    const headers = { fields, size: fields.reduce((size, field) => size + sizeOf(field), 0) };
    if (this.#kept.size < MAX_PATHS) this.#kept.set(path, headers);
    return headers;
  }
}
