/**
 * The spans of a call to a service over gRPC: `call`, and below it a client span for each attempt.
 * Each attempt tells its own span to the service.
 * (https://opentelemetry.io/docs/specs/semconv/rpc/grpc/, version 1.37.0)
 */
import type { GrpcTarget } from "../address/address.js";
import type { Metadata } from "../call/metadata.js";
import { Code } from "../errors.js";
import { type Attributes, SpanKind } from "./span.js";
import type { ActiveSpan } from "./tracer.js";

/** An attempt that has begun. */
export interface AttemptTrace {
  /** `traceparent` of the attempt. */
  readonly metadata: Metadata;
  end(code: Code): void;
}

export class CallTrace {
  readonly #span: ActiveSpan;
  readonly #path: string;
  #attempts = 0;

  /** @param path gRPC path, `/helloworld.Helloworld/Call` */
  constructor(parent: ActiveSpan, path: string) {
    this.#span = parent.child("call", SpanKind.INTERNAL);
    this.#path = path;
  }

  /**
   * An attempt begins.
   * @param target the instance; undefined for one in this process
   */
  attempt(target: GrpcTarget | undefined): AttemptTrace {
    this.#attempts++;
    const span = this.#span.child(this.#path.slice(1), SpanKind.CLIENT);
    return {
      metadata: [["traceparent", span.traceparent]],
      end: (code) => {
        const attributes = { ...rpcAttributes(this.#path, code), ...serverAttributes(target) };
        span.end({ attributes, error: code === Code.OK ? undefined : codeName(code) });
      },
    };
  }

  /** The last attempt has ended, or none was possible. */
  end(code: Code): void {
    const attributes = { ...rpcAttributes(this.#path, code), "portico.attempts": this.#attempts };
    this.#span.end({ attributes, error: code === Code.OK ? undefined : codeName(code) });
  }
}

/** The attributes of a call, and `error.type` where it failed. */
export function rpcAttributes(path: string, code: Code): Attributes {
  const [, service, method] = path.split("/");
  return {
    "rpc.system": "grpc",
    "rpc.service": service,
    "rpc.method": method,
    "rpc.grpc.status_code": code,
    "error.type": code === Code.OK ? undefined : codeName(code),
  };
}

/** The name of a code; a service may have its own. */
export function codeName(code: Code): string {
  return Code[code] ?? String(code);
}

/** `server.address` and `server.port`. */
function serverAttributes(target: GrpcTarget | undefined): Attributes {
  if (target === undefined) return {};
  if ("path" in target) return { "server.address": target.path };
  return { "server.address": target.host, "server.port": target.port };
}
