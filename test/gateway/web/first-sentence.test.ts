// Lists show the first sentence of a comment, without its Markdown.
import t from "tap";
import { firstSentence } from "../../../gateway/web/explore/first-sentence.js";

const CASES: readonly (readonly [comment: string, sentence: string])[] = [
  ["Places an order. It is paid later.", "Places an order."],
  ["Places an order, e.g. a coffee. It is paid later.", "Places an order, e.g. a coffee."],
  ["Places an order\nof a guest.\n\nMore.", "Places an order of a guest."],
  ["# Orders\n\nText.", "Orders"],
  ["Orders\n======\n\nText.", "Orders"],
  ["Returns **all** of [the orders](https://example.com/a.b) or _none_! Really.", "Returns all of the orders or none!"],
  ["See [Order][shop.v1.Order]. More.", "See Order."],
  ["Keeps `a.b *c* d` as code. More.", "Keeps `a.b *c* d` as code."],
  ["snake_case_names and 2 * 3 * 4 stay", "snake_case_names and 2 * 3 * 4 stay"],
  ["Takes:\n- a\n- b", "Takes:"],
  ["- only a list\n- b", "only a list"],
  ["Version 1.5 of it (see above.) Then more.", "Version 1.5 of it (see above.)"],
  [`Sells <img src=x onerror="a">. More`, `Sells <img src=x onerror="a">.`],
  ["", ""],
];

t.test("the first sentence", async (t) => {
  for (const [comment, sentence] of CASES) t.equal(firstSentence(comment), sentence, JSON.stringify(comment));
});

t.test("takes bounded time for hostile text", async (t) => {
  for (const part of ["*", "_a", "[", "[a](", "`", "<https:", "\\", ". ", "e.g. "]) {
    const started = performance.now();
    firstSentence(part.repeat(262_144 / part.length));
    t.ok(performance.now() - started < 1_000, JSON.stringify(part));
  }
});
