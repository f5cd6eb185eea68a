/**
 * `/console/attention.json`: what an operator must mend of this process and its connections, for
 * the overview of the console. Only administrators of `default` may read it.
 */
import type { Guard } from "../../src/call/admission.js";
import { DEFAULT_NAMESPACE } from "../../src/contract/names.js";
import { Code, permissionDenied, StatusError } from "../../src/errors.js";
import type { Routes } from "../catalog/routes.js";
import { checkUnambiguous } from "../http/headers.js";
import type { BareResponse, BuiltInRoutes, GatewayRequestHead } from "../http/message.js";
import { readCredentials } from "../stages/credentials.js";

/** Something that needs attention. */
export interface Problem {
  /** What it is about: `The certificate of PORTICO_HTTP_TLS_CERT`. */
  readonly name: string;
  /** What is wrong, and what to do. It goes on after the name. */
  readonly text: string;
}

interface AttentionOptions {
  readonly routes: Routes;
  readonly guard: Pick<Guard, "admit">;
  /** Called for each request. */
  readonly problems: () => readonly Problem[];
}

export class AttentionRoutes implements BuiltInRoutes {
  readonly roots: BuiltInRoutes["roots"] = ["/console"];
  readonly #options: AttentionOptions;

  constructor(options: AttentionOptions) {
    this.#options = options;
  }

  reply(path: string, request: GatewayRequestHead): Promise<BareResponse> | undefined {
    return path === "/console/attention.json" ? this.#problems(request) : undefined;
  }

  /** @throws {StatusError} (rejects) when `registry:Services.List` would refuse the caller */
  async #problems(request: GatewayRequestHead): Promise<BareResponse> {
    checkUnambiguous(request.headers);
    const { routes, guard, problems } = this.#options;
    const list = routes.find("/registry/services/list");
    if (list === undefined) throw new StatusError(Code.UNAVAILABLE, "The catalog of services has not arrived yet");
    const { namespace } = await guard.admit(readCredentials(request, { versioned: true }), list.target.endpoint);
    if (namespace !== DEFAULT_NAMESPACE) throw permissionDenied("Only administrators of default may read this");
    return { status: 200, body: JSON.stringify({ problems: problems() }) };
  }
}
