/** What the authority knows about a client, and whether a request comes from it. */
import { timingSafeEqual } from "node:crypto";
import { hashToken } from "../../../src/call/token.js";
import { CLI_CLIENT } from "../../../src/contract/names.js";
import { isDocumentUrl } from "../../../src/contract/scope.js";
import type { State } from "../log/state/state.js";

/** How a client says who it is. */
export interface ClientCredentials {
  readonly clientId: string;
  /** Empty for a public client. */
  readonly clientSecret: string;
}

export interface KnownClient {
  readonly id: string;
  readonly name: string;
  /** The namespace whose accounts may consent; "" for any. */
  readonly namespace: string;
  readonly redirectUris: readonly string[];
}

const CLI: KnownClient = {
  id: CLI_CLIENT,
  name: "Portico's command line",
  namespace: "",
  redirectUris: ["http://127.0.0.1/callback", "http://[::1]/callback"],
};

/** The registered client with the ID; undefined if there is none. */
export function registeredClient({ oauth }: State, id: string): KnownClient | undefined {
  return id === CLI_CLIENT ? CLI : oauth.client(id);
}

/**
 * The revision that registered the client; 0 for the command line's, and for one with a metadata
 * document.
 */
export function revisionOf({ oauth }: State, id: string): number {
  return Number(oauth.client(id)?.revision ?? 0n);
}

/** Whether the credentials are the client's: a secret exactly where it has one. */
export function authenticates({ oauth }: State, { clientId: id, clientSecret: secret }: ClientCredentials): boolean {
  if (id === CLI_CLIENT || isDocumentUrl(id)) return secret === "";
  const client = oauth.client(id);
  if (client === undefined) return false;
  if (client.secretSha256.length === 0) return secret === "";
  return timingSafeEqual(hashToken(secret), client.secretSha256);
}
