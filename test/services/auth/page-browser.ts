/** A session of the pages in a browser, asked for as gateways ask the authority. */
import { signedText } from "../../../services/auth/login/session-proof.js";
import { SYSTEM } from "../../../src/access/guard.js";
import { SessionsService, type SessionTokens } from "../../../src/gen/portico/auth/v1/sessions.js";
import type { CallOptions } from "../../../src/rpc/client.js";
import { type BrowserKey, browserKey } from "../../gateway/page-session.js";
import { type ByIssuer, signInBy } from "../../oauth/at-the-authority.js";
import { type Open, PASSWORD } from "./open.js";

const system: CallOptions = { admission: SYSTEM };
const from = { address: "192.0.2.1", requestId: "" };

export interface Browser {
  readonly key: BrowserKey;
  readonly secret: string;
  readonly token: string;
}

export async function signIn({ call }: Open, account = "admin", password = PASSWORD): Promise<Browser> {
  const key = await browserKey();
  const request = { account, password, namespace: "", publicKey: key.spki, ...from };
  const { secret, tokens } = await call(SessionsService.start, request, undefined, system);
  return { key, secret, token: tokens!.accessToken };
}

/** The same by an issuer, which knows the person by the subject. */
export async function signInByIssuer(opened: Open, by: ByIssuer): Promise<Browser> {
  const key = await browserKey();
  const { sessionSecret: secret } = await signInBy(opened, by, { publicKey: key.spki });
  const { accessToken: token } = await renew(opened, { key, secret });
  return { key, secret, token };
}

/** What the browser sends to get a token, or to end the session. */
export async function proven({ call }: Open, { key, secret }: Pick<Browser, "key" | "secret">) {
  const { id } = await call(SessionsService.getInstallation, {}, undefined, system);
  const { challenge } = await call(SessionsService.createChallenge, { secret }, undefined, system);
  const signature = await key.sign(Uint8Array.from(signedText(id, challenge)));
  return { secret, proof: { challenge, signature }, ...from };
}

export async function renew(opened: Open, browser: Pick<Browser, "key" | "secret">): Promise<SessionTokens> {
  return opened.call(SessionsService.createToken, await proven(opened, browser), undefined, system);
}

export async function signOut(opened: Open, browser: Browser): Promise<void> {
  await opened.call(SessionsService.end, await proven(opened, browser), undefined, system);
}
