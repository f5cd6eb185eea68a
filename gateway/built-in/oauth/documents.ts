/**
 * Client id metadata documents (draft-ietf-oauth-client-id-metadata-document): a client whose ID is
 * an https URL publishes its name and redirect URIs there. A stranger chooses the URL, so what is
 * fetched is bounded in every respect, and only after a person has signed in.
 */
import { lookup } from "node:dns/promises";
import { isGlobalAddress } from "../../../src/address/global-address.js";
import { redirectUriProblem } from "../../../src/address/redirect-uri.js";
import { MAX_CLIENT_NAME } from "../../../src/contract/names.js";
import { BoundedMap } from "../../../src/memory/bounded-map.js";
import { within } from "../../../src/within.js";
import type { FetchDocument, FetchedDocument } from "../../http/fetched-document.js";

const MAX_BYTES = 5 * 1024;
const TIMEOUT_MS = 3_000;
/** Maximum number of fetches in a minute, of all documents together. */
const MAX_PER_MINUTE = 10;
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** Maximum number of documents, and of failures, that are remembered. */
const MAX_KEPT = 200;
const MAX_URL = 500;
const MAX_REDIRECT_URIS = 50;

/** Why a document cannot be used, in words for the person. */
export class DocumentError extends Error {}

export interface ClientDocument {
  readonly name: string;
  readonly redirectUris: readonly string[];
}

interface Kept {
  readonly document: ClientDocument | DocumentError;
  /** In milliseconds of the clock. */
  readonly until: number;
}

export interface DocumentsOptions {
  /** Whose documents are fetched. A host and port that is listed may be loopback and plain http. */
  readonly hosts: "off" | "any" | readonly string[];
  /** Default: the system's resolver. */
  readonly resolve?: (host: string) => Promise<readonly string[]>;
  readonly fetch: FetchDocument;
  /** In milliseconds; default `performance.now`. */
  readonly now?: () => number;
}

export class Documents {
  readonly #options: Required<DocumentsOptions>;
  readonly #kept = new BoundedMap<string, Kept>(MAX_KEPT);
  /** The running fetch of each host. */
  readonly #fetching = new Map<string, Promise<unknown>>();
  /** When the last fetches began. */
  #begun: number[] = [];

  constructor({ hosts, resolve = resolveAll, fetch, now = () => performance.now() }: DocumentsOptions) {
    this.#options = { hosts, resolve, fetch, now };
  }

  /** Whether any document can be fetched. */
  get enabled(): boolean {
    return this.#options.hosts !== "off";
  }

  /** Why no document can have this URL, in words; undefined if one can. Nothing is fetched. */
  problem(text: string): string | undefined {
    if (!this.enabled) return "This gateway takes registered clients only (PORTICO_OAUTH_DOCUMENTS is off).";
    if (text.length > MAX_URL || !URL.canParse(text) || new URL(text).href !== text) {
      return "The client_id of the request is no URL in its usual form.";
    }
    const url = new URL(text);
    if (url.hash !== "" || url.username !== "" || url.password !== "" || url.pathname === "/") {
      return "The client_id must be a URL with a path, without a user and a fragment.";
    }
    const { hosts } = this.#options;
    if (this.#isListed(url)) return undefined;
    if (hosts !== "any") return `Documents of ${url.host} are not allowed (PORTICO_OAUTH_DOCUMENTS).`;
    return url.protocol === "https:" && url.port === "" ? undefined : "The client_id must be https, at port 443.";
  }

  /** @throws {DocumentError} (rejects) */
  async get(clientId: string): Promise<ClientDocument> {
    const problem = this.problem(clientId);
    if (problem !== undefined) throw new DocumentError(problem);
    const { host } = new URL(clientId);
    // One at a time for a host: whoever waited may find what the one before has fetched.
    while (this.#fetching.has(host)) await this.#fetching.get(host);
    const kept = this.#kept.get(clientId);
    if (kept === undefined || kept.until <= this.#options.now()) return this.#fetch(clientId, host);
    if (kept.document instanceof DocumentError) throw kept.document;
    return kept.document;
  }

  async #fetch(clientId: string, host: string): Promise<ClientDocument> {
    const now = this.#options.now();
    this.#begun = this.#begun.filter((time) => now - time < MINUTE_MS);
    if (this.#begun.length >= MAX_PER_MINUTE) {
      throw new DocumentError("Too many programs ask for the first time at the moment; try again in a minute.");
    }
    this.#begun.push(now);
    const reading = this.#read(new URL(clientId));
    const done = reading.then(
      () => undefined,
      () => undefined,
    );
    this.#fetching.set(host, done);
    try {
      const { document, lifeMs } = await reading;
      this.#kept.set(clientId, { document, until: this.#options.now() + lifeMs });
      return document;
    } catch (error) {
      const words = `The metadata document ${clientId} cannot be used: ${(error as Error).message}.`;
      const document = new DocumentError(words);
      this.#kept.set(clientId, { document, until: this.#options.now() + MINUTE_MS });
      throw document;
    } finally {
      this.#fetching.delete(host);
    }
  }

  async #read(url: URL): Promise<{ document: ClientDocument; lifeMs: number }> {
    const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
    const late = () => new Error("its host was not found in time");
    const addresses = await within(TIMEOUT_MS, this.#options.resolve(host), late);
    const [address] = addresses;
    if (address === undefined) throw new Error("its host has no address");
    if (!this.#isListed(url) && !addresses.every(isGlobalAddress)) {
      throw new Error("its host has an address that is not globally reachable");
    }
    const fetched = await this.#options.fetch({ url, address, maxBytes: MAX_BYTES, timeoutMs: TIMEOUT_MS });
    return { document: readDocument(url.href, fetched), lifeMs: lifeOf(fetched.cacheControl) };
  }

  #isListed({ host }: URL): boolean {
    const { hosts } = this.#options;
    return typeof hosts === "object" && hosts.includes(host);
  }
}

async function resolveAll(host: string): Promise<readonly string[]> {
  return (await lookup(host, { all: true, verbatim: true })).map(({ address }) => address);
}

/** @throws {Error} saying what is wrong with it */
function readDocument(clientId: string, { status, contentType, body }: FetchedDocument): ClientDocument {
  if (status !== 200) throw new Error(`its server answered with the status ${status}`);
  if (!/^application\/(?:[a-z0-9.-]+\+)?json[ \t]*(?:;|$)/i.test(contentType)) throw new Error("it is no JSON");
  let value: Record<string, unknown>;
  try {
    value = JSON.parse(body.toString("utf8"));
  } catch {
    throw new Error("it is no JSON");
  }
  if (typeof value !== "object" || value === null || value.client_id !== clientId) {
    throw new Error("its client_id is not its URL");
  }
  const { redirect_uris: uris, client_name: name = new URL(clientId).host, token_endpoint_auth_method: method } = value;
  if (value.client_secret !== undefined || (method !== undefined && method !== "none")) {
    throw new Error("it is not a public client's: token_endpoint_auth_method must be none");
  }
  const isUri = (uri: unknown): uri is string => typeof uri === "string" && redirectUriProblem(uri) === undefined;
  if (!Array.isArray(uris) || uris.length > MAX_REDIRECT_URIS || !uris.every(isUri)) {
    throw new Error("its redirect_uris are not all allowed");
  }
  if (typeof name !== "string") throw new Error("its client_name is no text");
  return { name: visible(name), redirectUris: uris };
}

/** A name without what breaks a line or turns the direction of text. */
function visible(name: string): string {
  return name.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, "").slice(0, MAX_CLIENT_NAME);
}

/** As long as it says, from a minute to a day; without a word five minutes. */
function lifeOf(cacheControl: string): number {
  if (/\bno-(?:store|cache)\b/i.test(cacheControl)) return MINUTE_MS;
  const seconds = /\bmax-age=(\d{1,9})/i.exec(cacheControl)?.[1];
  const life = seconds === undefined ? 5 * MINUTE_MS : Number(seconds) * 1000;
  return Math.min(DAY_MS, Math.max(MINUTE_MS, life));
}
