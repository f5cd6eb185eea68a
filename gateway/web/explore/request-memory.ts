/**
 * What was typed into the form of an endpoint. Nothing of it is lost at a reload, at Back, or in a
 * second tab: it is in the fragment of the address, and in the session storage under the entry of
 * the browser's history. Secrets and tokens are written to neither.
 */
import { isSameAccount, session } from "../session/session.js";
import type { EndpointDocument } from "./document.js";
import { errorOf, parseExact } from "./json-text.js";
import { storableText, unknownFields, withoutTokens } from "./request-text.js";
import { type RestPath, restKey } from "./rest.js";

export interface TryItState {
  /** The request, as JSON text. The form shows the same request. */
  readonly text: string;
  /** Whether the call leaves the token out although there is a session. */
  readonly asNobody: boolean;
  /** Empty for the caller's own namespace. */
  readonly namespace: string;
  /** The key of the REST path that is called (`restKey`); empty for a call by name. */
  readonly rest: string;
}

/** The request before anything is typed. */
export const EMPTY_REQUEST = "{}";
// The page shows an example, but sends only what was typed.
const EMPTY_CALL: TryItState = { text: EMPTY_REQUEST, asNobody: false, namespace: "", rest: "" };

/** Maximum characters of a fragment. A longer request is only in the session storage. */
export const MAX_FRAGMENT = 8 * 1024;
/** Maximum characters of a request in the session storage, which browsers limit to 5 MB in all. */
export const MAX_STORED = 1024 * 1024;
/** Maximum entries of the history whose requests are stored. */
const MAX_DRAFTS = 30;
const MAX_NAMESPACE = 100;

/** The call without secrets; undefined if they cannot be found. */
export function storableCall(described: EndpointDocument | undefined, call: TryItState): TryItState | undefined {
  const text = storableText(described, call.text);
  return text === undefined ? undefined : { ...call, text, namespace: withoutTokens(call.namespace) };
}

/** The fragment of the address for a call; empty for an empty call. It may be too long. */
export function fragmentOf({ text, asNobody, namespace, rest }: TryItState): string {
  const fragment = new URLSearchParams();
  // A text that is not JSON yet is marked, so that a damaged link is not taken for one.
  if (text !== EMPTY_REQUEST) fragment.set(errorOf(text) === undefined ? "request" : "text", compact(text));
  if (rest !== "") fragment.set("call", rest);
  if (namespace !== "") fragment.set("namespace", namespace);
  if (asNobody) fragment.set("as", "nobody");
  return fragment.size === 0 ? "" : `#${fragment}`;
}

function compact(text: string): string {
  if (errorOf(text) !== undefined) return text;
  const value = parseExact(text);
  return JSON.stringify(value, null, 2) === text ? JSON.stringify(value) : text;
}

function laidOut(text: string): string {
  const value = parseExact(text);
  return JSON.stringify(value) === text ? JSON.stringify(value, null, 2) : text;
}

export interface Restored {
  readonly call: TryItState;
  /** What could not be restored; undefined if there is nothing to say. */
  readonly problem?: string | undefined;
}

/** The call of an entry of the history: as it was typed there, or else from the fragment. */
export function restoreCall(
  place: { readonly entry: string; readonly page: string; readonly fragment: string },
  described: EndpointDocument | undefined,
  paths: readonly RestPath[],
): Restored {
  const draft = readDraft(place.entry, place.page);
  if (draft === FORGOTTEN) return { call: EMPTY_CALL };
  if (draft !== undefined) return { call: draft };
  const { call, problem } = readFragment(place.fragment, paths);
  const request = described?.request;
  if (problem !== undefined || request === undefined || errorOf(call.text) !== undefined) return { call, problem };
  const unknown = unknownFields(request, parseExact(call.text));
  if (unknown.length === 0) return { call };
  const names = unknown.slice(0, 3).join(", ").slice(0, 200);
  return { call, problem: `This endpoint has no field ${names}. The link had it, and JSON shows it.` };
}

function readFragment(fragment: string, paths: readonly RestPath[]): Restored {
  if (fragment === "") return { call: EMPTY_CALL };
  if (fragment.length > MAX_FRAGMENT) {
    return { call: EMPTY_CALL, problem: "The request in this link is too long, so the form is empty." };
  }
  const read = new URLSearchParams(fragment.slice(1));
  const rest = read.get("call") ?? "";
  const call = {
    asNobody: read.get("as") === "nobody",
    namespace: (read.get("namespace") ?? "").slice(0, MAX_NAMESPACE),
    rest: paths.some((one) => restKey(one) === rest) ? rest : "",
  };
  const unfinished = read.get("text");
  if (unfinished !== null) return { call: { ...call, text: unfinished } };
  const text = read.get("request") ?? EMPTY_REQUEST;
  if (errorOf(text) === undefined) return { call: { ...call, text: laidOut(text) } };
  return { call: EMPTY_CALL, problem: "The request in this link cannot be read, so the form is empty." };
}

const DRAFTS = "portico.draft.";
/** Stands for what another account typed, which is not shown any more. */
const FORGOTTEN = "forgotten";

function readDraft(entry: string, page: string): TryItState | typeof FORGOTTEN | undefined {
  try {
    const stored = sessionStorage.getItem(DRAFTS + entry);
    if (stored === null || stored === FORGOTTEN) return stored ?? undefined;
    const { call, page: of } = JSON.parse(stored);
    return of === page && isCall(call) ? call : undefined;
  } catch {
    return undefined;
  }
}

export function isCall(value: unknown): value is TryItState {
  const { text, asNobody, namespace, rest }: Partial<Record<keyof TryItState, unknown>> = Object(value);
  return [text, namespace, rest].every((one) => typeof one === "string") && typeof asNobody === "boolean";
}

/** Stores a call without secrets under an entry of the history. Returns whether it could. */
export function saveDraft(entry: string, page: string, call: TryItState): boolean {
  const key = DRAFTS + entry;
  // The names of entries begin with the time.
  const others = draftKeys().filter((one) => one !== key);
  for (const old of others.slice(0, Math.max(0, others.length - MAX_DRAFTS + 1))) sessionStorage.removeItem(old);
  try {
    if (call.text.length > MAX_STORED) throw new Error("too long");
    sessionStorage.setItem(key, JSON.stringify({ page, call }));
    return true;
  } catch {
    removeDraft(key);
    return false;
  }
}

function removeDraft(key: string): void {
  try {
    sessionStorage.removeItem(key);
  } catch {
    // The browser allows no storage.
  }
}

function draftKeys(): string[] {
  try {
    return Object.keys(sessionStorage)
      .filter((key) => key.startsWith(DRAFTS))
      .sort();
  } catch {
    return [];
  }
}

let last = session.value;
// No visitor sees what another account typed.
session.follow((next) => {
  if (last !== undefined && !isSameAccount(last, next)) {
    for (const key of draftKeys()) sessionStorage.setItem(key, FORGOTTEN);
  }
  last = next;
});
