/** Grants: lists and ends what people have granted to clients. */
import { AdminPart, administers } from "../../../src/contract/admin-parts.js";
import { notFound } from "../../../src/errors.js";
import type { Grant as StoredGrant } from "../../../src/gen/portico/auth/log/v1/log.js";
import { Grant, GrantsService } from "../../../src/gen/portico/auth/v1/grants.js";
import { part, type ServicePart } from "../../../src/rpc/service.js";
import { timestampMs } from "../../../src/time.js";
import { accountOf, authorOf } from "../endpoints/checks.js";
import { type PageItems, pageOf } from "../endpoints/page.js";
import type { Changes } from "../log/changelog/changes.js";
import { isMcpOnly, scopesOf } from "./scopes.js";

/** The gRPC service portico.auth.v1.Grants. */
export function grants({ changes }: { changes: Changes }): ServicePart {
  return part(GrantsService, {
    list: async (request, context) => {
      const caller = accountOf(context);
      await changes.sync();
      const { state, now } = changes;
      const accounts = administers(caller, AdminPart.KEYS)
        ? Array.from(state.accountsFrom(caller.namespace), ({ name }) => name)
        : [caller.account];
      const all = accounts.flatMap((account) => state.oauth.grantsOf(caller.namespace, account));
      const { items, nextPageToken } = pageOf(request, listOf(all.filter((grant) => isInForce(grant, now))));
      return { grants: items.map(shown), nextPageToken };
    },
    delete: async ({ id }, context) => {
      const caller = accountOf(context);
      await changes.make(authorOf(context), ({ oauth }) => {
        const grant = oauth.grant(id);
        const isVisible =
          grant?.namespace === caller.namespace &&
          (administers(caller, AdminPart.KEYS) || grant.account === caller.account);
        if (!isVisible) throw notFound(`no grant with the ID ${id}`);
        return [{ $case: "grantEnded", value: { id, cause: "" } }];
      });
      return {};
    },
  });
}

/** The grants by account and age. */
function listOf(all: readonly StoredGrant[]): PageItems<StoredGrant> {
  const sorted = all.map((grant) => ({ grant, place: placeOf(grant) })).sort((a, b) => (a.place < b.place ? -1 : 1));
  return {
    after: (position) => sorted.filter(({ place }) => place > (position?.[0] ?? "")).map(({ grant }) => grant),
    positionOf: (grant) => [placeOf(grant)],
    bytesOf: (grant) => Grant.encode(shown(grant)).finish().length,
  };
}

function placeOf({ account, created, id }: StoredGrant): string {
  return `${account} ${String(timestampMs(created)).padStart(15, "0")} ${id}`;
}

/** Whether tokens of it are valid, or its client can still get some. */
function isInForce({ expires, code, refresh }: StoredGrant, now: number): boolean {
  const end = refresh === undefined ? code?.expires : expires;
  return timestampMs(expires) > now && timestampMs(end) > now;
}

function shown({ id, account, clientId, clientName, resources, created, expires, lastUsed }: StoredGrant): Grant {
  const mcpOnly = isMcpOnly(resources);
  return { id, account, clientId, clientName, resources: scopesOf(resources), mcpOnly, created, expires, lastUsed };
}
