/**
 * `/oauth/authorize` (RFC 6749 §4.1), `/oauth/consent` and `/device` (RFC 8628 §3.3): the pages on
 * which a person signs in and consents.
 *
 * Nothing is redirected before the redirect URI is known to be the client's (RFC 9700 §4.11). The
 * metadata document of a client is fetched only after the person has signed in. The request goes
 * from page to page sealed by the authority; there is no cookie, so no other page can send it.
 */
import { isRegistered, redirectUriProblem } from "../../../src/address/redirect-uri.js";
import type { Guard } from "../../../src/call/admission.js";
import { DEFAULT_NAMESPACE, MAX_NAME } from "../../../src/contract/names.js";
import { isDocumentUrl } from "../../../src/contract/scope.js";
import {
  type AuthorizationRequest,
  type GetClientResponse_Client,
  OAuthService,
  type SignInResponse,
} from "../../../src/gen/portico/auth/v1/oauth.js";
import type { Routes } from "../../catalog/routes.js";
import type { BareResponse, GatewayRequest, GatewayRequestHead } from "../../http/message.js";
import type { ProtectedResource } from "../../http/protected-resource.js";
import { queryOf } from "../../http/target.js";
import type { OAuthAuthority } from "./authority.js";
import { DocumentError, type Documents } from "./documents.js";
import { Parameters, readForm } from "./form.js";
import { IssuerPages } from "./issuer-pages.js";
import { EVERYTHING, offersFor } from "./offers.js";
import { errorPage, redirect } from "./page.js";
import { originAndId, readRequest, redirectTo } from "./request.js";
import { askerOf, consentPage, donePage, LIFETIMES, signInPage } from "./sign-in-page.js";

export interface AuthorizeOptions {
  readonly authority: OAuthAuthority;
  readonly resource: ProtectedResource;
  readonly documents: Documents;
  readonly routes: Routes;
  readonly guard: Pick<Guard, "allows">;
}

/** A request whose client is known, as far as it can be before the person has signed in. */
interface Checked {
  readonly query: Parameters;
  readonly clientId: string;
  readonly redirectUri: string;
  /** Undefined for a client with a metadata document. */
  readonly client: GetClientResponse_Client | undefined;
}

export class AuthorizationPages {
  readonly #options: AuthorizeOptions;
  readonly #issuers: IssuerPages;

  constructor(options: AuthorizeOptions) {
    this.#options = options;
    this.#issuers = new IssuerPages(options);
  }

  /** GET `/oauth/authorize`: the sign-in page. */
  async authorize(request: GatewayRequestHead): Promise<BareResponse> {
    const checked = await this.#check(request);
    if ("status" in checked) return checked;
    // Only then may an error go to the client. A metadata document has not been read yet.
    const problem = readRequest(checked.query, this.#originOf(request));
    if ("error" in problem && checked.client !== undefined) return this.#refuse(request, checked, problem);
    return this.#signIn(request, checked);
  }

  /** POST `/oauth/authorize`: account and password. */
  async signIn(request: GatewayRequest): Promise<BareResponse> {
    const checked = await this.#check(request);
    if ("status" in checked) return checked;
    const asked = readRequest(checked.query, this.#originOf(request));
    if ("error" in asked && checked.client !== undefined) return this.#refuse(request, checked, asked);
    const form = await readForm(request);
    const namespace = checked.client?.namespace || form.get("namespace") || DEFAULT_NAMESPACE;
    const account = form.get("account");
    const signedIn = await this.#options.authority.call(OAuthService.signIn, {
      ...{ namespace, account, password: form.get("password"), userCode: "" },
      // A request that is refused below must not show whether the password is right.
      request: "error" in asked ? { ...NO_REQUEST, clientId: checked.clientId } : asked,
      ...originAndId(request),
    });
    if (signedIn.error !== "") return this.#signIn(request, checked, { namespace, account, signedIn });
    const refused = await this.#checkDocument(checked);
    if (refused !== undefined) return refused;
    if ("error" in asked) return this.#refuse(request, checked, asked);
    return this.#consent(signedIn);
  }

  /** GET `/oauth/sign-in/<issuer>`: goes on to the issuer. */
  async signInAt(issuer: string, request: GatewayRequestHead): Promise<BareResponse> {
    const query = new Parameters(queryOf(request.target));
    if (!query.has("client_id")) return this.#issuers.begin(issuer, { userCode: query.get("user_code") }, request);
    const checked = await this.#check(request);
    if ("status" in checked) return checked;
    const asked = readRequest(checked.query, this.#originOf(request));
    if (!("error" in asked)) return this.#issuers.begin(issuer, { request: asked }, request);
    // A metadata document has not been read yet, so nothing may go to its client.
    if (checked.client === undefined) return errorPage(400, `The request is refused: ${asked.description}.`);
    return this.#refuse(request, checked, asked);
  }

  /** GET `/oauth/callback/<issuer>`: the person comes back. */
  async callback(issuer: string, request: GatewayRequestHead): Promise<BareResponse> {
    const signedIn = await this.#issuers.end(issuer, request);
    if ("status" in signedIn) return signedIn;
    if (signedIn.isPage) return this.#issuers.backToPage(issuer, signedIn.sessionSecret);
    const refused = signedIn.request && (await this.#checkDocument(signedIn.request));
    return this.#issuers.withoutCookie(issuer, refused ?? (await this.#consent(signedIn)));
  }

  /** POST `/oauth/consent`: the decision. */
  async consent(request: GatewayRequest): Promise<BareResponse> {
    const form = await readForm(request);
    const sealed = form.get("request");
    const signedIn = await this.#options.authority.call(OAuthService.openRequest, { sealed });
    const asked = signedIn.request;
    if (signedIn.error !== "" || asked === undefined) return errorPage(400, signedIn.error);
    const refused = await this.#checkDocument(asked);
    if (refused !== undefined) return refused;
    const clientName = isDocumentUrl(asked.clientId) ? await this.#nameOf(asked.clientId) : "";
    const decision = { sealed, clientName, ...originAndId(request) };
    if (form.get("decision") !== "allow") {
      await this.#options.authority.call(OAuthService.decide, { ...decision, denied: true, resources: [], days: 0 });
      if (signedIn.isDevice) return donePage("Refused", "The device gets nothing. You can close this page.");
      return redirect(redirectTo(asked, this.#originOf(request), { error: "access_denied" }));
    }
    const offered = offersFor(signedIn, this.#options).offers.map(({ scope }) => scope);
    const ticked = form.all("scope").filter((scope) => offered.includes(scope));
    if (ticked.length === 0) return this.#consent(signedIn, "Tick at least one box, or refuse.");
    const resources = ticked.includes(EVERYTHING) ? [] : ticked;
    const days = Number(form.get("days"));
    if (!LIFETIMES.includes(days)) return this.#consent(signedIn, "Choose until when it may call.");
    const { error, code } = await this.#options.authority.call(OAuthService.decide, {
      ...decision,
      denied: false,
      resources,
      days,
    });
    if (error !== "") return errorPage(400, error);
    if (signedIn.isDevice) return donePage("Allowed", "The device goes on by itself. You can close this page.");
    return redirect(redirectTo(asked, this.#originOf(request), { code }));
  }

  /** GET `/device`: asks for the code that a device shows. */
  device(request: GatewayRequestHead): Promise<BareResponse> {
    const query = new Parameters(queryOf(request.target));
    return this.#device(query.get("user_code"), { namespace: namespaceIn(query) });
  }

  /** POST `/device`: the code, account and password. */
  async signInForDevice(request: GatewayRequest): Promise<BareResponse> {
    const form = await readForm(request);
    const [userCode, account, namespace] = [form.get("user_code"), form.get("account"), form.get("namespace")];
    const signedIn = await this.#options.authority.call(OAuthService.signIn, {
      ...{ namespace, account, password: form.get("password"), userCode, request: undefined },
      ...originAndId(request),
    });
    if (signedIn.error === "") return this.#consent(signedIn);
    return this.#device(userCode, { account, namespace: namespace || DEFAULT_NAMESPACE, ...failure(signedIn) });
  }

  async #device(
    text: string,
    {
      namespace,
      ...rest
    }: { namespace: string } | ({ account: string; namespace: string } & ReturnType<typeof failure>),
  ) {
    const userCode = text.slice(0, 20);
    const issuers = await this.#issuers.links(namespace, new URLSearchParams({ user_code: userCode }).toString());
    const words = { asker: undefined, action: "/device", userCode, issuers, choosesNamespace: true };
    return signInPage({ ...words, namespace, ...rest });
  }

  /** What can be checked before the person signs in; else the page that says why not. */
  async #check(request: GatewayRequestHead): Promise<Checked | BareResponse> {
    const query = new Parameters(queryOf(request.target));
    const [clientId, redirectUri] = [query.get("client_id"), query.get("redirect_uri")];
    if (query.all("client_id").length !== 1 || query.all("redirect_uri").length !== 1) {
      return errorPage(400, "The request must name client_id and redirect_uri, each once.");
    }
    const problem = redirectUriProblem(redirectUri);
    if (problem !== undefined) return errorPage(400, `The redirect URI of the request ${problem}.`);
    if (isDocumentUrl(clientId)) {
      const refused = this.#options.documents.problem(clientId);
      if (refused !== undefined) return errorPage(400, refused);
      return { query, clientId, redirectUri, client: undefined };
    }
    const { client } = await this.#options.authority.call(OAuthService.getClient, { id: clientId });
    if (client === undefined) return errorPage(400, "No client is registered with the client_id of the request.");
    if (!isRegistered(client.redirectUris, redirectUri)) {
      return errorPage(400, "The redirect URI of the request is not registered for this client.");
    }
    return { query, clientId, redirectUri, client };
  }

  /**
   * The page that says why not, where the metadata document lacks the redirect URI. Undefined where
   * it has it, and for a registered client.
   */
  async #checkDocument({ clientId, redirectUri }: Pick<Checked, "clientId" | "redirectUri">) {
    if (!isDocumentUrl(clientId)) return undefined;
    try {
      const { redirectUris } = await this.#options.documents.get(clientId);
      if (isRegistered(redirectUris, redirectUri)) return undefined;
      return errorPage(400, "The redirect URI of the request is not in the metadata document of this client.");
    } catch (error) {
      if (error instanceof DocumentError) return errorPage(400, error.message);
      throw error;
    }
  }

  async #nameOf(clientId: string): Promise<string> {
    return (await this.#options.documents.get(clientId)).name;
  }

  async #consent(signedIn: SignInResponse, error?: string): Promise<BareResponse> {
    const { clientId = "", redirectUri = "" } = signedIn.request ?? {};
    const name = isDocumentUrl(clientId) ? await this.#nameOf(clientId) : signedIn.clientName;
    const asker = askerOf(clientId, { redirectUri, name, isDevice: signedIn.isDevice });
    const offers = offersFor(signedIn, this.#options);
    return consentPage({ asker, signedIn, ...offers, ...(error !== undefined && { error }) });
  }

  async #signIn(
    request: GatewayRequestHead,
    { query, clientId, redirectUri, client }: Checked,
    failed?: { namespace: string; account: string; signedIn: SignInResponse },
  ): Promise<BareResponse> {
    const name = client?.name ?? "";
    const { namespace = client?.namespace || namespaceIn(query), account = "" } = failed ?? {};
    return signInPage({
      asker: askerOf(clientId, { redirectUri, name, isDevice: false }),
      action: `/oauth/authorize?${queryOf(request.target)}`,
      issuers: await this.#issuers.links(namespace, queryOf(request.target)),
      namespace,
      account,
      choosesNamespace: (client?.namespace ?? "") === "",
      ...(failed !== undefined && failure(failed.signedIn)),
    });
  }

  #refuse(
    request: GatewayRequestHead,
    { query, redirectUri }: Checked,
    problem: { error: string; description: string },
  ) {
    const { error, description } = problem;
    const asked = { redirectUri, state: query.get("state") };
    return redirect(redirectTo(asked, this.#originOf(request), { error, error_description: description }));
  }

  #originOf(request: GatewayRequestHead): string {
    return this.#options.resource.originOf(request);
  }
}

const NO_REQUEST: AuthorizationRequest = {
  ...{ clientId: "", redirectUri: "", scopes: [], resource: "", state: "" },
  // Of no verifier. The sealed request is thrown away.
  challenge: "A".repeat(43),
};

/** Whose issuers the page shows, where accounts of every namespace may sign in. */
function namespaceIn(query: Parameters): string {
  return query.get("namespace").slice(0, MAX_NAME) || DEFAULT_NAMESPACE;
}

/** 429 where the person has to wait, else 401: the sign-in failed. */
function failure({ error, retryAfter }: SignInResponse) {
  if (retryAfter > 0) return { status: 429, error, headers: ["Retry-After", String(retryAfter)] };
  return { status: 401, error, headers: ["WWW-Authenticate", "Bearer"] };
}
