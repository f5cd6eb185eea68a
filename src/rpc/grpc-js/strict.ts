/**
 * Makes @grpc/grpc-js 1.14 report three errors of a peer that it does not detect:
 * - A response ends within a message: the library drops the part that arrived, and ends the call
 *   with OK.
 * - A message has an unknown flag: the library reads it as not compressed.
 * - A grpc-status is not written in digits: the library reads an empty one as OK.
 *
 * The library has no hook for these, so three of its methods are replaced.
 * test/cases/malformed-responses.ts fails when a new version breaks that.
 */
import type { IncomingHttpHeaders } from "node:http2";
import { status as GrpcStatus, Metadata } from "@grpc/grpc-js";
import { Http2SubchannelCall } from "@grpc/grpc-js/build/src/subchannel-call.js";
import { STATUS } from "../status.js";

/** The members of the library's class that are used here; most of them are private there. */
interface Internals {
  readonly decoder: { readonly readState: number };
  finalStatus: { code: number; details: string; metadata: Metadata } | null;
  outputStatus(): void;
  tryPush(messageBytes: Buffer): void;
  cancelWithStatus(code: number, details: string): void;
  handleTrailers(headers: IncomingHttpHeaders): void;
}

/** The state of the library's decoder between two messages. */
const NO_DATA = 0;

export const CUT_SHORT = "the response ends within a message";
export const UNKNOWN_FLAG = /^a message has the unknown flag \d+$/;

const calls = Http2SubchannelCall.prototype as unknown as Internals;
const { handleTrailers, outputStatus, tryPush } = calls;

calls.outputStatus = function (this: Internals): void {
  if (this.finalStatus?.code === GrpcStatus.OK && this.decoder.readState !== NO_DATA) {
    this.finalStatus = { code: GrpcStatus.INTERNAL, details: CUT_SHORT, metadata: new Metadata() };
  }
  outputStatus.call(this);
};

calls.tryPush = function (this: Internals, messageBytes: Buffer): void {
  const flag = messageBytes[0] as number;
  if (flag > 1) this.cancelWithStatus(GrpcStatus.INTERNAL, `a message has the unknown flag ${flag}`);
  else tryPush.call(this, messageBytes);
};

calls.handleTrailers = function (this: Internals, headers: IncomingHttpHeaders): void {
  const grpcStatus = headers["grpc-status"];
  const isMalformed = typeof grpcStatus === "string" && !STATUS.test(grpcStatus);
  // The library parses the value with Number(). convert.ts then rejects "malformed", which is no
  // code.
  handleTrailers.call(this, isMalformed ? { ...headers, "grpc-status": "malformed" } : headers);
};
