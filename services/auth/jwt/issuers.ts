/** Issuers: creates, lists and deletes the issuers of a namespace. */
import { alreadyExists, failedPrecondition, invalidArgument, notFound } from "../../../src/errors.js";
import type { VouchingIssuer } from "../../../src/gen/portico/auth/log/v1/log.js";
import { type CreateIssuerRequest, type Issuer, IssuersService } from "../../../src/gen/portico/auth/v1/issuers.js";
import { type Context, part, type ServicePart } from "../../../src/rpc/service.js";
import { accountOf, authorOf, checkName } from "../endpoints/checks.js";
import { listNamed } from "../endpoints/list-named.js";
import type { Changes } from "../log/changelog/changes.js";
import { issuerUrlProblem } from "./issuer-keys.js";

/** Maximum number of issuers of a namespace. */
const MAX_ISSUERS = 100;

/** The gRPC service portico.auth.v1.Issuers. */
export function issuers({ changes }: { changes: Changes }): ServicePart {
  return part(IssuersService, {
    list: async (_, context) => {
      const issuers = await listNamed(changes, context, (state, namespace) =>
        state.trusts.issuersOf(namespace).map(shown),
      );
      return { issuers };
    },
    create: (request, context) => create(changes, request, context),
    delete: async ({ name }, context) => {
      const { namespace } = accountOf(context);
      let ended = 0;
      await changes.make(authorOf(context), ({ trusts }) => {
        if (trusts.issuer(namespace, name) === undefined) throw notFound(`no issuer with the name ${name}`);
        ended = trusts.trustsOf(namespace).filter(({ issuer }) => issuer === name).length;
        return [{ $case: "issuerDeleted", value: { namespace, name } }];
      });
      return { trusts: ended };
    },
  });
}

async function create(changes: Changes, { name, url }: CreateIssuerRequest, context: Context): Promise<Issuer> {
  const { namespace } = accountOf(context);
  checkName("name", name);
  const problem = issuerUrlProblem(url);
  if (problem !== undefined) throw invalidArgument(`url: ${problem}`);
  const issuer: VouchingIssuer = { namespace, name, url, created: undefined };
  await changes.issue(authorOf(context), ({ trusts }) => {
    if (trusts.issuer(namespace, name) !== undefined) {
      throw alreadyExists(`an issuer with the name ${name} exists already`);
    }
    if (trusts.issuersOf(namespace).length >= MAX_ISSUERS) {
      throw failedPrecondition(`the namespace has ${MAX_ISSUERS} issuers, the most it may; delete one`);
    }
    return [{ $case: "issuerCreated", value: { issuer } }];
  });
  return shown(changes.state.trusts.issuer(namespace, name) ?? issuer);
}

function shown({ name, url, created }: VouchingIssuer): Issuer {
  return { name, url, created };
}
