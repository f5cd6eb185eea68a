/**
 * Which headers of requests reach a service as metadata, and which of its metadata reach clients as
 * headers. The service or its configuration names them: `"metadata": ["x-tenant"]`. With `"*"` all
 * pass, except the headers of HTTP, of Portico and of the dialects. Some never pass. With them a
 * client could pretend to be the gateway, or a service could set cookies or redirect on the
 * gateway's origin.
 */

import { isBinaryName, type Metadata, NO_METADATA } from "../../src/call/metadata.js";
import { mayPass, passes } from "../../src/contract/metadata-names.js";
import { HttpError } from "../http/errors.js";

/**
 * Maximum values of a service's headers or trailers that pass, and maximum bytes of their names and
 * values.
 */
const MAX_VALUES = 64;
const MAX_BYTES = 8 * 1024;

/** Maximum values of a header whose name ends in `-bin`. */
const MAX_BINARY = 256;

const TEXT = /^[ -~]*$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/;

export class PassedMetadata {
  /** Whether any metadata may pass. */
  readonly isAny: boolean;
  readonly #names: ReadonlySet<string>;

  /**
   * @param names in lower case, or `*`; names that must not pass have no effect
   * @param isOwn whether the metadata is for the gateway itself. It may receive all metadata
   */
  constructor(names: readonly string[], isOwn = false) {
    this.#names = new Set(names.filter((name) => name === "*" || isOwn || mayPass(name)));
    this.isAny = this.#names.size > 0;
  }

  /** Whether metadata with this name, in lower case, passes. */
  passes(name: string): boolean {
    return passes(this.#names, name);
  }

  /**
   * The headers of a request that pass, as metadata.
   * @param rawHeaders name, value, name, value …
   * @throws {HttpError} 400 for a value that is not valid in metadata, 431 for too many values
   */
  read(rawHeaders: readonly string[]): Metadata {
    const metadata: Metadata[number][] = [];
    for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
      const name = (rawHeaders[index] as string).toLowerCase();
      if (!this.passes(name)) continue;
      const value = rawHeaders[index + 1] as string;
      if (isBinaryName(name)) metadata.push(...bytesOf(name, value));
      else if (TEXT.test(value)) metadata.push([name, value]);
      else throw new HttpError(400, `The header ${name} must be printable ASCII`);
    }
    return metadata;
  }

  /**
   * The metadata of a service that passes: the first values up to the limits, without values that
   * are not valid in a header.
   */
  select(metadata: Metadata): Metadata {
    if (!this.isAny || metadata.length === 0) return NO_METADATA;
    const selected: Metadata[number][] = [];
    let bytes = 0;
    for (const pair of metadata) {
      const [name, value] = pair;
      if (!this.passes(name) || (typeof value === "string" && !TEXT.test(value))) continue;
      bytes += name.length + (typeof value === "string" ? value.length : Math.ceil((value.length * 4) / 3));
      if (bytes > MAX_BYTES || selected.length === MAX_VALUES) break;
      selected.push(pair);
    }
    return selected;
  }
}

/**
 * Reads a binary header. Its values may be joined by commas.
 * @throws {HttpError} 431 for more values than a gRPC service takes, 400 for a value that is not
 * base64
 */
function bytesOf(name: string, value: string): Metadata {
  const values = value.split(",", MAX_BINARY + 1);
  if (values.length > MAX_BINARY) throw new HttpError(431, `The header ${name} has more than ${MAX_BINARY} values`);
  return values.map((part) => {
    const text = part.trim();
    if (!BASE64.test(text)) throw new HttpError(400, `The header ${name} must be base64`);
    return [name, Buffer.from(text, "base64")] as const;
  });
}

export const NO_PASSED_METADATA = new PassedMetadata([]);

const REQUEST_PREFIX = "grpc-metadata-";
const ALL = ["*"];

/**
 * The metadata of a service whose clients know grpc-gateway. A request header
 * `Grpc-Metadata-X-Tenant` is the metadata `x-tenant`, if the service's configuration lets that
 * name pass. Otherwise any client could set metadata that the service takes from the gateway alone.
 * In responses all metadata passes that may pass at all: the prefix makes it harmless.
 */
export class PrefixedMetadata extends PassedMetadata {
  readonly #configured: PassedMetadata;

  constructor(configured: PassedMetadata) {
    super(ALL);
    this.#configured = configured;
  }

  override passes(name: string): boolean {
    return super.passes(name) || this.#configured.passes(name);
  }

  /** As grpc-gateway does, it leaves out a value that is not printable ASCII. */
  override read(rawHeaders: readonly string[]): Metadata {
    if (!this.#configured.isAny) return NO_METADATA;
    const stripped: string[] = [];
    for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
      const name = (rawHeaders[index] as string).toLowerCase();
      const value = rawHeaders[index + 1] as string;
      if (name.startsWith(REQUEST_PREFIX) && TEXT.test(value)) stripped.push(name.slice(REQUEST_PREFIX.length), value);
    }
    return [...this.#configured.read(rawHeaders), ...this.#configured.read(stripped)];
  }
}
