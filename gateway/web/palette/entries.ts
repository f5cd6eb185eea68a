/**
 * What Ctrl+K finds: services, endpoints, fields, pages and actions, and what the account that is
 * signed in may list of accounts, keys, rules and limits.
 */
import { list, MAX_LISTED } from "../console/authority.js";
import { allowance, pageOfLimit, sharedBy } from "../console/limit-words.js";
import { forgetFields, pageOf, readFields } from "../explore/services.js";
import { changes, listRegistered } from "../session/api.js";
import { isAdmin, type Session, session, signOut } from "../session/session.js";
import { askToSignIn } from "../session/sign-in.js";
import { toggleTheme } from "../state/theme.js";
import { type Findable, type Index, prepare } from "./find.js";

export interface Entry extends Findable {
  readonly kind: "Action" | "Page" | "Service" | "Endpoint" | "Field" | "Account" | "Key" | "Rule" | "Limit";
  /** Where it leads, or what it does. */
  readonly to: string | (() => void);
}

export interface Everything {
  readonly index: Index<Entry>;
  /** What could not be read, in words: `the rules`. */
  readonly missing: readonly string[];
  /** Of what only the first MAX_LISTED were read: `keys`. */
  readonly cut: readonly string[];
}

/** After this time in milliseconds others may have changed something. */
const FRESH_MS = 60_000;

/** What was read last. It is shown until it has been read again. */
let last: Everything | undefined;
let reading: Promise<Everything> | undefined;
let startedAt = 0;
session.follow(() => {
  last = undefined;
  reading = undefined;
});
changes.follow(() => {
  reading = undefined;
});

export function lastRead(): Everything | undefined {
  return last;
}

/** Reads everything, unless that was read a moment ago and this page has changed nothing since. */
export function readEverything(): Promise<Everything> {
  const now = performance.now();
  if (reading !== undefined && now - startedAt < FRESH_MS) return reading;
  if (last !== undefined) forgetFields();
  startedAt = now;
  const current = readAll(session.value);
  reading = current;
  current.then((read) => {
    if (reading === current) last = read;
  });
  return current;
}

async function readAll(who: Session | undefined): Promise<Everything> {
  const missing: string[] = [];
  const cut: string[] = [];
  const first = async (what: string, read: () => Promise<readonly Entry[]>) => {
    const entries = await attempt(`the ${what}`, read);
    if (entries.length >= MAX_LISTED) cut.push(what);
    return entries;
  };
  const attempt = async (what: string, read: () => Promise<readonly Entry[]>) => {
    try {
      return await read();
    } catch {
      missing.push(what);
      return [];
    }
  };
  const isAdministrator = who !== undefined && isAdmin(who);
  const lists = await Promise.all([
    attempt("the pages of the console", () => pages(who)),
    attempt("the services", services),
    who === undefined ? [] : first("keys", keys),
    isAdministrator ? first("accounts", accounts) : [],
    isAdministrator ? attempt("the rules", rules) : [],
    isAdministrator ? attempt("the limits", limits) : [],
    actions(who),
    attempt("the fields", fields),
  ]);
  return { index: prepare(lists.flat()), missing, cut };
}

async function pages(who: Session | undefined): Promise<Entry[]> {
  const ofConsole = who === undefined ? [CONSOLE] : (await import("../console/page.js")).pagesFor(who);
  const known = [...OPEN_PAGES, ...ofConsole];
  return known.map(({ path, title }) => ({ kind: "Page", title, detail: path, to: path }));
}

const OPEN_PAGES = [
  { path: "/explore", title: "Explore" },
  { path: "/connect", title: "Connect" },
];
const CONSOLE = { path: "/console", title: "Console" };

function actions(who: Session | undefined): Entry[] {
  const kind = "Action";
  return [
    { kind, title: "Switch between light and dark", detail: "Theme, colours", to: toggleTheme },
    who === undefined
      ? { kind, title: "Sign in", detail: "Log in with account and password", to: askToSignIn }
      : { kind, title: "Sign out", detail: `Log out ${who.account}`, to: () => void signOut().catch(() => {}) },
  ];
}

async function services(): Promise<Entry[]> {
  const listed = await listRegistered();
  const all = listed.map(({ name }): Entry => ({ kind: "Service", title: name, detail: "", to: pageOf(name) }));
  const endpoints = listed.flatMap(({ name, endpoints }) =>
    endpoints.map(({ resource }): Entry => {
      const title = resource.split(":").slice(2).join(":");
      return { kind: "Endpoint", title, detail: name, to: pageOf(name, title) };
    }),
  );
  return [...all, ...endpoints];
}

async function fields(): Promise<Entry[]> {
  const names = await readFields();
  return [...names].flatMap(([detail, fields]) => {
    const [service = "", endpoint = ""] = detail.split(" ");
    const to = pageOf(service, endpoint);
    return [...new Set(fields)].map((title): Entry => ({ kind: "Field", title, detail, to }));
  });
}

async function keys(): Promise<Entry[]> {
  return (await list.keys()).map(({ name, prefix, account }) => ({
    kind: "Key",
    title: name,
    detail: `${prefix}… ${account}`,
    to: `/console/keys/${encodeURIComponent(prefix)}`,
  }));
}

async function accounts(): Promise<Entry[]> {
  return (await list.accounts()).map(({ name, scopes }) => ({
    kind: "Account",
    title: name,
    detail: scopes.join(" "),
    to: `/console/accounts/${encodeURIComponent(name)}`,
  }));
}

async function rules(): Promise<Entry[]> {
  return (await list.rules()).map(({ id, scope, access, resource }) => ({
    kind: "Rule",
    title: id,
    detail: `${scope} ${access} ${resource}`,
    to: `/console/rules?filter=${encodeURIComponent(id)}`,
  }));
}

async function limits(): Promise<Entry[]> {
  return (await list.limits()).map(({ limit }) => ({
    kind: "Limit",
    title: limit.id,
    detail: `${allowance(limit)}, ${sharedBy(limit)}`,
    to: pageOfLimit(limit.id),
  }));
}
