// What a configuration file says wrongly is reported with its line and column.
import t from "tap";
import { readConfiguration } from "../../../cli/configuration/read.js";
import { schemaOfConfiguration } from "../../../cli/configuration/schema.js";
import { EXIT } from "../../../cli/terminal/exit.js";

const RULE = "rules:\n  - id: a\n    access: granted\n    scope: '*'\n    resource: '*:*:*'\n";

const wrong: readonly [what: string, text: string, ...problems: string[]][] = [
  [
    "no YAML",
    "rules: [",
    "f.yaml:1:9: Flow sequence in block collection must be sufficiently indented and end with a ]",
  ],
  ["a list", "- rules", "f.yaml:1:1: must have sections: rules, limits, accounts, services, issuers, trusts"],
  ["nothing", "", "f.yaml:1:1: must have sections: rules, limits, accounts, services, issuers, trusts"],
  [
    "two documents",
    `${RULE}---\n${RULE}`,
    "f.yaml:6:1: Source contains multiple documents; please use YAML.parseAllDocuments()",
  ],
  ["a section twice", `${RULE}rules: []\n`, "f.yaml:6:1: Map keys must be unique"],
  ["an unknown section", "rule: []\n", "f.yaml:1:1: there is no section rule; did you mean rules?"],
  ["no list", "rules:\n  a: b\n", "f.yaml:2:3: rules must be a list; [] for none"],
  ["a list that is commented out", "rules:\n#  - id: a\n", "f.yaml:1:1: rules must be a list; [] for none"],
  ["no item", "rules:\n  - a\n", "f.yaml:2:5: must be a rule with id"],
  ["an unknown field", `${RULE}    prority: 5\n`, "f.yaml:6:5: a rule has no field prority; did you mean priority?"],
  ["a missing field", "accounts:\n  - scopes: []\n", "f.yaml:2:5: name is missing"],
  ["another word", RULE.replace("granted", "allowed"), "f.yaml:3:13: access must be granted or denied"],
  ["no text", "accounts:\n  - name: 5\n", "f.yaml:2:11: name must be a text; put a number in quotes"],
  ["no number", `${RULE}    priority: high\n`, "f.yaml:6:15: priority must be a whole number"],
  ["no boolean", `${RULE}    disabled: "true"\n`, "f.yaml:6:15: disabled must be true or false"],
  ["one text", "accounts:\n  - name: a\n    scopes: staff\n", "f.yaml:3:13: scopes must be a list of texts"],
  [
    "an option of a service",
    "services:\n  - name: a\n    targets: [h:1]\n    callTime: soon\n    status: [12]\n",
    "f.yaml:5:13: status must be a list of texts",
  ],
  [
    "a value of an option",
    "services:\n  - name: a\n    targets: [h:1]\n    maxConcurrent: 0\n",
    "f.yaml:4:20: maxConcurrent must be a whole number from 1 to 100000",
  ],
  [
    "several",
    "rules:\n  - id: a\nlimits:\n  - x\n",
    "f.yaml:2:5: access is missing",
    "f.yaml:2:5: scope is missing",
    "f.yaml:2:5: resource is missing",
    "f.yaml:4:5: must be a limit with id",
  ],
  ["a tag that is not known", "accounts:\n  - name: !vault a\n", "f.yaml:2:11: Unresolved tag: !vault"],
  ["no account", "accounts:\n  - a\n", "f.yaml:2:5: must be an account with name"],
  [
    "more than fits into memory",
    `accounts:\n  - &x {name: a, scopes: [${"b,".repeat(2_000)}]}\n${"  - *x\n".repeat(1_000)}`,
    "f.yaml: has more than 1000000 values",
  ],
  ["an alias without an anchor", "accounts: *x\n", "f.yaml:1:11: there is no anchor &x before"],
];

for (const [what, text, ...problems] of wrong) {
  t.test(`${what} is refused with its place`, async (t) => {
    t.throws(() => readConfiguration(text, "f.yaml"), { message: problems.join("\n"), exit: EXIT.usage });
  });
}

t.test("the schema for editors has the sections, their fields, and what is required", async (t) => {
  const { properties } = JSON.parse(schemaOfConfiguration());
  t.same(Object.keys(properties), ["rules", "limits", "accounts", "services", "issuers", "trusts"]);
  const { required, properties: fields, additionalProperties } = properties.rules.items;
  t.same(required, ["id", "access", "scope", "resource"]);
  t.match(fields.access, { type: "string", enum: ["granted", "denied"] });
  t.match(fields.priority, { type: "integer", default: 0 });
  t.equal(additionalProperties, false);
});

t.test("of many problems, the first 20 are reported", async (t) => {
  const text = `rules:\n${"  - x\n".repeat(25)}`;
  t.throws(() => readConfiguration(text, "f.yaml"), { message: /(?:.*\n){20}and 5 more$/ });
});

t.test("the place that the authority refuses is found, or the place of its item", async (t) => {
  const text = `${RULE}services:\n  - name: a\n    targets:\n      - h:1\n      - h:2\n    httpRules: x\n`;
  const { placeOf } = readConfiguration(text, "f.yaml");
  t.same(
    [
      "rules[0].scope",
      "rules[0].nothing",
      "rules[7]",
      "services[0].targets[1].address",
      "services[0].options.http_rules",
    ].map(placeOf),
    ["f.yaml:4:12", "f.yaml:2:5", "f.yaml:2:3", "f.yaml:10:9", "f.yaml:11:16"],
  );
});

t.test("an alias stands for the last node before it that has its anchor", async (t) => {
  const text = "accounts:\n  - name: &x a\n  - name: *x\n    scopes: [&x b, *x]\n";
  const { configuration } = readConfiguration(text, "f.yaml");
  t.same(configuration.accounts, { accounts: [{ name: "a" }, { name: "a", scopes: ["b", "b"] }] });
});

t.test("the time to read many aliases grows with their number, not with its square", async (t) => {
  const read = (aliases: number): number => {
    const began = performance.now();
    readConfiguration(`accounts:\n  - &x {name: a}\n${"  - *x\n".repeat(aliases)}`, "f.yaml");
    return performance.now() - began;
  };
  read(1_000);
  const [few, many] = [Math.min(read(1_000), read(1_000)), read(16_000)];
  t.ok(many < few * 100, `${few} ms, ${many} ms`);
});

t.test("aliases are read, and a section may be empty", async (t) => {
  const text = "accounts:\n  - name: a\n    scopes: &all [x, y]\n  - name: b\n    scopes: *all\nrules: []\n";
  t.same(readConfiguration(text, "f.yaml").configuration, {
    accounts: {
      accounts: [
        { name: "a", scopes: ["x", "y"] },
        { name: "b", scopes: ["x", "y"] },
      ],
    },
    rules: { rules: [] },
  });
});
