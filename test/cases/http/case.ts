/**
 * The HTTP contract of the gateway, as data: one case of test/gateway/contract.test.ts. Each case
 * runs twice: against the handler as a function, and as bytes over a socket. A case with `raw` runs
 * only over the socket, because it is not a whole request.
 *
 * The deployment: namespace `default` has the account ada (scope staff) and the rules
 *
 *     default   <public>  GRANTED  *:*:*                      0
 *     closed    <public>  DENIED   service:probe:closed.*    10
 *     members   <public>  DENIED   service:probe:members.*   10
 *     staff     staff     GRANTED  service:probe:members.*   20
 *
 * Namespace `empty` has no rule and the account admin. The services are helloworld, probe
 * (test/gateway/probe.proto), and gone, which has the endpoints of helloworld but cannot be
 * reached.
 */
export interface HttpCase {
  readonly title: string;
  /** GET by default. */
  readonly method?: string;
  readonly target?: string;
  /**
   * Name and value. `{ada}` stands for a token of ada, `{stranger}` for a token that was never
   * issued, `{empty}` for a token of namespace empty, and `{gateway}` for the gateway's enrolment
   * token.
   */
  readonly headers?: readonly (readonly [name: string, value: string])[];
  /** Sent with Content-Length. Sent as application/json, unless `headers` has a Content-Type. */
  readonly body?: string;
  /** The bytes to send instead. Each character is an octet. */
  readonly raw?: string;
  readonly status: number;
  /** The `Id` of an error. The default is the service of `calls`, or `gateway` without `calls`. */
  readonly id?: string;
  /** The whole body of the response. */
  readonly exactly?: string;
  /** The `Detail` of an error. */
  readonly detail?: string | RegExp;
  /** Members of the response, each compared as a whole. For an error: its `Details`. */
  readonly response?: unknown;
  /** Headers of the response; undefined for a header that must be absent. */
  readonly has?: Readonly<Record<string, string | RegExp | undefined>>;
  /**
   * The resource that is decided on and then called. `decides` is for a call that is refused after
   * the decision.
   */
  readonly calls?: string;
  readonly decides?: string;
}

export const HELLO = "service:helloworld:Helloworld.Call";
export const PROBE = "service:probe:Probe.Call";
export const TELL = "service:probe:Probe.Tell";
export const ADA = ["Authorization", "Bearer {ada}"] as const;
/** The challenge of a 401 (RFC 9728 §5.1). */
export const BEARER = 'Bearer resource_metadata="http://portico.test/.well-known/oauth-protected-resource"';
export const GREETING = { message: "Hello Ada", msg: "Hello Ada" };
export const NAME = '{"name":"Ada"}';
