// A list in the formats for people and for programs.
import t from "tap";
import { parse } from "yaml";
import { type Column, type Format, printList, printResponse } from "../../../cli/terminal/output.js";
import { ioOf } from "../command-line.js";

interface Rule {
  readonly id: string;
  readonly access: string;
}

const COLUMNS: Column<Rule>[] = [
  ["ID", ({ id }) => id],
  ["Access", ({ access }) => access, (access) => (access === "GRANTED" ? "green" : "red")],
];
const RULES: Rule[] = [
  { id: "onlyloggedin", access: "GRANTED" },
  { id: "evil\u001b[2J\u202e", access: "DENIED" },
];

async function printed(format: Format, options: { terminal?: boolean; rules?: Rule[] } = {}): Promise<string> {
  const { io, outcome } = ioOf(options);
  await printList(io, format, options.rules ?? RULES, COLUMNS);
  return outcome(0).stdout;
}

t.test("a table has two spaces between columns and none at the end of a line", async (t) => {
  t.equal(
    await printed(undefined),
    ["ID                   Access", "onlyloggedin         GRANTED", "evil\\u001b[2J\\u202e  DENIED", ""].join("\n"),
  );
});

t.test("the colours of a table on a terminal do not count as width", async (t) => {
  const text = await printed(undefined, { terminal: true, rules: RULES.slice(0, 1) });
  t.equal(
    text,
    "\u001b[1mID\u001b[22m            \u001b[1mAccess\u001b[22m\nonlyloggedin  \u001b[32mGRANTED\u001b[39m\n",
  );
});

t.test("an empty table is only a header", async (t) =>
  t.equal(await printed(undefined, { rules: [] }), "ID  Access\n"),
);

t.test("json and yaml have the exact values, with control characters escaped", async (t) => {
  for (const [format, read] of [
    ["json", (text: string): unknown => JSON.parse(text)],
    ["yaml", (text: string): unknown => parse(text)],
  ] as const) {
    for (const terminal of [false, true]) {
      const text = await printed(format, { terminal });
      t.same(read(text), RULES);
      t.notOk(text.includes("\u001b") || text.includes("\u202e"));
    }
  }
});

t.test("name prints only the first column", async (t) => {
  t.equal(await printed("name"), "onlyloggedin\nevil\\u001b[2J\\u202e\n");
});

t.test("a response keeps its numbers and its order: -0 stays -0", async (t) => {
  const response = '{"b":-0,"10":1e400,"2":12345678901234567890,"a":[],"c":{},"d":[1,{"e":"x:{,\\"y"}]}';
  const shown = async (terminal: boolean) => {
    const { io, outcome } = ioOf({ terminal });
    await printResponse(io, undefined, response);
    return outcome(0).stdout;
  };
  t.equal(await shown(false), `${response}\n`, "as it came");
  t.equal(
    await shown(true),
    `{
  "b": -0,
  "10": 1e400,
  "2": 12345678901234567890,
  "a": [],
  "c": {},
  "d": [
    1,
    {
      "e": "x:{,\\"y"
    }
  ]
}
`,
    "indented on a terminal",
  );
});
