/** A page of the gateway with a session, without a browser: its cookie, its key, its requests. */
import { webcrypto } from "node:crypto";
import { signedText } from "../../services/auth/login/session-proof.js";

const P256 = { name: "ECDSA", namedCurve: "P-256" } as const;

export interface BrowserKey {
  /** SubjectPublicKeyInfo in DER. */
  readonly spki: Buffer;
  /** r and s. */
  sign(text: Uint8Array<ArrayBuffer>): Promise<Buffer>;
}

/** A key as a browser makes it: its private part cannot be exported. */
export async function browserKey(): Promise<BrowserKey> {
  const { privateKey, publicKey } = await webcrypto.subtle.generateKey(P256, false, ["sign", "verify"]);
  return {
    spki: Buffer.from(await webcrypto.subtle.exportKey("spki", publicKey)),
    sign: async (text) =>
      Buffer.from(await webcrypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, privateKey, text)),
  };
}

/** What a page sends to `/session`; each part may be replaced. */
export interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export interface Replied {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, string>;
}

/** A page at the gateway's origin, before or after the sign-in. */
export class SessionPage {
  readonly #url: string;
  readonly key: BrowserKey;
  /** `name=value`, as the browser sends it. */
  cookie = "";
  /** Of each request. */
  headers: Readonly<Record<string, string>> = {};

  constructor(url: string, key: BrowserKey) {
    this.#url = url;
    this.key = key;
  }

  static async open(url: string): Promise<SessionPage> {
    return new SessionPage(url, await browserKey());
  }

  /** Another page that has the same cookie. */
  withKey(key: BrowserKey): SessionPage {
    const other = new SessionPage(this.#url, key);
    other.cookie = this.cookie;
    return other;
  }

  async post(path: string, { method = "POST", headers = {}, body = {} }: Sent = {}): Promise<Replied> {
    const own = { "content-type": "application/json", "sec-fetch-site": "same-origin" };
    const cookie = this.cookie === "" ? {} : { cookie: this.cookie };
    const sent = { ...own, ...cookie, ...this.headers, ...headers };
    const chosen = Object.fromEntries(Object.entries(sent).filter(([, value]) => value !== ""));
    const init = { method, headers: chosen, ...(method === "POST" && { body: JSON.stringify(body) }) };
    const response = await fetch(`${this.#url}${path}`, init);
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text === "" ? {} : JSON.parse(text) };
  }

  /** Signs in, and keeps the cookie. */
  async start(credentials: { account: string; password: string; namespace?: string }): Promise<Replied> {
    const replied = await this.post("/session/start", {
      body: { ...credentials, key: this.key.spki.toString("base64url") },
    });
    this.cookie = replied.headers.get("set-cookie")?.split(";")[0] ?? this.cookie;
    return replied;
  }

  /** A challenge, signed. */
  async proof(): Promise<{ challenge: string; signature: string }> {
    const { challenge = "", installation = "" } = (await this.post("/session/challenge")).body;
    return this.sign(installation, challenge);
  }

  async sign(installation: string, challenge: string): Promise<{ challenge: string; signature: string }> {
    const signature = await this.key.sign(Uint8Array.from(signedText(installation, challenge)));
    return { challenge, signature: signature.toString("base64url") };
  }

  async createToken(): Promise<Replied> {
    return this.post("/session", { body: await this.proof() });
  }

  async end(): Promise<Replied> {
    return this.post("/session/end", { body: await this.proof() });
  }
}
