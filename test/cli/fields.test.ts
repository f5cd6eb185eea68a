// The words after a service and its endpoint are the fields of the request.
import t from "tap";
import { readWords } from "../../src/cli/call-service.js";

const rows: [words: string[], endpoint: string | undefined, query: string][] = [
  [["call", "--name=Ada"], "call", "name=Ada"],
  [["call", "--name", "Ada"], "call", "name=Ada"],
  [["--name=Ada"], undefined, "name=Ada"],
  [[], undefined, ""],
  [["Helloworld/Call"], "Helloworld/Call", ""],
  [["call", "--name=a=b"], "call", "name=a%3Db"],
  [["call", "--name="], "call", "name="],
  [["call", "--record.items.price=1"], "call", "record.items.price=1"],
  [["call", "--tag=a", "--tag=b"], "call", "tag=a&tag=b"],
  [["call", "--labels[a-b]=c"], "call", "labels%5Ba-b%5D=c"],
  [["call", "--user-id=7"], "call", "user_id=7"], // a dash is easier to type than the underscore of the contract
  [["call", "--loud"], "call", "loud=true"],
  [["call", "--loud", "--name=Ada"], "call", "loud=true&name=Ada"],
  [["call", "--count", "-5"], "call", "count=-5"], // one dash begins a value, two a field
  [["call", "--name=a\nb"], "call", "name=a%0Ab"],
];
for (const [words, endpoint, query] of rows) {
  const read = readWords("helloworld", words);
  t.equal(read.endpoint, endpoint, `the endpoint of ${words.join(" ")}`);
  t.equal(read.fields.toString(), query, `the fields of ${words.join(" ")}`);
}

t.throws(() => readWords("helloworld", ["call", "--name=Ada", "Bob"]), { message: /What is "Bob"\?/, exit: 2 });
t.throws(() => readWords("helloworld", ["call", "-n", "Ada"]), { message: /What is "-n"\?/, exit: 2 });
