/**
 * The HTTP statuses that a service's options set: by gRPC code (`statuses`), or by the service
 * itself in metadata that the options name (`statusMetadata`). They count in JSON and at the paths
 * of `google.api.http`.
 */
import type { Metadata } from "../../src/call/metadata.js";
import { Code } from "../../src/errors.js";
import type { ServiceOptions } from "../../src/gen/portico/registry/v1/service_options.js";

type StatusOptions = Pick<ServiceOptions, "statuses" | "statusMetadata">;

/** A final status other than an informational one. */
const STATUS = /^[2-5]\d\d$/;

/** Statuses of responses without content (RFC 9110 §15.3.5, §15.3.6 and §15.4.5). */
const NO_CONTENT: ReadonlySet<number> = new Set([204, 205, 304]);

/** Whether a response with the status has no body. */
export function hasNoContent(status: number): boolean {
  return NO_CONTENT.has(status);
}

export class ServiceStatuses {
  readonly options: StatusOptions;
  readonly #onInvalid: (value: string) => void;
  #isReported = false;

  /** @param onInvalid called once, with a value of the metadata that is no HTTP status */
  constructor({ statuses, statusMetadata }: StatusOptions, onInvalid: (value: string) => void) {
    this.options = { statuses, statusMetadata };
    this.#onInvalid = onInvalid;
  }

  /** The status of a response; undefined if the options set none. */
  of(code: Code, headers: Metadata, trailers: Metadata): number | undefined {
    return this.#sent(headers) ?? this.#sent(trailers) ?? this.ofCode(code);
  }

  /**
   * The status of a stream that begins. Its code is not known yet, and it has a body.
   * @param headers the service's metadata before its first message
   */
  ofStream(headers: Metadata): number | undefined {
    const status = this.#sent(headers);
    return status === undefined || hasNoContent(status) ? undefined : status;
  }

  /** The status that the options set for a code. The first range with the code counts. */
  ofCode(code: Code): number | undefined {
    return this.options.statuses.find(({ first, last }) => first <= code && code <= last)?.status;
  }

  /** The statuses that the options set for errors. */
  get ofErrors(): number[] {
    const ranges = this.options.statuses.filter(({ last }) => last > Code.OK);
    return [...new Set(ranges.map(({ status }) => status))];
  }

  #sent(metadata: Metadata): number | undefined {
    const name = this.options.statusMetadata;
    if (name === "" || metadata.length === 0) return undefined;
    const value = metadata.find(([given]) => given === name)?.[1];
    if (value === undefined) return undefined;
    if (typeof value === "string" && STATUS.test(value)) return Number(value);
    if (!this.#isReported) this.#onInvalid(String(value));
    this.#isReported = true;
    return undefined;
  }
}

/** @returns undefined if the options set no status */
export function statusesOf(options: StatusOptions, onInvalid: (value: string) => void): ServiceStatuses | undefined {
  return options.statuses.length === 0 && options.statusMetadata === ""
    ? undefined
    : new ServiceStatuses(options, onInvalid);
}
