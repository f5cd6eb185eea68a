// The search of the list: which words find which services, and in which order.
import t from "tap";
import { chunks, search, wordsOf } from "../../../gateway/web/explore/search.js";

const SERVICES = [
  service("billing", "Writes invoices and takes payments.", ["Invoices.Create", "Invoices.SendByMail"]),
  service("mail", "Sends letters.", ["Mail.Send"]),
  service("people", "Knows customers.", ["People.Find"]),
];
const FIELDS = new Map([
  ["billing Invoices.Create", ["customerName", "dueDate", "amount"]],
  ["people People.Find", ["name", "mailAddress"]],
]);

function service(name: string, summary: string, endpoints: readonly string[]) {
  return { name, summary, endpoints: endpoints.map((endpoint) => ({ name: endpoint, summary: "" })) };
}

const found = (query: string) =>
  search(SERVICES, query, (name, endpoint) => FIELDS.get(`${name} ${endpoint}`)).map(({ service }) => service.name);

const CASES: readonly { query: string; services: readonly string[]; why: string }[] = [
  { query: "", services: ["billing", "mail", "people"], why: "everything, in the given order" },
  { query: "  ", services: ["billing", "mail", "people"], why: "blanks are no words" },
  { query: "mail", services: ["mail", "billing", "people"], why: "a service's name counts most, then an endpoint's" },
  { query: "MAIL", services: ["mail", "billing", "people"], why: "in any case" },
  { query: "letters", services: ["mail"], why: "a word of the summary" },
  { query: "due", services: ["billing"], why: "the beginning of a field" },
  { query: "date", services: ["billing"], why: "a word inside a field's name" },
  { query: "mail send", services: ["mail", "billing"], why: "each word somewhere" },
  { query: "billing/Invoices.Create", services: ["billing"], why: "a path, as it is copied" },
  { query: "billing:Invoices", services: ["billing"], why: "a resource" },
  { query: "mail due", services: ["billing"], why: "words at different places of one service" },
  { query: "invoices letters", services: [], why: "not of two" },
  { query: ".*", services: [], why: "no pattern" },
];

t.test("services are found by a word, the best matches first", async (t) => {
  for (const { query, services, why } of CASES) t.same(found(query), services, `${JSON.stringify(query)}: ${why}`);
});

t.test("the search names the endpoints and fields in which a word was found", async (t) => {
  const [billing] = search(SERVICES, "name", (name, endpoint) => FIELDS.get(`${name} ${endpoint}`)).filter(
    ({ service }) => service.name === "billing",
  );
  t.same(billing?.endpoints, [{ name: "Invoices.Create", fields: ["customerName"] }]);
});

t.test("finds names and texts while the names of fields are not loaded", async (t) => {
  const names = search(SERVICES, "mail", () => undefined).map(({ service }) => service.name);
  t.same(names, ["mail", "billing"]);
});

t.test("the search marks the words that were found", async (t) => {
  t.same(chunks("Sends mail by Mail", ["mail"]), ["Sends ", "mail", " by ", "Mail", ""]);
  t.same(chunks("Sendmail", ["mail", "sendmail"]), ["", "Sendmail", ""], "the longer word first");
  t.same(chunks("a (b) c", wordsOf("(b)")), ["a ", "(b)", " c"], "a word is no pattern");
  t.same(chunks("nothing", []), ["nothing"]);
});
