/** How the events of the authorization server change the state; see fold.ts. */
import type { Timestamp } from "../../../../src/gen/google/protobuf/timestamp.js";
import type { Event, Grant, Token } from "../../../../src/gen/portico/auth/log/v1/log.js";
import type { Change } from "../../../../src/gen/portico/auth/v1/policy.js";
import { timestampMs } from "../../../../src/time.js";
import { tokensRevoked } from "./event-folds.js";
import { MAX_GRANT_ACCESS, MAX_GRANT_SPENT } from "./oauth-table.js";
import type { State } from "./state.js";

type Events = NonNullable<Event["event"]>;
type OAuthCase =
  | "oauthClientCreated"
  | "oauthClientDeleted"
  | "grantCreated"
  | "grantRedeemed"
  | "grantRefreshed"
  | "grantEnded"
  | "grantTokenRevoked"
  | "deviceCodeCreated"
  | "deviceCodeDecided";
type Value<C extends OAuthCase> = Extract<Events, { $case: C }>["value"];

interface OAuthEffect {
  readonly changes?: Change[];
  readonly record?: readonly [action: string, subject: string];
}

type OAuthFold = {
  readonly [C in OAuthCase]: (state: State, value: Value<C>, time: Timestamp | undefined) => OAuthEffect;
};

export const FOLD_OAUTH: OAuthFold = {
  oauthClientCreated: ({ oauth, namespaces, revision }, { client }, created) => {
    if (client === undefined || !namespaces.has(client.namespace) || oauth.client(client.id) !== undefined) return {};
    oauth.putClient({ ...client, created, revision: BigInt(revision) });
    return { record: ["client created", client.id] };
  },
  oauthClientDeleted: ({ oauth }, { namespace, id }) => {
    const grants = oauth.removeClient(namespace, id);
    if (grants === undefined) return {};
    const tokens = grants.flatMap(({ access }) => access.map(({ sha256 }) => sha256));
    return { changes: tokensRevoked(tokens), record: ["client deleted", `${id}: ${grants.length} grants`] };
  },
  grantCreated: (state, { grant }, time) => {
    const account = grant && state.account(grant.namespace, grant.account);
    if (grant === undefined || account === undefined || account.disabled) return {};
    if (state.oauth.grant(grant.id) !== undefined) return {};
    const ended = state.oauth.addGrant(grant, timestampMs(time));
    return { changes: tokensRevoked(ended), record: ["grant created", named(grant)] };
  },
  grantRedeemed: ({ oauth }, { id, access, refresh }, time) => {
    const grant = oauth.grant(id);
    if (grant === undefined || access === undefined) return {};
    const code = grant.code && { ...grant.code, redeemed: true };
    oauth.replaceGrant({ ...grant, code, access: [access], refresh, lastUsed: time });
    return { record: ["grant used first", named(grant)] };
  },
  grantRefreshed: ({ oauth }, { id, access, refresh }, time) => {
    const grant = oauth.grant(id);
    if (grant === undefined || access === undefined) return {};
    const kept: Token[] = grant.access.slice(1 - MAX_GRANT_ACCESS);
    const ended = grant.access.slice(0, grant.access.length - kept.length).map(({ sha256 }) => sha256);
    const spent = [...grant.spent, ...(grant.refresh ? [grant.refresh] : [])].slice(-MAX_GRANT_SPENT);
    oauth.replaceGrant({ ...grant, access: [...kept, access], refresh, spent, lastUsed: time });
    return { changes: tokensRevoked(ended) };
  },
  grantEnded: ({ oauth }, { id, cause }) => {
    const grant = oauth.grant(id);
    if (grant === undefined) return {};
    const changes = tokensRevoked(oauth.removeGrant(id));
    return { changes, record: [cause === "" ? "grant ended" : `grant ended: ${cause}`, named(grant)] };
  },
  grantTokenRevoked: ({ oauth }, { id, sha256 }) => {
    const grant = oauth.grant(id);
    if (grant === undefined) return {};
    oauth.replaceGrant({ ...grant, access: grant.access.filter((token) => !token.sha256.equals(sha256)) });
    return { changes: tokensRevoked([sha256]), record: ["access token of a grant revoked", named(grant)] };
  },
  deviceCodeCreated: ({ oauth }, { code }) => {
    if (code !== undefined && oauth.device(code.sha256) === undefined) oauth.putDevice(code);
    return {};
  },
  deviceCodeDecided: ({ oauth }, { sha256, denied }) => {
    const device = oauth.device(sha256);
    if (device === undefined || device.decided) return {};
    oauth.putDevice({ ...device, decided: true, denied });
    return denied ? { record: ["device refused", device.clientName || device.clientId] } : {};
  },
};

/** Whom the grant is made to, and by which name lists show it. */
function named({ id, account, clientId }: Grant): string {
  return `${id} of ${account} to ${clientId}`;
}
