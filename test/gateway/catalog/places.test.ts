// The places of instances and their shares of the calls.
import t from "tap";
import { type Place, sharesOf } from "../../../gateway/catalog/places.js";

const KNOWN: Record<string, readonly string[]> = {
  "two.test": ["10.0.0.1", "10.0.0.2"],
  "dns+srv://_grpc._tcp.shop.test": ["10 3 a.test:80", "10 1 two.test:80", "20 0 c.test:80", "20 0 d.test:80"],
  "dns+srv://_grpc._tcp.mixed.test": ["1 0 a.test:80", "1 5 b.test:80"],
};
const names = { addressesOf: (name: string): readonly string[] => KNOWN[name] ?? [] };

interface Case {
  readonly name: string;
  readonly instances: Record<string, readonly [address: string, weight: number]>;
  /** Weight and priority, by the key of the place. */
  readonly shares: Record<string, readonly [weight: number, priority: number]>;
}

const cases: readonly Case[] = [
  {
    name: "instances of one weight share the calls place by place",
    instances: { x: ["two.test:80", 7], y: ["10.0.0.9:80", 7] },
    shares: { "x two.test:80 10.0.0.1": [1, 0], "x two.test:80 10.0.0.2": [1, 0], "y 10.0.0.9:80": [1, 0] },
  },
  {
    name: "the places of an instance share its weight, if weights differ",
    instances: { x: ["two.test:80", 10], y: ["10.0.0.9:80", 90] },
    shares: { "x two.test:80 10.0.0.1": [5, 0], "x two.test:80 10.0.0.2": [5, 0], "y 10.0.0.9:80": [90, 0] },
  },
  {
    name: "the servers of an SRV name share by the weights of their records, and priorities are numbered",
    instances: { x: ["dns+srv://_grpc._tcp.shop.test", 1] },
    shares: {
      "x a.test:80": [0.75, 0],
      "x two.test:80 10.0.0.1": [0.125, 0],
      "x two.test:80 10.0.0.2": [0.125, 0],
      "x c.test:80": [1, 1],
      "x d.test:80": [1, 1],
    },
  },
  {
    name: "a record of weight 0 gets few calls beside others",
    instances: { x: ["dns+srv://_grpc._tcp.mixed.test", 1] },
    shares: { "x a.test:80": [0.01 / 5.01, 0], "x b.test:80": [5 / 5.01, 0] },
  },
  { name: "a name that is not known yet has no place", instances: { x: ["dns+srv://a.b", 1] }, shares: {} },
];

for (const { name, instances, shares } of cases) {
  t.test(name, async (t) => {
    const given = Object.entries(instances).map(([id, [address, weight]]) => {
      return { id, addresses: new Set([address]), weight };
    });
    const found = [...sharesOf(given, names)].map(([key, { weight, priority }]): [string, Place["share"]] => {
      return [key, { weight: Number(weight.toFixed(9)), priority }];
    });
    const expected = Object.entries(shares).map(([key, [weight, priority]]) => {
      return [key, { weight: Number(weight.toFixed(9)), priority }];
    });
    t.same(Object.fromEntries(found), Object.fromEntries(expected));
  });
}
