/**
 * The HTTP contract of the gateway, as data: one case of test/gateway/contract.test.ts. Each is run twice: against the handler as a function, and
 * as bytes over a socket; those with `raw` over the socket only, as they are no whole request.
 *
 * The deployment: namespace `default` has the account ada (scope staff) and the rules
 *
 *     default   <public>  GRANTED  *:*:*                      0
 *     closed    <public>  DENIED   service:probe:closed.*    10
 *     members   <public>  DENIED   service:probe:members.*   10
 *     staff     staff     GRANTED  service:probe:members.*   20
 *
 * namespace `empty` has no rule and the account admin. Services are helloworld, probe (test/gateway/probe.proto), and
 * gone, which has helloworld's endpoints but cannot be reached.
 */
export interface HttpCase {
  readonly title: string;
  /** Default GET. */
  readonly method?: string;
  readonly target?: string;
  /** Name and value; `{ada}` stands for a token of ada, `{stranger}` for one that nobody issued, `{empty}` for one of
   * namespace empty, `{gateway}` for the gateway's enrolment token. */
  readonly headers?: readonly (readonly [name: string, value: string])[];
  /** Sent with Content-Length, and as application/json unless `headers` has a Content-Type. */
  readonly body?: string;
  /** The bytes to send instead, one character an octet. */
  readonly raw?: string;
  readonly status: number;
  /** The `Id` of an error; default `gateway` without `calls`, else the service of `calls`. */
  readonly id?: string;
  /** The whole body. */
  readonly exactly?: string;
  /** The `Detail` of an error. */
  readonly detail?: string | RegExp;
  /** Members of the answer, each whole; of an error, its `Details`. */
  readonly response?: unknown;
  /** Headers of the answer; undefined for one that it must not have. */
  readonly has?: Readonly<Record<string, string | RegExp | undefined>>;
  /** The resource that is both decided on and called; `decides` where the call then is refused. */
  readonly calls?: string;
  readonly decides?: string;
}

export const HELLO = "service:helloworld:Helloworld.Call";
export const PROBE = "service:probe:Probe.Call";
export const TELL = "service:probe:Probe.Tell";
export const ADA = ["Authorization", "Bearer {ada}"] as const;
export const GREETING = { message: "Hello Ada", msg: "Hello Ada" };
export const NAME = '{"name":"Ada"}';
