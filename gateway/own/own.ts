/** What the gateway answers itself, at paths that are no service's. */

export interface OwnAnswer {
  readonly status: number;
  readonly body: string | Uint8Array;
  /** Default `application/json`. */
  readonly contentType?: string;
  /** Name, value, name, value … ; without a Cache-Control the answer may not be kept. */
  readonly headers?: readonly string[];
}

export interface OwnPaths {
  /**
   * @param path without the query
   * @param headers as they were sent: name, value, name, value …
   * @returns undefined at a path that is not one of these
   */
  answer(path: string, headers: readonly string[]): OwnAnswer | undefined | Promise<OwnAnswer>;
}
