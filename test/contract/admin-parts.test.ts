// Which part of administration each endpoint needs. A new endpoint for administrators is red here
// until its part is declared and listed.
import { getOption, hasExtension } from "@bufbuild/protobuf";
import t from "tap";
import { decideByDeclaration } from "../../src/access/decide/declaration.js";
import { AdminPart, administers, isAdminScope } from "../../src/contract/admin-parts.js";
import { descriptorsOf } from "../../src/contract/built-in-files.js";
import { Callers, endpointsOf, readDescriptors } from "../../src/contract/endpoint.js";

const OWN = {
  auth: [
    "Auth",
    "Rules",
    "Limits",
    "Accounts",
    "Keys",
    "Namespaces",
    "Enrolments",
    "Names",
    "Audit",
    "Usage",
    "Refusals",
  ],
  registry: ["Registry", "Services"],
};

const registry = readDescriptors(descriptorsOf());
const endpoints = Object.entries(OWN).flatMap(([service, grpcServices]) =>
  endpointsOf(
    service,
    registry,
    grpcServices.map((name) => `portico.${service}.v1.${name}`),
  ),
);

/** The endpoints of each part: those for administrators, then those that any account may call. */
const PARTS: Readonly<Partial<Record<keyof typeof AdminPart, readonly [admin: string, account: string]>>> = {
  WHOLE: [
    `Enrolments.Create Enrolments.Delete Enrolments.List Names.List Names.Release Namespaces.Create Namespaces.Delete
     Namespaces.List Services.Delete Services.List Services.Put`,
    "",
  ],
  RULES: [
    `Limits.Create Limits.Delete Limits.List Limits.Set Rules.Create Rules.Delete Rules.Explain Rules.List Rules.Preview
     Rules.Set`,
    "Limits.Show",
  ],
  ACCOUNTS: [
    "Accounts.Create Accounts.Delete Accounts.Link Accounts.List Accounts.SetDisabled Accounts.SetScopes Accounts.Unlink",
    "Accounts.SetPassword",
  ],
  KEYS: ["", "Keys.Create Keys.List Keys.Revoke Keys.Rotate"],
  AUDIT: ["Audit.Export Audit.List", "Refusals.Find Refusals.List Usage.List"],
};

/** Those for administrators that are for administrators of some resources too. */
const SOME_RESOURCES = PARTS.RULES![0];

const option = registry.getExtension("portico.options.v1.admin_part")!;

t.test("every endpoint for administrators declares the part that it needs", async (t) => {
  for (const { name, callers, method } of endpoints) {
    if (callers !== Callers.ADMIN) continue;
    const { options } = method.proto;
    const declared = options !== undefined && hasExtension(options, option) && getOption(method, option);
    t.ok(declared, `${name} needs: option (portico.options.v1.admin_part) = …;`);
  }
});

t.test("each part has these endpoints", async (t) => {
  for (const [part, listed] of Object.entries(PARTS)) {
    for (const [index, callers] of [Callers.ADMIN, Callers.ACCOUNT].entries()) {
      const number = AdminPart[part as keyof typeof AdminPart];
      const found = endpoints.filter((one) => one.callers === callers && one.adminPart === number);
      const names = found.map(({ name }) => name.slice(name.indexOf(":") + 1)).sort();
      t.same(names, listed[index]!.split(/\s+/).filter(Boolean), `${part}, for ${Callers[callers]}`);
    }
  }
});

t.test("who administers some resources may call the endpoints that check them", async (t) => {
  const found = endpoints.filter(({ callers, someResources }) => callers === Callers.ADMIN && someResources);
  const names = found.map(({ name }) => name.slice(name.indexOf(":") + 1)).sort();
  t.same(names, SOME_RESOURCES.split(/\s+/));
  const caller = { ...{ namespace: "default", account: "dora", resources: [], expires: Number.POSITIVE_INFINITY } };
  for (const endpoint of endpoints.filter(({ callers }) => callers === Callers.ADMIN)) {
    const scopes = ["admin:on:service:orders:*"];
    const expected = endpoint.someResources ? "granted" : "forbidden";
    t.equal(decideByDeclaration(endpoint, { ...caller, scopes }), expected, endpoint.name);
    t.equal(decideByDeclaration(endpoint, { ...caller, scopes, callsOnly: true }), "forbidden", "by a key that calls");
    for (const scope of ["admin:on:*:*:*", "admin:on:service:*:*", "admin:on:", "admin:on", "admin:On:service:x:*"])
      t.equal(decideByDeclaration(endpoint, { ...caller, scopes: [scope] }), "forbidden", `${scope} gives nothing`);
  }
});

t.test("a scope gives its part, and the scope admin each part", async (t) => {
  const { RULES, ACCOUNTS, KEYS, AUDIT, WHOLE } = AdminPart;
  const all = [WHOLE, RULES, ACCOUNTS, KEYS, AUDIT];
  const cases: [scopes: string[], parts: AdminPart[], why?: string][] = [
    [[], []],
    [["staff"], []],
    [["admin"], all],
    [["admin:rules"], [RULES]],
    [["admin:accounts", "staff"], [ACCOUNTS]],
    [
      ["admin:keys", "admin:audit"],
      [KEYS, AUDIT],
    ],
    [["Admin", "admin:", "admin:everything", "administrator", "admin "], [], "other scopes give nothing"],
    [["admin:on:service:orders:*"], [], "some resources are no part, so versions that know only parts give nothing"],
    [["admin:rules", "admin:accounts", "admin:keys", "admin:audit"], [RULES, ACCOUNTS, KEYS, AUDIT], "never the whole"],
  ];
  for (const [scopes, parts, why] of cases) {
    const given = all.filter((part) => administers({ scopes }, part));
    t.same(given, parts.toSorted(), why ?? scopes.join(", "));
    t.same(administers({ scopes }), parts.includes(WHOLE));
    t.notOk(
      all.some((part) => administers({ scopes, callsOnly: true }, part)),
      "a key that administers nothing",
    );
  }
  for (const scope of ["admin", "admin:rules", "admin:later"]) t.ok(isAdminScope(scope), scope);
  for (const scope of ["administrators", "team:admin", "Admin"]) t.notOk(isAdminScope(scope), scope);
});
