// What is ticked in the tree of endpoints, as resource patterns.
import t from "tap";
import {
  coverage,
  coveringNothing,
  MAX_PATTERNS,
  shortened,
  type TreeService,
  tickEndpoint,
  tickService,
  untick,
} from "../../../gateway/web/console/endpoint-tree.js";

const ORDERS = service("orders", ["Orders.List", "Orders.Get", "Orders.Delete"]);
const MAIL = service("mail", ["Mail.Send"]);
const TREE = [ORDERS, MAIL];

/** A service in which the endpoints that begin with Get or List only read. */
function service(name: string, endpoints: readonly string[]): TreeService {
  return {
    name,
    endpoints: endpoints.map((endpoint) => ({
      resource: `service:${name}:${endpoint}`,
      name: endpoint,
      reads: /\.(Get|List)/.test(endpoint),
    })),
  };
}

const of = (...names: string[]) => names.map((name) => `service:orders:${name}`);

t.test("a ticked endpoint is its resource, and a ticked service is all that it will ever have", async (t) => {
  t.same(tickEndpoint(TREE, [], "service:orders:Orders.Get"), of("Orders.Get"));
  t.same(tickService(TREE, of("Orders.Get"), ORDERS, false), of("*"), "which makes single endpoints superfluous");
  t.same(tickEndpoint(TREE, of("*"), "service:orders:Orders.Get"), of("*"));
});

t.test("reading only: a ticked service is those endpoints that read now", async (t) => {
  t.same(tickService(TREE, [], ORDERS, true), of("Orders.List", "Orders.Get"));
  t.same(tickService(TREE, [], MAIL, true), []);
});

t.test("what is unticked is covered no more, and all the rest still is", async (t) => {
  const gone = new Set(of("Orders.Delete"));
  t.same(untick(TREE, of("*"), gone), of("Orders.List", "Orders.Get"));
  t.same(untick(TREE, ["*:*:*"], gone), [...of("Orders.List", "Orders.Get"), "service:mail:*"]);
  t.same(untick(TREE, of("Orders.D*", "Orders.G*"), gone), of("Orders.G*"), "patterns that do not cover it stay");
  t.same(untick(TREE, of("Orders.Delete"), gone), []);
});

t.test("typed patterns stay, even where they cover nothing or are invalid", async (t) => {
  const typed = ["service:later:*", "service:orders"];
  t.same(tickEndpoint(TREE, typed, "service:orders:Orders.Get"), [...typed, ...of("Orders.Get")]);
  t.same(untick(TREE, [...typed, ...of("Orders.Get")], new Set(of("Orders.Get"))), typed);
  t.same(coveringNothing(TREE, [...typed, ...of("*")]), ["service:later:*"]);
});

t.test("patterns cover endpoints whatever the case of letters", async (t) => {
  t.same([...coverage(TREE, ["SERVICE:orders:orders.g*"])], of("Orders.Get"));
  t.equal(coverage(TREE, []).size, 0);
});

t.test("more endpoints than a key has patterns share patterns that cover no other endpoint", async (t) => {
  const names = Array.from({ length: 90 }, (_, index) => String.fromCharCode(65 + (index % 26)) + index);
  const big = service(
    "big",
    names.flatMap((name) => [`Big.Get${name}`, `Big.List${name}`, `Big.Drop${name}`]),
  );
  const small = service("small", ["Small.GetOne", "Small.GetTwo", "Small.Drop"]);
  const tree = [big, small];
  let patterns = tickService(tree, [], small, true);
  patterns = tickService(tree, patterns, big, true);
  t.ok(patterns.length <= MAX_PATTERNS);
  t.same(patterns, [
    ...["service:small:Small.GetOne", "service:small:Small.GetTwo"],
    ...["service:big:Big.Get*", "service:big:Big.List*"],
  ]);
  const reading = tree.flatMap(({ endpoints }) => endpoints.filter(({ reads }) => reads));
  t.same([...coverage(tree, patterns)].sort(), reading.map(({ resource }) => resource).sort());
});

t.test("no pattern is shortened to one that covers an endpoint that is not ticked", async (t) => {
  const names = Array.from({ length: 120 }, (_, index) => `Big.Get${String.fromCharCode(65 + (index % 26))}x${index}`);
  const big = service("big", [...names, "Big.GetSecret"]);
  const patterns = shortened(
    [big],
    names.map((name) => `service:big:${name}`),
  );
  t.notOk(coverage([big], patterns).has("service:big:Big.GetSecret"));
  t.equal(coverage([big], patterns).size, names.length);
});
