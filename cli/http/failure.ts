/**
 * Failed calls: the gateway's error, as text for people and as JSON for programs. Also addresses
 * that cannot be reached, or where another server than Portico responds.
 */
import { type ErrorObject, readError, readStreamError } from "../../src/api/errors.js";
import { CommandError, type Exit } from "../terminal/exit.js";

/** The HTTP status when an endpoint that takes a stream of messages is called by plain HTTP. */
export const TAKES_STREAM = 426;

/** A hint for the user after a failed call. */
export interface Hint {
  readonly text: string;
  readonly exit: Exit;
}

interface FailedResponse {
  /** HTTP status. */
  readonly status: number;
  readonly body: string;
  /** `X-Request-Id` of the response. With it an operator finds the call in the log. */
  readonly requestId: string | undefined;
}

/** An error object, or the members that replace it if another server than Portico responded. */
type ErrorMembers = Partial<ErrorObject> & Pick<ErrorObject, "Code" | "Detail">;

/** Messages of google/rpc/error_details.proto that a sentence of Portico may repeat, as JSON. */
interface GoogleDetail {
  readonly "@type": string;
  readonly violations: unknown;
}

const RETRY_INFO = "type.googleapis.com/google.rpc.RetryInfo";
const QUOTA_FAILURE = "type.googleapis.com/google.rpc.QuotaFailure";

/**
 * The gateway's error response to a call. The message is its `Detail`, and what its `Details` say
 * beyond it.
 */
export class CallFailure extends CommandError {
  /** HTTP status. */
  readonly status: number;
  /**
   * The service that was called. `gateway` if none was found, undefined if the response was not
   * from Portico.
   */
  readonly service: string | undefined;
  readonly #object: ErrorMembers;
  readonly #requestId: string | undefined;
  readonly #hint: Hint | undefined;

  constructor({ status, body, requestId }: FailedResponse, hint?: Hint) {
    const object: ErrorMembers = readError(body) ?? {
      Code: status,
      Detail: "The response is not Portico's. Is the address right?",
    };
    super([object.Detail, ...furtherDetails(object), ...(hint ? [hint.text] : [])].join("\n"), hint?.exit);
    this.status = status;
    this.service = object.Id;
    this.#object = object;
    this.#requestId = requestId;
    this.#hint = hint;
  }

  /** The same failure with a text added to its detail, and one before it. */
  with(more: string, before = ""): CallFailure {
    const body = JSON.stringify({ ...this.#object, Detail: before + this.#object.Detail + more });
    return new CallFailure({ status: this.status, body, requestId: this.#requestId }, this.#hint);
  }

  override get trace(): string {
    const request = this.#requestId === undefined ? "" : `, request ${this.#requestId}`;
    return `HTTP ${this.status}${request}`;
  }

  override toJSON(): object {
    return {
      ...this.#object,
      ...(this.#requestId !== undefined && { RequestId: this.#requestId }),
      ...(this.#hint && { Hint: this.#hint.text }),
      Exit: this.exit,
    };
  }
}

/** The details that say more than the sentence, as JSON. */
function furtherDetails({ Detail, Details = [] }: ErrorMembers): string[] {
  const further = Details.filter((detail) => !isSaid(detail as Partial<GoogleDetail> | null, Detail));
  return further.length === 0 ? [] : [JSON.stringify(further, null, 2)];
}

/** Whether the sentence says it: when to try again, and which limit refuses. */
function isSaid(detail: Partial<GoogleDetail> | null, sentence: string): boolean {
  if (detail?.["@type"] === RETRY_INFO) return sentence.includes("; try again in ");
  const { violations } = detail?.["@type"] === QUOTA_FAILURE ? detail : {};
  return Array.isArray(violations) && violations.every((one) => one?.description && sentence.includes(one.description));
}

/** The failure in the last line of a stream (docs/streams.md), or undefined for a message. */
export function failureOfLine(line: string, requestId: string | undefined): CallFailure | undefined {
  return failureOf(readStreamError(line), requestId);
}

/**
 * The failure in the last frame of a WebSocket, which is the error object itself, or undefined for
 * a message.
 */
export function failureOfFrame(frame: string, requestId: string | undefined): CallFailure | undefined {
  return failureOf(frame.startsWith('{"Id":') ? readError(frame) : undefined, requestId);
}

function failureOf(error: ErrorObject | undefined, requestId: string | undefined): CallFailure | undefined {
  if (error === undefined) return undefined;
  return new CallFailure({ status: error.Code, body: JSON.stringify(error), requestId });
}

/** Host names of this computer. */
export const LOOPBACK: readonly string[] = ["127.0.0.1", "[::1]", "localhost"];

/** Maximum time of the handshake, in milliseconds. */
const PROBE_TIMEOUT_MS = 2_000;

/** The error of a connection, with the bytes that could not be parsed as HTTP/1.1. */
interface ConnectionError extends NodeJS.ErrnoException {
  readonly rawPacket?: Buffer;
}

/**
 * Converts the error of a connection to an error for the user. If the other end closed a plain
 * connection without a response, a TLS handshake is tried, to find out whether the server expects
 * TLS.
 */
export async function toCommandError(base: URL, error: ConnectionError): Promise<CommandError> {
  const { code = "" } = error;
  if (code === "ECONNREFUSED") {
    const advice = LOOPBACK.includes(base.hostname) ? "Start it with: portico server" : "Is the address right?";
    return new CommandError(`Portico does not respond at ${base.origin}. ${advice}`);
  }
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") {
    return new CommandError(`There is no host ${base.hostname}. Is the address ${base.origin} right?`);
  }
  if (NOT_TLS.has(code)) return isPlain(base);
  if (NOT_TRUSTED.test(code)) return notTrusted(base, error);
  if (code === CERTIFICATE_REQUIRED) return wantsCertificate(base);
  if (base.protocol === "http:" && (await speaksTls(base, error))) return isTls(base);
  if (code.startsWith("HPE_")) return notHttp(base, error);
  return new CommandError(`The call to ${base.origin} broke off: ${error.message}`);
}

/** OpenSSL's error codes for a response that was not a TLS record. */
const NOT_TLS: ReadonlySet<string> = new Set([
  "EPROTO",
  "ERR_SSL_WRONG_VERSION_NUMBER",
  "ERR_SSL_PACKET_LENGTH_TOO_LONG",
]);

const NOT_TRUSTED = /^(?:CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|ERR_TLS_CERT_)/;

function isPlain(base: URL): CommandError {
  const plain = base.origin.replace(/^https/, "http");
  return new CommandError(`${base.host} does not speak TLS. If it speaks plain HTTP, the address is ${plain}`);
}

function isTls(base: URL): CommandError {
  const encrypted = base.origin.replace(/^http/, "https");
  return new CommandError(`${base.host} speaks TLS, not plain HTTP. The address is ${encrypted}`);
}

function notTrusted(base: URL, { code, message }: ConnectionError): CommandError {
  const advice =
    code === "CERT_HAS_EXPIRED" || code === "ERR_TLS_CERT_ALTNAME_INVALID"
      ? ""
      : " Where its authority is your own, name that certificate's file in NODE_EXTRA_CA_CERTS.";
  return new CommandError(`The certificate of ${base.host} is not trusted: ${message}.${advice}`);
}

/**
 * OpenSSL's code for the alert of a server that requires a client certificate (RFC 8446, section
 * 6.2).
 */
const CERTIFICATE_REQUIRED = "ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED";

function wantsCertificate(base: URL): CommandError {
  return new CommandError(
    `${base.host} wants a certificate of its clients (PORTICO_HTTP_TLS_CLIENT_CA), and the command line has none. Use a gateway that wants none`,
  );
}

/**
 * The first frame of an HTTP/2 server: SETTINGS on stream 0. Portico's gRPC port sends it, for
 * example.
 */
const HTTP2_SETTINGS = /^00....04..00000000/;

function notHttp(base: URL, { rawPacket }: ConnectionError): CommandError {
  const isHttp2 = HTTP2_SETTINGS.test(rawPacket?.subarray(0, 9).toString("hex") ?? "");
  const what = isHttp2 ? "answers in HTTP/2 only: it may be the gRPC port" : "does not respond in HTTP/1.1";
  return new CommandError(`${base.host} ${what}. The address must be the gateway's, PORTICO_HTTP`);
}

const TLS_ALERT = 0x15;

/** Some servers respond to plain HTTP with a TLS alert, but most just close the connection. */
async function speaksTls({ hostname, port }: URL, { code, rawPacket }: ConnectionError): Promise<boolean> {
  if (rawPacket?.[0] === TLS_ALERT) return true;
  if (code !== "ECONNRESET") return false;
  const { connect } = await import("node:tls");
  return new Promise((resolve) => {
    // The certificate is not checked, because nothing but the handshake is sent.
    const host = hostname.replace(/^\[|\]$/g, "");
    const socket = connect({ host, port: Number(port || 80), rejectUnauthorized: false });
    const end = (result: boolean) => {
      socket.destroy();
      resolve(result);
    };
    socket.setTimeout(PROBE_TIMEOUT_MS, () => end(false));
    socket.once("secureConnect", () => end(true)).on("error", () => end(false));
    socket.once("close", () => end(false));
  });
}
