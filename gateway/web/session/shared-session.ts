/**
 * The session that the tabs of this browser share, and that survives a reload. The browser holds
 * the secret of it in a cookie that no script can read, and a key that no script can export. A new
 * access token costs both (docs/decisions/0096-the-pages-session.md).
 *
 * The key is in IndexedDB, which belongs to this origin. A mark in localStorage says that there is
 * one; its changes tell other tabs of a sign-in and a sign-out.
 */
import { ApiError, post } from "../http.js";

/** An account's access token, as the gateway's `/session` returns it. */
export interface SharedTokens {
  readonly accessToken: string;
  readonly accessExpires: string;
  readonly account: string;
  readonly namespace: string;
  readonly scopes: readonly string[];
}

interface Stored {
  readonly key: CryptoKey;
  readonly installation: string;
}

/** The name of the database, the lock and the mark. */
const NAME = "portico-session";
const STORE = "keys";
const ONLY = "key";
/** What waits for the person to come back from an issuer; of the tab that left last. */
const LEFT = "left";
const P256 = { name: "ECDSA", namedCurve: "P-256" } as const;

/** Where the browser stores no key, this tab alone has the session. */
let unstored: Stored | undefined;

/** Whether the browser can have a session: WebCrypto is on https and localhost only. */
export function canShare(): boolean {
  return isSecureContext && crypto.subtle !== undefined && "locks" in navigator && navigator.cookieEnabled;
}

/** The mark of a session that the authority has ended: no tab has signed out. */
const ENDED = "ended";

/** Whether a tab of this browser has signed in, and none has signed out since. */
export function isMarked(): boolean {
  try {
    return ![null, ENDED].includes(localStorage.getItem(NAME));
  } catch {
    return false;
  }
}

/** Signs in with a new key, which replaces the one before. @throws {ApiError} */
export function start(credentials: object): Promise<SharedTokens> {
  return inTurn(async () => {
    const { privateKey, publicKey: key } = await newKey();
    const body = { ...credentials, key };
    const started = await post<SharedTokens & Stored>("/session/start", body, { cookies: true });
    await keep({ key: privateKey, installation: started.installation });
    return started;
  });
}

async function newKey(): Promise<{ readonly privateKey: CryptoKey; readonly publicKey: string }> {
  const { privateKey, publicKey } = await crypto.subtle.generateKey(P256, false, ["sign", "verify"]);
  return { privateKey, publicKey: base64url(await crypto.subtle.exportKey("spki", publicKey)) };
}

/** The session of this browser is from now on the one of this key. */
async function keep(stored: Stored): Promise<void> {
  unstored = stored;
  try {
    await inStore("readwrite", (store) => store.put(stored, ONLY));
    unstored = undefined;
    localStorage.setItem(NAME, String(Date.now()));
  } catch {
    // Storage may be switched off. Then the session is valid until the visitor leaves the page.
  }
}

/** The issuers by which people sign in, and the address of the gateway to which they come back. */
export interface Issuers {
  readonly issuers: readonly { readonly id: string; readonly name: string }[];
  /** An origin; "" if none is configured. */
  readonly publicUrl: string;
}

/** The issuers of a namespace. @throws {ApiError} */
export function issuersOf(namespace: string): Promise<Issuers> {
  return post<Issuers>("/session/issuers", { namespace });
}

/** What the page keeps while its person is at an issuer. */
export interface Left extends Stored {
  /** Where the person was: path, query and fragment. */
  readonly address: string;
}

/** Leaves the page for an issuer. @throws {ApiError} */
export async function leaveFor(issuer: string): Promise<void> {
  const { privateKey, publicKey: key } = await newKey();
  const asked = { issuer, key };
  const begun = await post<{ location: string; installation: string }>("/session/begin", asked, { cookies: true });
  const address = location.pathname + location.search + location.hash;
  const left: Left = { key: privateKey, installation: begun.installation, address };
  try {
    await inStore("readwrite", (store) => store.put(left, LEFT));
  } catch {
    throw new ApiError(0, "This browser stores nothing for this page, so it would not be known when you come back.");
  }
  location.assign(begun.location);
}

/** What the page has kept. It counts once. */
export async function takeLeft(): Promise<Left | undefined> {
  const left = await inStore<Left | undefined>("readonly", (store) => store.get(LEFT)).catch(() => undefined);
  await inStore("readwrite", (store) => store.delete(LEFT)).catch(() => {});
  return left;
}

/**
 * Begins the session of a person who comes back.
 * @throws {ApiError} 401 if nobody has signed in
 */
export function arrive({ key, installation }: Left): Promise<SharedTokens> {
  return inTurn(async () => {
    const { challenge } = await post<{ challenge: string }>(
      "/session/challenge",
      { arriving: true },
      { cookies: true },
    );
    const proof = await sign({ key, installation }, challenge);
    const tokens = await post<SharedTokens>("/session/arrive", proof, { cookies: true });
    await keep({ key, installation });
    return tokens;
  });
}

/** A further access token. @throws {ApiError} 401 or 403 when the session has ended */
export async function renew(): Promise<SharedTokens> {
  const ask = async () => post<SharedTokens>("/session", await prove(), { cookies: true });
  try {
    return await ask();
  } catch (thrown) {
    // The challenge may have expired on a slow network, or another tab has signed in meanwhile.
    if (ApiError.from(thrown).status !== 403) throw thrown;
    return ask();
  }
}

/** Ends the session for all tabs. @throws {ApiError} when the gateway could not be told */
export async function end(): Promise<void> {
  mark(undefined);
  try {
    await inTurn(async () => post("/session/end", await prove(), { cookies: true }));
  } catch (thrown) {
    // It had ended before.
    if (ApiError.from(thrown).status !== 401) throw thrown;
  } finally {
    await forget();
  }
}

/** Deletes the key: what is left of the session is then worth nothing. */
export async function forget(): Promise<void> {
  mark(undefined);
  await deleteKey();
}

async function deleteKey(): Promise<void> {
  unstored = undefined;
  await inStore("readwrite", (store) => store.delete(ONLY)).catch(() => {});
}

/** Like `forget`, of a session that the authority has ended: other tabs keep what was typed. */
export async function forgetEnded(): Promise<void> {
  mark(ENDED);
  await deleteKey();
}

/** Calls back when another tab signs in (`true`) or out. */
export function followTabs(listener: (signedIn: boolean) => void): void {
  addEventListener("storage", ({ key, newValue }) => {
    // Without a key, everything that was stored has been removed.
    if ((key === NAME || key === null) && newValue !== ENDED) listener(newValue !== null);
  });
}

/** A challenge, signed. */
async function prove(): Promise<{ readonly challenge: string; readonly signature: string }> {
  const stored = unstored ?? (await inStore<Stored | undefined>("readonly", (store) => store.get(ONLY)));
  if (stored === undefined) throw new ApiError(401, "This browser has no session");
  const { challenge } = await post<{ challenge: string }>("/session/challenge", {}, { cookies: true });
  return sign(stored, challenge);
}

/** As in services/auth/login/session-proof.ts. */
async function sign({ key, installation }: Stored, challenge: string) {
  const text = new TextEncoder().encode(`portico session\n${installation}\n${challenge}`);
  const signature = await crypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, key, text);
  return { challenge, signature: base64url(signature) };
}

/** Runs while no other tab signs in or out: cookie and key change together. */
async function inTurn<Value>(run: () => Promise<Value>): Promise<Value> {
  return await navigator.locks.request(NAME, run);
}

function mark(text: string | undefined): void {
  try {
    if (text === undefined) localStorage.removeItem(NAME);
    else localStorage.setItem(NAME, text);
  } catch {
    // Storage may be switched off.
  }
}

async function inStore<Value>(
  mode: IDBTransactionMode,
  act: (store: IDBObjectStore) => IDBRequest<Value>,
): Promise<Value> {
  const database = await openDatabase();
  try {
    return await new Promise<Value>((resolve, reject) => {
      const transaction = database.transaction(STORE, mode);
      const request = act(transaction.objectStore(STORE));
      transaction.oncomplete = () => resolve(request.result);
      transaction.onabort = () => reject(transaction.error);
    });
  } finally {
    database.close();
  }
}

function openDatabase(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open(NAME, 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(STORE);
    opening.onsuccess = () => resolve(opening.result);
    opening.onerror = () => reject(opening.error);
  });
}

function base64url(bytes: ArrayBuffer): string {
  const text = btoa(String.fromCharCode(...new Uint8Array(bytes)));
  return text.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}
