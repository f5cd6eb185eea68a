/**
 * The rows of the table "after the restore" of docs/deploying.md. Each row is a change that is made
 * after the backup, and its effect for clients.
 */
import { createHash } from "node:crypto";
import { Code } from "../../src/errors.js";
import { SessionPage } from "../gateway/page-session.js";
import { consent } from "../oauth/browser.js";
import { bearer, type Installation, type Login } from "./restored-installation.js";

interface Named {
  readonly name: string;
}

interface Account extends Named {
  readonly scopes: readonly string[];
}

interface ApiKey {
  readonly secret: string;
  readonly key: { readonly prefix: string; readonly expires: string };
}

interface Enrolment {
  readonly secret: string;
  readonly enrolment: { readonly id: string };
}

const REDIRECT = "https://app.example/callback";

/** The access token of a grant to a public client. */
async function grantTo(url: string, client: string, person: { account: string; password: string }): Promise<string> {
  const verifier = "v".repeat(43);
  const challenge = createHash("sha256").update(verifier).digest("base64url");
  const asked = new URLSearchParams({
    ...{ response_type: "code", client_id: client, redirect_uri: REDIRECT },
    ...{ code_challenge: challenge, code_challenge_method: "S256", scope: "*:*:*" },
  });
  const back = await consent({ url }, `${url}/oauth/authorize?${asked}`, { person });
  const code = back.searchParams.get("code") ?? "";
  const form = { grant_type: "authorization_code", client_id: client, redirect_uri: REDIRECT };
  const body = new URLSearchParams({ ...form, code, code_verifier: verifier });
  const response = await fetch(`${url}/oauth/token`, { method: "POST", body });
  return ((await response.json()) as { access_token: string }).access_token;
}

/** A change that is made after the backup. */
export interface Change {
  make(): Promise<unknown>;
  /** Returns what clients see. */
  look(): Promise<unknown>;
  /** The result of `look` after the change (`changed`) and after the restore (`restored`). */
  readonly changed: unknown;
  readonly restored: unknown;
}

const PASSWORD = "correct horse battery staple";
const OTHER_PASSWORD = "staple battery horse correct";
const names = (list: readonly { name: string }[]): string[] => list.map(({ name }) => name);

/** A rule for callers without a token. */
const rule = (id: string, access: "GRANTED" | "DENIED", resource: string, priority: number) => ({
  rule: { id, scope: "<public>", access, resource, priority },
});

/**
 * By the first cell of the row: creates the data that the backup contains, and returns the change
 * that is made after the backup.
 */
export const ROWS: Readonly<Record<string, (to: Installation) => Promise<Change>>> = {
  async "rules deleted or tightened since"(to) {
    await to.auth("Rules/Create", rule("closed", "DENIED", "service:*:*", 1));
    await to.auth("Rules/Create", rule("deleted", "GRANTED", "service:helloworld:*", 2));
    await to.auth("Rules/Create", rule("tightened", "GRANTED", "service:id:Id.Generate", 2));
    return {
      async make() {
        await to.auth("Rules/Delete", { id: "deleted" });
        await to.auth("Rules/Delete", { id: "tightened" });
        await to.auth("Rules/Create", rule("tightened", "DENIED", "service:id:Id.Generate", 2));
      },
      look: async () => [await to.status("/helloworld/call", { name: "Ada" }), await to.status("/id/generate", {})],
      changed: [401, 401],
      restored: [200, 200],
    };
  },

  async "limits created or tightened since"(to) {
    await to.auth("Rules/Create", rule("limited", "GRANTED", "service:qr:*", 2));
    const limit = { id: "few", per: "EVERYONE", resource: "service:qr:*", rate: "1000/s" };
    await to.auth("Limits/Create", { limit });
    return {
      async make() {
        await to.auth("Limits/Set", { limit: { ...limit, rate: "1/d", burst: "1" } });
        await to.status("/qr/generate", { text: "Ada" });
      },
      look: () => to.status("/qr/generate", { text: "Ada" }),
      changed: 429,
      restored: 200,
    };
  },

  async "accounts deleted, and scopes removed, since"(to) {
    await to.auth("Accounts/Create", { name: "deleted", password: PASSWORD });
    await to.auth("Accounts/SetScopes", { name: "admin", scopes: ["admin", "staff"] });
    return {
      async make() {
        await to.auth("Accounts/Delete", { name: "deleted" });
        await to.auth("Accounts/SetScopes", { name: "admin", scopes: ["admin"] });
      },
      async look() {
        const { accounts } = await to.auth<{ accounts: Account[] }>("Accounts/List");
        const isThere = names(accounts).includes("deleted");
        const scopes = accounts.find(({ name }) => name === "admin")?.scopes;
        return [isThere && (await to.login("deleted", PASSWORD)), scopes];
      },
      changed: [false, ["admin"]],
      restored: [200, ["admin", "staff"]],
    };
  },

  async "accounts disabled since"(to) {
    await to.auth("Accounts/Create", { name: "disabled", withoutPassword: true });
    const { secret } = await to.auth<ApiKey>("Keys/Create", { name: "of disabled", account: "disabled" });
    return {
      make: () => to.auth("Accounts/SetDisabled", { name: "disabled", disabled: true }),
      look: () => to.whoAmI(secret),
      changed: 401,
      restored: 200,
    };
  },

  async "passwords changed since"(to) {
    await to.auth("Accounts/Create", { name: "changed", password: PASSWORD });
    return {
      make: () => to.auth("Accounts/SetPassword", { name: "changed", newPassword: OTHER_PASSWORD }),
      look: async () => [await to.login("changed", PASSWORD), await to.login("changed", OTHER_PASSWORD)],
      changed: [401, 200],
      restored: [200, 401],
    };
  },

  async "API keys revoked or shortened since"(to) {
    const revoked = await to.auth<ApiKey>("Keys/Create", { name: "revoked" });
    const shortened = await to.auth<ApiKey>("Keys/Create", { name: "shortened" });
    return {
      async make() {
        await to.auth("Keys/Revoke", { prefix: revoked.key.prefix });
        await to.auth("Keys/Rotate", { prefix: shortened.key.prefix, overlap: "60s" });
      },
      async look() {
        const { keys } = await to.auth<{ keys: ApiKey["key"][] }>("Keys/List");
        return Promise.all(
          [revoked, shortened].map(async ({ secret, key: { prefix, expires } }) => {
            const listed = keys.find((key) => key.prefix === prefix);
            return [await to.whoAmI(secret), listed?.expires === expires];
          }),
        );
      },
      changed: [
        [401, false],
        [200, false],
      ],
      restored: [
        [200, true],
        [200, true],
      ],
    };
  },

  async "logins ended since"(to) {
    const login = await to.administrator();
    return {
      make: () => to.status("/auth/logout", {}, bearer(login.accessToken)),
      look: async () => [await to.whoAmI(login.accessToken), await to.refresh(login)],
      changed: [401, 401],
      restored: [200, 200],
    };
  },

  async "page sessions ended since"(to) {
    const password = "correct horse battery";
    await to.auth("Accounts/Create", { name: "reader", password, scopes: [] });
    const page = await SessionPage.open(to.portico.address("HTTP"));
    const { accessToken = "" } = (await page.start({ account: "reader", password })).body;
    return {
      make: () => to.status("/auth/logout", {}, bearer(accessToken)),
      async look() {
        const same = new SessionPage(to.portico.address("HTTP"), page.key);
        same.cookie = page.cookie;
        return (await same.createToken()).status;
      },
      changed: 401,
      restored: 200,
    };
  },

  async "grants ended, and clients deleted, since"(to) {
    const person = { account: "grantor", password: "correct horse battery" };
    await to.auth("Accounts/Create", { name: person.account, password: person.password, scopes: [] });
    const tokens = await Promise.all(
      ["ended", "deleted"].map(async (name) => {
        await to.auth("Clients/Create", { name, redirectUris: [REDIRECT], confidential: false });
        return grantTo(to.portico.address("HTTP"), name, person);
      }),
    );
    return {
      async make() {
        const { grants } = await to.auth<{ grants: { id: string; clientId: string }[] }>("Grants/List");
        await to.auth("Grants/Delete", { id: grants.find(({ clientId }) => clientId === "ended")?.id });
        await to.auth("Clients/Delete", { id: "deleted" });
      },
      async look() {
        const { clients } = await to.auth<{ clients: unknown[] }>("Clients/List");
        return [...(await Promise.all(tokens.map((token) => to.whoAmI(token)))), clients.length];
      },
      changed: [401, 401, 1],
      restored: [200, 200, 2],
    };
  },

  async "people's issuers, and accounts that were linked, deleted or unlinked since"(to) {
    const signIn = { clientId: "portico" };
    for (const name of ["gone", "kept", "free"]) {
      await to.auth("Issuers/Create", { name, url: `https://${name}.example`, signIn, clientSecret: "secret" });
      await to.auth("Accounts/Create", { name: `linked-${name}`, withoutPassword: true });
      await to.auth("Accounts/Link", { name: `linked-${name}`, issuer: name, subject: "1" });
    }
    const isLinked = (issuer: string): Promise<boolean> =>
      to.auth("Accounts/Link", { name: "nobody-else", issuer, subject: "1" }).then(
        () => false,
        ({ message }: Error) => message.includes(`is the account linked-${issuer}`),
      );
    await to.auth("Accounts/Create", { name: "nobody-else", withoutPassword: true });
    return {
      async make() {
        await to.auth("Issuers/Delete", { name: "gone" });
        await to.auth("Accounts/Delete", { name: "linked-kept" });
        await to.auth("Accounts/Unlink", { name: "linked-free" });
      },
      look: () => Promise.all([isLinked("gone"), isLinked("kept"), isLinked("free")]),
      changed: [false, false, false],
      restored: [true, true, true],
    };
  },

  async "enrolments deleted since"(to) {
    const service = await to.auth<Enrolment>("Enrolments/Create", { name: "shop" });
    const gateway = await to.auth<Enrolment>("Enrolments/Create", { name: "gateway" });
    const restored = [await to.join(gateway.secret), await to.join(service.secret), Code.OK];
    return {
      async make() {
        await to.auth("Enrolments/Delete", { name: "gateway", id: gateway.enrolment.id });
        await to.auth("Enrolments/Delete", { name: "shop" });
      },
      look: async () => [
        await to.join(gateway.secret),
        await to.join(service.secret),
        await to.register("shop", service.secret),
      ],
      changed: [Code.UNAUTHENTICATED, Code.UNAUTHENTICATED, Code.UNAUTHENTICATED],
      restored,
    };
  },

  async "namespaces deleted since"(to) {
    const { adminPassword } = await to.auth<{ adminPassword: string }>("Namespaces/Create", { name: "deleted" });
    return {
      make: () => to.auth("Namespaces/Delete", { name: "deleted" }),
      async look() {
        const { namespaces } = await to.auth<{ namespaces: Named[] }>("Namespaces/List");
        return names(namespaces).includes("deleted") && (await to.login("admin", adminPassword, "deleted"));
      },
      changed: false,
      restored: 200,
    };
  },

  async "everything created since"(to) {
    let key: ApiKey | undefined;
    let enrolment: Enrolment | undefined;
    let login: Login | undefined;
    return {
      async make() {
        await to.auth("Rules/Create", rule("created", "GRANTED", "service:id:Id.Types", 2));
        await to.auth("Accounts/Create", { name: "created", password: PASSWORD });
        key = await to.auth<ApiKey>("Keys/Create", { name: "created" });
        enrolment = await to.auth<Enrolment>("Enrolments/Create", { name: "created" });
        login = await to.administrator();
      },
      async look() {
        const { accounts } = await to.auth<{ accounts: Account[] }>("Accounts/List");
        return {
          rule: await to.status("/id/types", {}),
          account: names(accounts).includes("created"),
          key: await to.whoAmI(key!.secret),
          enrolment: await to.register("created", enrolment!.secret),
          login: [await to.whoAmI(login!.accessToken), await to.refresh(login!)],
        };
      },
      changed: { rule: 200, account: true, key: 200, enrolment: Code.OK, login: [200, 200] },
      restored: { rule: 401, account: false, key: 401, enrolment: Code.UNAUTHENTICATED, login: [401, 401] },
    };
  },
};
