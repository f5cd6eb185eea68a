/** The authority, as the authorization server's endpoints call it. */
import type { Channel } from "../../../src/rpc/channel.js";
import { type CallOptions, unary } from "../../../src/rpc/client.js";
import type { MethodDefinition } from "../../../src/rpc/definition.js";

export interface OAuthAuthorityOptions {
  readonly channel: Channel;
  readonly metadata?: CallOptions["metadata"];
  readonly admission?: CallOptions["admission"];
}

/** How long an authority may take, in milliseconds: a sign-in may wait for others' passwords. */
const TIMEOUT_MS = 20_000;

/** Calls the authority with the gateway's credentials. */
export class OAuthAuthority {
  readonly #options: OAuthAuthorityOptions;

  constructor(options: OAuthAuthorityOptions) {
    this.#options = options;
  }

  /** @throws {StatusError} (rejects) */
  call<Request, Response>(
    method: MethodDefinition<Request, Response> & { readonly requestStream: false; readonly responseStream: false },
    request: NoInfer<Request>,
  ): Promise<Response> {
    const { channel, metadata, admission } = this.#options;
    const deadlineMonotonicMs = performance.now() + TIMEOUT_MS;
    return unary(channel, method, request, { metadata, admission, deadlineMonotonicMs });
  }
}
