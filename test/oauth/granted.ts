/** Tokens of a grant: a person consents, and the client exchanges the code. */
import { createHash } from "node:crypto";
import { consent, type Door, PERSON } from "./browser.js";

const REDIRECT = "https://app.example/callback";
const VERIFIER = "v".repeat(43);

export interface Granted {
  readonly access_token: string;
  readonly refresh_token: string;
}

/** Registers a public client. */
export async function register(door: Door, name: string): Promise<void> {
  await door.auth("Clients/Create", { name, redirectUris: [REDIRECT], confidential: false });
}

/**
 * @param options.client a registered client, or the URL of a metadata document
 * @param options.scope what it asks for, and is granted; nothing is the whole gateway
 */
export async function grantTo(
  door: Pick<Door, "url">,
  { client, person = PERSON, scope }: { client: string; person?: typeof PERSON; scope?: string | undefined },
): Promise<Granted> {
  const url = `${door.url}/oauth/authorize?${new URLSearchParams({
    ...{ response_type: "code", client_id: client, redirect_uri: REDIRECT, state: "s", scope: scope ?? "*:*:*" },
    ...{ code_challenge: createHash("sha256").update(VERIFIER).digest("base64url"), code_challenge_method: "S256" },
  })}`;
  const back = await consent(door, url, { person });
  const form = new URLSearchParams({
    ...{ grant_type: "authorization_code", client_id: client, redirect_uri: REDIRECT, code_verifier: VERIFIER },
    code: back.searchParams.get("code") ?? "",
  });
  const response = await fetch(`${door.url}/oauth/token`, { method: "POST", body: form });
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()) as Granted;
}
