/** Issuers: creates, lists and deletes the issuers of a namespace. */
import { alreadyExists, failedPrecondition, invalidArgument, notFound } from "../../../src/errors.js";
import type { VouchingIssuer } from "../../../src/gen/portico/auth/log/v1/log.js";
import { type CreateIssuerRequest, type Issuer, IssuersService } from "../../../src/gen/portico/auth/v1/issuers.js";
import { type Context, part, type ServicePart } from "../../../src/rpc/service.js";
import { accountOf, authorOf, checkName } from "../endpoints/checks.js";
import { listNamed } from "../endpoints/list-named.js";
import type { Changes } from "../log/changelog/changes.js";
import { callbackPathOf, checkedSignIn } from "../people/settings.js";
import { issuerUrlProblem } from "./issuer-fetch.js";

/** Maximum number of issuers of a namespace. */
export const MAX_ISSUERS = 100;
const MAX_SECRET = 1_000;

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
      let [ended, people] = [0, 0];
      await changes.make(authorOf(context), ({ trusts, people: table }) => {
        people = table.linksBy(namespace, name).length;
        if (trusts.issuer(namespace, name) === undefined) throw notFound(`no issuer with the name ${name}`);
        ended = trusts.trustsOf(namespace).filter(({ issuer }) => issuer === name).length;
        return [{ $case: "issuerDeleted", value: { namespace, name } }];
      });
      return { trusts: ended, people };
    },
  });
}

async function create(
  changes: Changes,
  { name, url, signIn, clientSecret }: CreateIssuerRequest,
  context: Context,
): Promise<Issuer> {
  const { namespace } = accountOf(context);
  checkIssuer({ name, url });
  if (signIn === undefined && clientSecret !== "") throw invalidArgument("client_secret: needs sign_in.client_id");
  if (clientSecret.length > MAX_SECRET)
    throw invalidArgument(`client_secret: must be at most ${MAX_SECRET} characters`);
  const people = signIn && checkedSignIn(signIn);
  const issuer: VouchingIssuer = { namespace, name, url, created: undefined, signIn: people, clientSecret };
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

/** @throws {StatusError} INVALID_ARGUMENT */
export function checkIssuer({ name, url }: Pick<Issuer, "name" | "url">): void {
  checkName("name", name);
  const problem = issuerUrlProblem(url);
  if (problem !== undefined) throw invalidArgument(`url: ${problem}`);
}

/** Without the secret. */
function shown({ namespace, name, url, created, signIn }: VouchingIssuer): Issuer {
  return { name, url, created, signIn, callbackPath: signIn === undefined ? "" : callbackPathOf({ namespace, name }) };
}
