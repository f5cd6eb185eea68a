/** The authority's API as the console uses it: what it answers (proto/portico/auth/v1/) and where it is asked. */
import { call, read } from "../api.js";

export interface Key {
  readonly prefix: string;
  readonly name: string;
  readonly account: string;
  readonly created: string;
  readonly expires: string;
  readonly lastUsed?: string;
  readonly resources: readonly string[];
}

export interface Rule {
  readonly id: string;
  readonly scope: string;
  readonly access: "GRANTED" | "DENIED";
  readonly resource: string;
  readonly priority: number;
}

export interface Effect {
  readonly before: number;
  readonly after: number;
  readonly resources: readonly string[];
  readonly nobody: boolean;
  readonly everyAccount: boolean;
  readonly accounts: readonly string[];
  readonly moreAccounts: number;
}

export interface Explanation {
  readonly code: number;
  readonly decidedBy?: Rule;
  readonly matched: readonly Rule[];
}

export interface Account {
  readonly name: string;
  readonly scopes: readonly string[];
  readonly created: string;
}

export interface Namespace {
  readonly name: string;
  readonly created: string;
}

export interface AuditRecord {
  readonly revision: string;
  readonly time: string;
  readonly actor: string;
  readonly action: string;
  readonly subject: string;
}

export interface Calls {
  readonly total: string;
  readonly clientErrors: string;
  readonly serverErrors: string;
  readonly medianMs: number;
  readonly p95Ms: number;
}

export interface Usage {
  /** `60s` */
  readonly period: string;
  readonly periods: readonly { readonly start: string; readonly calls: Calls }[];
  readonly endpoints: readonly { readonly service: string; readonly endpoint: string; readonly calls: Calls }[];
}

/** What a key or a namespace is answered with once, and never again. */
export interface NewKey {
  readonly secret: string;
  readonly key: Key;
}

/** What rules do not govern. */
const SELF_GOVERNED = /^service:(?:auth|registry):/;

export const list = {
  keys: async (signal?: AbortSignal) => (await call<{ keys: Key[] }>("auth/Keys/List", {}, signal)).keys,
  rules: async (signal?: AbortSignal) => (await call<{ rules: Rule[] }>("auth/Rules/List", {}, signal)).rules,
  accounts: async (signal?: AbortSignal) =>
    (await call<{ accounts: Account[] }>("auth/Accounts/List", {}, signal)).accounts,
  namespaces: async (signal?: AbortSignal) =>
    (await call<{ namespaces: Namespace[] }>("auth/Namespaces/List", {}, signal)).namespaces,
  audit: async (before: string, signal?: AbortSignal) =>
    (await call<{ records: AuditRecord[] }>("auth/Audit/List", { before, limit: 100 }, signal)).records,
  usage: (request: { readonly span: string; readonly service: string }, signal?: AbortSignal) =>
    call<Usage>("auth/Usage/List", request, signal),
};

/** Every resource that rules decide on, as far as its service is registered. */
export async function listResources(signal?: AbortSignal): Promise<string[]> {
  const path = "/registry/list";
  const { services } = await read<{ services: { endpoints: { resource: string }[] }[] }>(
    path,
    signal ? { signal } : {},
  );
  const resources = services.flatMap(({ endpoints }) => endpoints.map(({ resource }) => resource));
  return resources.filter((resource) => !SELF_GOVERNED.test(resource));
}

/** Whose calls would be answered otherwise. */
export async function preview(
  change: { readonly create: Rule } | { readonly delete: string },
  signal: AbortSignal,
): Promise<readonly Effect[]> {
  const resources = await listResources(signal);
  return (await call<{ effects: Effect[] }>("auth/Rules/Preview", { ...change, resources }, signal)).effects;
}
