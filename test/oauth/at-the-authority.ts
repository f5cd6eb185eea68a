/** A consent to the command line and its tokens, asked for as gateways ask the authority. */
import { createHash } from "node:crypto";
import { SYSTEM } from "../../src/access/guard.js";
import { type ExchangeRequest, OAuthService } from "../../src/gen/portico/auth/v1/oauth.js";
import type { CallOptions } from "../../src/rpc/client.js";
import { type Open, PASSWORD } from "../services/auth/open.js";

const VERIFIER = "v".repeat(43);
const REDIRECT = "http://127.0.0.1:1/callback";
const system: CallOptions = { admission: SYSTEM };

/** Signs in as the administrator, and consents. Returns the code. */
export async function consent({ call }: Open): Promise<string> {
  const challenge = createHash("sha256").update(VERIFIER).digest("base64url");
  const request = { clientId: "portico-cli", redirectUri: REDIRECT, challenge, scopes: [], resource: "", state: "" };
  const person = { namespace: "", account: "admin", password: PASSWORD, address: "192.0.2.1", requestId: "" };
  const { sealed } = await call(OAuthService.signIn, { ...person, request, userCode: "" }, undefined, system);
  const decision = { sealed, denied: false, resources: [], days: 30, clientName: "", address: "", requestId: "" };
  return (await call(OAuthService.decide, decision, undefined, system)).code;
}

export function exchange({ call }: Open, credential: ExchangeRequest["credential"]) {
  const request = {
    ...{ clientId: "portico-cli", clientSecret: "", redirectUri: REDIRECT, verifier: VERIFIER },
    ...{ resource: "", scopes: [], address: "", requestId: "" },
  };
  return call(OAuthService.exchange, { ...request, credential }, undefined, system);
}
