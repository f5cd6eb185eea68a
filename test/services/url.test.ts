import t from "tap";
import { parts } from "../../services/url/url.js";
import { Code } from "../../src/errors.js";
import { serveCatalogue } from "../support/catalogue.js";

const address = "https://example.com/a/long/path?with=query";

t.test("a link is created, resolved, changed, listed and deleted", async (t) => {
  const { call } = serveCatalogue(t, "url", parts);
  const created = await call("Create", { name: "docs", address });
  t.match(created, { name: "docs", address });
  t.same(await call("Resolve", { name: "docs" }), { address });

  const other = "https://example.com/another/path";
  const updated = await call("Update", { name: "docs", address: other });
  t.match(updated, { name: "docs", address: other, created: created.created });
  t.same(await call("Resolve", { name: "docs" }), { address: other });
  t.same(await call("List"), { links: [updated], next: "" });

  t.same(await call("Delete", { name: "docs" }), {});
  await t.rejects(call("Resolve", { name: "docs" }), { code: Code.NOT_FOUND });
  t.same(await call("List"), { links: [], next: "" });
});

t.test("Shorten generates a random name of 7 letters and digits", async (t) => {
  const { call } = serveCatalogue(t, "url", parts);
  const names = await Promise.all(Array.from({ length: 20 }, async () => (await call("Shorten", { address })).name));
  for (const name of names) t.match(name, /^[A-Za-z0-9]{7}$/);
  t.equal(new Set(names).size, names.length);
  t.same(await call("Resolve", { name: names[0] }), { address });
});

t.test("one of 64 concurrent calls for a name gets it", async (t) => {
  const { call } = serveCatalogue(t, "url", parts);
  const race = Array.from({ length: 64 }, (_, racer) =>
    call("Create", { name: "docs", address: `https://example.com/${racer}` }, { account: `racer-${racer}` }),
  );
  const settled = await Promise.allSettled(race);
  const won = settled.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
  t.equal(won.length, 1);
  t.same(await call("Resolve", { name: "docs" }), { address: won[0].address });
  for (const result of settled) if (result.status === "rejected") t.equal(result.reason.code, Code.ALREADY_EXISTS);
});

t.test("a list of links continues after the last name of a page", async (t) => {
  const { call } = serveCatalogue(t, "url", parts);
  for (const name of ["c", "a", "b"]) await call("Create", { name, address });
  const first = await call("List", { limit: 2 });
  t.same(
    first.links.map(({ name }: { name: string }) => name),
    ["a", "b"],
  );
  const second = await call("List", { limit: 2, after: first.next });
  t.same(
    second.links.map(({ name }: { name: string }) => name),
    ["c"],
  );
  t.equal(second.next, "");
});

t.test("only the account that created a link lists, changes and deletes it; every caller resolves it", async (t) => {
  const { call } = serveCatalogue(t, "url", parts);
  await call("Create", { name: "docs", address });
  const bob = { account: "bob" };
  t.same((await call("List", {}, bob)).links, []);
  await t.rejects(call("Update", { name: "docs", address }, bob), { code: Code.NOT_FOUND });
  await t.rejects(call("Delete", { name: "docs" }, bob), { code: Code.NOT_FOUND });
  await t.rejects(call("Create", { name: "docs", address }, bob), { code: Code.ALREADY_EXISTS });
  t.same(await call("Resolve", { name: "docs" }, { account: undefined }), { address });
});

t.test("namespaces do not share names", async (t) => {
  const { call } = serveCatalogue(t, "url", parts);
  await call("Create", { name: "docs", address });
  await t.rejects(call("Resolve", { name: "docs" }, { namespace: "other" }), { code: Code.NOT_FOUND });
  await call("Create", { name: "docs", address: "https://example.org/" }, { namespace: "other" });
  t.same(await call("Resolve", { name: "docs" }), { address });
});

const { call } = serveCatalogue(t, "url", parts);

const OWN = {
  Create: { name: "a", address },
  Shorten: { address },
  List: {},
  Update: { name: "a", address },
  Delete: { name: "a" },
};

for (const [endpoint, request] of Object.entries(OWN)) {
  t.test(`${endpoint} needs an account`, async (t) => {
    await t.rejects(call(endpoint, request, { account: undefined }), { code: Code.UNAUTHENTICATED });
  });
}

const WRONG = [
  { endpoint: "Create", request: { name: "", address }, field: "name" },
  { endpoint: "Create", request: { name: "a/b", address }, field: "name" },
  { endpoint: "Create", request: { name: "x".repeat(65), address }, field: "name" },
  { endpoint: "Create", request: { name: "a" }, field: "address" },
  { endpoint: "Shorten", request: { address: "example.com" }, field: "address" },
  { endpoint: "Shorten", request: { address: "//example.com/" }, field: "address" },
  // A page that follows the link would run it.
  { endpoint: "Shorten", request: { address: "javascript:alert(1)" }, field: "address" },
  { endpoint: "Shorten", request: { address: "https://ada:secret@example.com/" }, field: "address" },
  { endpoint: "Shorten", request: { address: "https://example.com/a b" }, field: "address" },
  { endpoint: "Shorten", request: { address: "https://" }, field: "address" },
  { endpoint: "Shorten", request: { address: `https://example.com/${"x".repeat(2048)}` }, field: "address" },
  { endpoint: "Resolve", request: {}, field: "name" },
  { endpoint: "List", request: { limit: 101 }, field: "limit" },
  { endpoint: "List", request: { after: "a/b" }, field: "after" },
];

/**
 * Characters that are invisible or change how other characters look. A URL parser would remove some
 * of them.
 */
const UNSEEN = ["\0", "\r\n", "\t", "\u001b", "\u007f", "\u0085", "\u00ad", "\u061c", "\u200b", "\u200f", "\u2028"];
UNSEEN.push("\u2029", "\u202e", "\u2060", "\u2066", "\u2069", "\ufeff", "\ufff9", "\ue000", "\u{e0001}");

for (const character of UNSEEN) {
  t.test(
    `an address or name with U+${character.codePointAt(0)!.toString(16)} is refused, and the field is named`,
    async (t) => {
      const refused = (field: string) => ({
        code: Code.INVALID_ARGUMENT,
        message: new RegExp(`^${field}: must not have`),
      });
      for (const wrong of [`${address}${character}`, `${character}${address}`, `https://exa${character}mple.com/`]) {
        await t.rejects(call("Create", { name: "a", address: wrong }), refused("address"));
        await t.rejects(call("Shorten", { address: wrong }), refused("address"));
        await t.rejects(call("Update", { name: "a", address: wrong }), refused("address"));
      }
      for (const name of [`a${character}`, `${character}a`]) {
        await t.rejects(call("Create", { name, address }), { code: Code.INVALID_ARGUMENT, message: /^name: / });
      }
    },
  );
}

t.test("an address may have letters of any language, and percent-encoded characters", async (t) => {
  for (const fine of [
    "https://example.com/ß/日本語/مرحبا",
    "https://bücher.example/",
    "https://example.com/%0d%0a%00",
  ]) {
    t.match(await call("Shorten", { address: fine }), { address: fine });
  }
});

for (const { endpoint, request, field } of WRONG) {
  t.test(`${endpoint} refuses ${JSON.stringify(request).slice(0, 60)} and names the field`, async (t) => {
    await t.rejects(call(endpoint, request), { code: Code.INVALID_ARGUMENT, message: new RegExp(`^${field}: `) });
  });
}
