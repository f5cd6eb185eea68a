/** Clients: registers, lists and deletes the clients of the authorization server. */
import { redirectUriProblem } from "../../../src/address/redirect-uri.js";
import { createToken, hashToken } from "../../../src/call/token.js";
import { qualifiedName } from "../../../src/contract/names.js";
import { alreadyExists, failedPrecondition, invalidArgument, notFound } from "../../../src/errors.js";
import type { OAuthClient } from "../../../src/gen/portico/auth/log/v1/log.js";
import {
  type Client,
  ClientsService,
  type CreateClientRequest,
  type CreateClientResponse,
} from "../../../src/gen/portico/auth/v1/clients.js";
import { type Context, part, type ServicePart } from "../../../src/rpc/service.js";
import { accountOf, authorOf, checkName } from "../endpoints/checks.js";
import { listNamed } from "../endpoints/list-named.js";
import type { Changes } from "../log/changelog/changes.js";

/** Maximum number of clients of a namespace, and of redirect URIs of a client. */
const MAX_CLIENTS = 1_000;
const MAX_REDIRECT_URIS = 20;

/** The gRPC service portico.auth.v1.Clients. */
export function clients({ changes }: { changes: Changes }): ServicePart {
  return part(ClientsService, {
    list: async (_, context) => {
      const clients = await listNamed(changes, context, (state, namespace) =>
        state.oauth.clientsOf(namespace).map(shown),
      );
      return { clients };
    },
    create: (request, context) => create(changes, request, context),
    delete: async ({ id }, context) => {
      const { namespace } = accountOf(context);
      let grants = 0;
      await changes.make(authorOf(context), ({ oauth }) => {
        grants = oauth.grantsTo(namespace, id).length;
        if (oauth.client(id)?.namespace !== namespace && grants === 0) throw notFound(`no client with the ID ${id}`);
        return [{ $case: "oauthClientDeleted", value: { namespace, id } }];
      });
      return { grants };
    },
  });
}

async function create(
  changes: Changes,
  { name, redirectUris, confidential }: CreateClientRequest,
  context: Context,
): Promise<CreateClientResponse> {
  const { namespace } = accountOf(context);
  checkName("name", name);
  if (name.startsWith("portico")) throw invalidArgument("name: must not begin with portico");
  if (redirectUris.length > MAX_REDIRECT_URIS) {
    throw invalidArgument(`redirect_uris: must be at most ${MAX_REDIRECT_URIS}`);
  }
  for (const [index, uri] of redirectUris.entries()) {
    const problem = redirectUriProblem(uri);
    if (problem !== undefined) throw invalidArgument(`redirect_uris[${index}]: ${problem}`);
  }
  const id = qualifiedName({ namespace, name });
  const secret = confidential ? createToken("clientSecret") : "";
  const secretSha256 = confidential ? hashToken(secret) : Buffer.alloc(0);
  const unset = { created: undefined, revision: 0n };
  const client: OAuthClient = { namespace, id, name, redirectUris, secretSha256, ...unset };
  await changes.issue(authorOf(context), ({ oauth }) => {
    if (oauth.client(id) !== undefined) throw alreadyExists(`a client with the name ${name} exists already`);
    if (oauth.clientsOf(namespace).length >= MAX_CLIENTS) {
      throw failedPrecondition(`the namespace has ${MAX_CLIENTS} clients, the most it may; delete one`);
    }
    return [{ $case: "oauthClientCreated", value: { client } }];
  });
  return { client: shown(changes.state.oauth.client(id) ?? client), secret };
}

function shown({ id, name, redirectUris, secretSha256, created }: OAuthClient): Client {
  return { id, name, redirectUris, confidential: secretSha256.length > 0, created };
}
