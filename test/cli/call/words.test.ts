// The words after a service and its endpoint are the fields of the request.
import t from "tap";
import { type NamedValue, readWords } from "../../../cli/call/words.js";

const rows: [words: string, endpoint: string | undefined, fields: NamedValue[]][] = [
  ["call --name=Ada", "call", [["name", "Ada"]]],
  ["call --name Ada", "call", [["name", "Ada"]]],
  ["--name=Ada", undefined, [["name", "Ada"]]],
  ["", undefined, []],
  ["Helloworld/Call", "Helloworld/Call", []],
  ["orders get --id=5", "orders/get", [["id", "5"]]],
  ["call --name=a=b", "call", [["name", "a=b"]]],
  ["call --name=", "call", [["name", ""]]],
  ["call --record.items.price=1", "call", [["record.items.price", "1"]]],
  [
    "call --tag=a --tag=b",
    "call",
    [
      ["tag", "a"],
      ["tag", "b"],
    ],
  ],
  ["call --labels[a-b]=c", "call", [["labels[a-b]", "c"]]],
  ["call --user-id=7", "call", [["user_id", "7"]]], // a dash is easier to type than the contract's underscore
  ["call --count -5", "call", [["count", "-5"]]], // one dash begins a value, two dashes a field
  ["call --name=a\nb", "call", [["name", "a\nb"]]],

  // The next word cannot be the value of this field.
  ["call --loud", "call", [["loud", undefined]]],
  [
    "call --loud --name=Ada",
    "call",
    [
      ["loud", undefined],
      ["name", "Ada"],
    ],
  ],
  ["call --name -o json", "call", [["name", undefined]]],
  ["call --name -h", "call", [["name", undefined]]],
  ["call --output json", "call", [["output", "json"]]], // `--output` may be a field
];
for (const [words, endpoint, fields] of rows) {
  const read = readWords(
    "helloworld",
    words.split(" ").filter((word) => word !== ""),
  );
  t.equal(read.endpoint, endpoint, `the endpoint of ${words}`);
  t.same(read.fields, fields, `the fields of ${words}`);
}

for (const words of ["call -o yaml", "call --name=Ada -oyaml", "-o=yaml", "call -o yaml --name Ada"]) {
  t.equal(readWords("helloworld", words.split(" ")).output, "yaml", `the format of ${words}`);
}

const wrong: [words: string, message: RegExp][] = [
  ["call --name=Ada Bob", /^What is "Bob"\?/],
  ["orders get now", /^What is "now"\?/],
  ["call -n Ada", /^What is "-n"\?/],
  ["call -o xml", /^-o takes json, yaml, name/],
  ["call -o", /^-o takes json, yaml, name/],
];
for (const [words, message] of wrong) {
  t.throws(() => readWords("shop", words.split(" ")), { message, exit: 2 }, words);
}
