// The syntax of a rule, and the errors for its author.
import t from "tap";
import { Access, checkRule, type Rule, RuleSet } from "../../src/access/decide/rules.js";
import { checkScope } from "../../src/contract/scope.js";

const good: Rule = { id: "a", scope: "*", access: Access.GRANTED, resource: "*:*:*", priority: 0, disabled: false };

const accepted: readonly Partial<Rule>[] = [
  { id: "0" },
  { id: "a.b_c-D" },
  { id: "x".repeat(64) },
  { scope: "<public>" },
  { scope: "staff" },
  { scope: "team:billing/eu" },
  { scope: "two words" },
  { scope: "équipe" },
  { scope: "x".repeat(128) },
  { access: Access.DENIED },
  { resource: "service:helloworld:Helloworld.Call" },
  { resource: "SERVICE:hello*:*" },
  { resource: "service:my-service:pkg.v1.My_Service.Do*" },
  { resource: `s:n:${"e".repeat(252)}` },
  { priority: 2 ** 31 - 1 },
  { priority: -(2 ** 31) },
];
for (const part of accepted) {
  t.test(`accepted: ${JSON.stringify(part)}`, async (t) =>
    t.same(checkRule({ ...good, ...part }), { ...good, ...part }),
  );
}

const refused: readonly [part: Partial<Rule>, message: RegExp][] = [
  [{ id: "" }, /^id "" must be 1 to 64 letters, digits, \. _ or -, and start with a letter or digit$/],
  [{ id: "x".repeat(65) }, /^id "x{64}" must/],
  [{ id: ".a" }, /^id /],
  [{ id: "-a" }, /^id /],
  [{ id: "a b" }, /^id /],
  [{ id: "a\n" }, /^id "a\?" /],
  [{ id: "é" }, /^id /],
  [{ scope: "" }, /^scope is missing/],
  [{ scope: "x".repeat(129) }, /^scope is longer than 128 characters$/],
  [{ scope: "a\nb" }, /^scope "a\?b" must be <public>, \* or a name/],
  [{ scope: "a\u001b[31m" }, /^scope "a\?\[31m" /],
  [{ scope: "a\u202eb" }, /^scope "a\?b" /], // reverses the direction of the following text
  [{ scope: " a" }, /^scope /],
  [{ scope: "a " }, /^scope /],
  [{ scope: "<Public>" }, /^scope "<Public>" must be <public>/],
  [{ scope: "staff*" }, /^scope /],
  [{ access: Access.ACCESS_UNSPECIFIED }, /^access must be granted or denied$/],
  [{ access: Access.UNRECOGNIZED }, /^access /],
  [{ access: 3 as Access }, /^access /],
  [{ resource: "" }, /^resource "" must have three segments, type:name:endpoint, such as \*:\*:\*$/],
  [{ resource: "service:helloworld" }, /^resource "service:helloworld" must have three segments/],
  [
    { resource: "shop:Shop.Buy" },
    /^resource "shop:Shop.Buy" must have three segments; an endpoint of a service is service:shop:Shop.Buy$/,
  ],
  [{ resource: "a:b:c:d" }, /^resource "a:b:c:d" must have three segments/],
  [{ resource: "service::x" }, /^resource "service::x": segment "" must be a literal, \*, or a literal ending in \*/],
  [{ resource: "service:a*b:x" }, /: segment "a\*b" must be/],
  [{ resource: "service:*b:x" }, /: segment "\*b" must be/],
  [{ resource: "service:**:x" }, /: segment "\*\*" must be/],
  [{ resource: "service:a b:x" }, /: segment "a b" must be/],
  [{ resource: "service:é:x" }, /: segment "é" must be/],
  [{ resource: "service:a:x\n" }, /: segment "x\?" must be/],
  [{ resource: `s:n:${"e".repeat(253)}` }, /^resource is longer than 256 bytes$/],
  [{ priority: 2 ** 31 }, /^priority must be a whole number from -2147483648 to 2147483647$/],
  [{ priority: -(2 ** 31) - 1 }, /^priority /],
  [{ priority: 0.5 }, /^priority /],
  [{ priority: Number.NaN }, /^priority /],
];
for (const [part, message] of refused) {
  t.test(`refused: ${JSON.stringify(part).slice(0, 60)}`, async (t) => {
    t.throws(() => checkRule({ ...good, ...part }), { name: "SyntaxError", message });
  });
}

t.test("members that do not belong to a rule are removed", async (t) => {
  t.same(Object.keys(checkRule({ ...good, _unknownFields: { 9: [] } })), Object.keys(good));
});

t.test("an account cannot have the scopes that mean everyone", async (t) => {
  t.throws(() => checkScope("*"), SyntaxError);
  t.throws(() => checkScope("<public>"), SyntaxError);
});

t.test("a rule that cannot be understood is an error, and is never ignored", async (t) => {
  t.throws(() => RuleSet.compile([{ ...good, access: 3 as Access }]), { message: /^rule "a": access 3 is neither/ });
  t.throws(() => RuleSet.compile([{ ...good, resource: "x" }]), { message: /three segments/ });
  t.throws(() => RuleSet.compile([good, good]), { message: 'rule "a" is there already' });
});

t.test("deleting a rule that does not exist returns false", async (t) => t.equal(new RuleSet().delete("x"), false));
