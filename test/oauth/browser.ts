/** A person at the pages of sign-in and consent: reads forms as a browser without scripts does. */
import type { Test } from "tap";
import { ADMIN_PASSWORD, type Deployment, type DeployOptions, deploy } from "../gateway/deployment.js";

export interface Door {
  readonly deployment: Deployment;
  /** `http://127.0.0.1:port` */
  readonly url: string;
  /** The access token of the administrator. */
  readonly admin: string;
  /** Calls an endpoint of the authority as the administrator. */
  auth<T = Record<string, unknown>>(path: string, body?: unknown, token?: string): Promise<T>;
  /** The HTTP status of a call of helloworld on /v1 with a token. */
  statusOf(token: string, path?: string): Promise<number>;
}

export async function openDoor(t: Test, options: DeployOptions = {}): Promise<Door> {
  const deployment = await deploy(t.testdir(), options);
  t.teardown(() => deployment.close());
  const url = `http://127.0.0.1:${deployment.gateway.address.port}`;
  const call = async <T>(path: string, body: unknown = {}, token = ""): Promise<T> => {
    const headers = { "content-type": "application/json", ...(token !== "" && { authorization: `Bearer ${token}` }) };
    const response = await fetch(`${url}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    const value = (await response.json()) as T;
    if (!response.ok) throw new Error(JSON.stringify(value));
    return value;
  };
  const credentials = { account: "admin", password: ADMIN_PASSWORD };
  const { accessToken: admin } = await call<{ accessToken: string }>("/auth/login", credentials);
  return {
    deployment,
    url,
    admin,
    auth: (path, body, token = admin) => call(`/v1/auth/${path}`, body, token),
    async statusOf(token, path = "/v1/helloworld/call") {
      const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
      return (await fetch(`${url}${path}`, { method: "POST", headers, body: "{}" })).status;
    },
  };
}

/** A page with at most one form. */
export interface Shown {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Where the response redirects to. */
  readonly location: string | undefined;
  /** The form's fields as they are filled in: name and value. */
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly action: string | undefined;
}

const unescaped = (text: string): string =>
  text
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");

async function shown(response: Response): Promise<Shown> {
  const text = await response.text();
  const fields = [...text.matchAll(/<input type="(\w+)" name="(\w+)"(?: value="([^"]*)")?([^>]*)>/g)]
    .filter(([, type, , , rest]) => type !== "checkbox" || rest?.includes("checked"))
    .map(([, , name = "", value = ""]) => [name, unescaped(value)] as const);
  const days = /<select name="days">.*?<option value="(\d+)" selected/.exec(text)?.[1];
  const action = /<form method="post" action="([^"]*)"/.exec(text)?.[1];
  return {
    ...{ status: response.status, headers: response.headers, text },
    location: response.headers.get("location") ?? undefined,
    fields: days === undefined ? fields : [...fields, ["days", days]],
    action: action === undefined ? undefined : unescaped(action),
  };
}

/** Opens a page. */
export async function visit(url: string, headers: Record<string, string> = {}): Promise<Shown> {
  return shown(await fetch(url, { redirect: "manual", headers }));
}

/** Sends the form of a page, with some fields filled in or replaced; undefined removes a field. */
export async function submit(
  door: Pick<Door, "url">,
  page: Shown,
  filled: Readonly<Record<string, string | readonly string[] | undefined>> = {},
  headers: Record<string, string> = {},
): Promise<Shown> {
  const kept = page.fields.filter(([name]) => !(name in filled));
  const own = Object.entries(filled).flatMap(([name, value]) =>
    value === undefined ? [] : [value].flat().map((one) => [name, one] as [string, string]),
  );
  const body = new URLSearchParams([...kept, ...own] as [string, string][]);
  return shown(
    await fetch(new URL(page.action ?? "", door.url), { method: "POST", redirect: "manual", body, headers }),
  );
}

export const PERSON = { account: "admin", password: ADMIN_PASSWORD };

/** Signs in and allows everything that is offered. Returns where the browser goes on to. */
export async function consent(
  door: Pick<Door, "url">,
  url: string,
  { person = PERSON, ...filled }: { person?: typeof PERSON; [name: string]: unknown } = {},
): Promise<URL> {
  const page = await submit(door, await visit(url), person);
  const done = await submit(door, page, { decision: "allow", ...(filled as Record<string, string>) });
  if (done.location === undefined) throw new Error(`no redirect, but ${done.status}: ${done.text}`);
  return new URL(done.location);
}
