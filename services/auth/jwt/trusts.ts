/** Trusts: creates, lists and deletes the trusts of a namespace, and revokes single JWTs. */
import { alreadyExists, failedPrecondition, invalidArgument, notFound } from "../../../src/errors.js";
import type { AccountTrust } from "../../../src/gen/portico/auth/log/v1/log.js";
import { type CreateTrustRequest, type Trust, TrustsService } from "../../../src/gen/portico/auth/v1/trusts.js";
import { type Context, part, type ServicePart } from "../../../src/rpc/service.js";
import { accountOf, authorOf, checkName } from "../endpoints/checks.js";
import { listNamed } from "../endpoints/list-named.js";
import type { Changes } from "../log/changelog/changes.js";
import type { LogEvent } from "../log/changelog/decide.js";
import type { State } from "../log/state/state.js";
import { asRevoked } from "../log/state/trust-table.js";
import { subjectProblem } from "./match.js";

/** Maximum number of trusts of a namespace. */
const MAX_TRUSTS = 1_000;
const MAX_AUDIENCE = 500;

/** The gRPC service portico.auth.v1.Trusts. */
export function trusts({ changes }: { changes: Changes }): ServicePart {
  return part(TrustsService, {
    list: async (_, context) => {
      const trusts = await listNamed(changes, context, (state, namespace) =>
        state.trusts.trustsOf(namespace).map(shown),
      );
      return { trusts };
    },
    create: (request, context) => create(changes, request, context),
    delete: async ({ name }, context) => {
      const { namespace } = accountOf(context);
      await changes.make(authorOf(context), (state) => {
        if (state.trusts.trust(namespace, name) === undefined) throw notFound(`no trust with the name ${name}`);
        return [{ $case: "trustDeleted", value: { namespace, name } }];
      });
      return {};
    },
    revokeToken: async ({ jti }, context) => {
      const { namespace } = accountOf(context);
      if (jti === "") throw invalidArgument("jti: must not be empty");
      let events: LogEvent[] = [];
      await changes.make(authorOf(context), (state) => {
        const tokens = state.trusts.tokensWithJti(namespace, jti).filter(({ revoked }) => !revoked);
        if (tokens.length === 0) throw notFound(`no JWT with this jti was used, or it was revoked before: ${jti}`);
        events = tokens.map((token) => ({ $case: "trustTokenSet", value: { token: asRevoked(token) } }));
        return events;
      });
      return { tokens: events.length };
    },
  });
}

async function create(changes: Changes, request: CreateTrustRequest, context: Context): Promise<Trust> {
  const { namespace } = accountOf(context);
  const { name, issuer, audience, subject, account, bearer } = request;
  checkTrust(request);
  const trust: AccountTrust = { namespace, name, issuer, audience, subject, account, bearer, created: undefined };
  await changes.issue(authorOf(context), (state) => {
    checkFits(state, trust);
    return [{ $case: "trustCreated", value: { trust } }];
  });
  return shown(changes.state.trusts.trust(namespace, name) ?? trust);
}

/** @throws {StatusError} INVALID_ARGUMENT */
export function checkTrust({ name, audience, subject }: Pick<Trust, "name" | "audience" | "subject">): void {
  checkName("name", name);
  if (audience.length < 1 || audience.length > MAX_AUDIENCE) {
    throw invalidArgument(`audience: must have 1 to ${MAX_AUDIENCE} characters`);
  }
  const problem = subjectProblem(subject);
  if (problem !== undefined) throw invalidArgument(`subject: ${problem}`);
}

/** @throws {StatusError} if the trust has no issuer or account, or another one is in its way */
export function checkFits(state: State, { namespace, name, issuer, audience, subject, account }: AccountTrust): void {
  const { trusts } = state;
  const vouching = trusts.issuer(namespace, issuer);
  if (vouching === undefined) throw notFound(`no issuer with the name ${issuer}`);
  if (state.account(namespace, account) === undefined) throw notFound(`no account with the name ${account}`);
  if (trusts.trust(namespace, name) !== undefined) throw alreadyExists(`a trust with the name ${name} exists already`);
  if (trusts.trustsOf(namespace).length >= MAX_TRUSTS) {
    throw failedPrecondition(`the namespace has ${MAX_TRUSTS} trusts, the most it may; delete one`);
  }
  for (const other of trusts.trustsAt(vouching.url)) {
    if (other.audience !== audience) continue;
    if (other.namespace !== namespace) {
      throw alreadyExists(
        `another namespace has trusts in this issuer with the audience ${audience}; choose one of your own`,
      );
    }
    if (other.subject === subject) throw alreadyExists(`the trust ${other.name} has the same audience and subject`);
  }
}

function shown({ name, issuer, audience, subject, account, bearer, created }: AccountTrust): Trust {
  return { name, issuer, audience, subject, account, bearer, created };
}
