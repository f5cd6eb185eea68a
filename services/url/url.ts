/**
 * Creates short names for long URLs. A name is unique in the namespace, and the account that
 * created it owns it.
 */
import { customAlphabet } from "nanoid";
import { type Link, UrlService } from "../../src/gen/url/url.js";
import {
  alreadyExists,
  type Call,
  type Entry,
  invalidArgument,
  notFound,
  part,
  resourceExhausted,
  type Store,
  toTimestamp,
} from "../../src/kit/index.js";
import { accountOf, checkAfter, checkName, checkNumber, checkSeen, checkText } from "../patterns/checks.js";
import { retry } from "../patterns/retry.js";

const MAX_ADDRESS = 2048;
const LIMIT = { min: 1, max: 100, absent: 100 };
/** The maximum number of links of an account. */
const MAX_LINKS = 10_000;
/**
 * 7 characters, without those that look alike. That gives 56^7 names, so with 10^7 links, one in
 * 100,000 new names is taken.
 */
const randomName = customAlphabet("23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz", 7);

/**
 * A link, stored under its name. The keys of `owned` are an account and the name of a link.
 * `counts` has the number of links.
 */
interface StoredLink {
  readonly account: string;
  readonly address: string;
  /** In milliseconds since 1970. */
  readonly created: number;
  readonly updated: number;
}

/** The service `url`. */
export const parts = [
  part(UrlService, {
    async create({ name, address }, call) {
      checkName("name", name);
      const link = newLink(call, address);
      if (!(await insert(call, name, link))) throw alreadyExists(`name: ${name} is taken`);
      return toLink(name, link);
    },

    async shorten({ address }, call) {
      const link = newLink(call, address);
      const name = await retry(call, "", async () => {
        const drawn = randomName();
        return (await insert(call, drawn, link)) ? drawn : undefined;
      });
      return toLink(name, link);
    },

    async list({ after, limit }, call) {
      const prefix = `${accountOf(call, "Links")}/`;
      const { entries, next } = await call.store<true>("owned").range({
        prefix,
        limit: checkNumber("limit", limit, LIMIT),
        after: checkAfter(after) && prefix + after,
      });
      const names = entries.map(({ key }) => key.slice(prefix.length));
      const found = await linksOf(call).getMany(names);
      const links = names.flatMap((name, index) => (found[index] ? [toLink(name, found[index])] : []));
      return { links, next: next === undefined ? "" : next.slice(prefix.length) };
    },

    async resolve({ name }, call) {
      checkName("name", name);
      const link = await linksOf(call).get(name);
      if (link === undefined) throw notFound(`There is no link ${name}`);
      return { address: link.address };
    },

    async update({ name, address }, call) {
      checkAddress(address);
      const link = await retry(call, name, async () => {
        const entry = await ownLink(call, name);
        const changed = { ...entry.value, address, updated: Date.now() };
        return (await linksOf(call).compareAndSet(name, entry.version, changed)) ? changed : undefined;
      });
      return toLink(name, link);
    },

    async delete({ name }, call) {
      return retry(call, name, async () => {
        const { value, version } = await ownLink(call, name);
        const { committed } = await linksOf(call).commit([
          { delete: name, ifVersion: version },
          { delete: `${value.account}/${name}`, collection: "owned" },
          { increment: value.account, by: -1, collection: "counts" },
        ]);
        return committed ? {} : undefined;
      });
    },
  }),
];

function linksOf(call: Call): Store<StoredLink> {
  return call.store<StoredLink>("links");
}

function newLink(call: Call, address: string): StoredLink {
  const account = accountOf(call, "Links");
  checkAddress(address);
  const created = Date.now();
  return { account, address, created, updated: created };
}

function checkAddress(address: string): void {
  checkText("address", address, { min: 1, max: MAX_ADDRESS });
  checkSeen("address", address);
  if (/\s/.test(address) || !/^https?:\/\//i.test(address) || !URL.canParse(address)) {
    throw invalidArgument("address: must be absolute, without spaces, and begin with http:// or https://");
  }
  const url = new URL(address);
  if (url.username !== "" || url.password !== "") {
    throw invalidArgument("address: must not have a user name or password, because everyone can resolve it");
  }
}

/** Writes the link if the name is free. Returns whether it was written. */
async function insert(call: Call, name: string, link: StoredLink): Promise<boolean> {
  const result = await linksOf(call).commit([
    { set: name, value: link, ifAbsent: true },
    { increment: link.account, by: 1, max: MAX_LINKS, collection: "counts" },
    { set: `${link.account}/${name}`, value: true, collection: "owned" },
  ]);
  // `failed` is the index of the write whose condition did not hold: 0 for a name that is taken.
  if (!result.committed && result.failed > 0) {
    throw resourceExhausted(`The account has ${MAX_LINKS} links: delete some first`);
  }
  return result.committed;
}

async function ownLink(call: Call, name: string): Promise<Entry<StoredLink>> {
  checkName("name", name);
  const account = accountOf(call, "Links");
  const entry = await linksOf(call).getEntry(name);
  if (entry?.value.account !== account) throw notFound(`You have no link ${name}`);
  return entry;
}

function toLink(name: string, { address, created, updated }: StoredLink): Link {
  return { name, address, created: toTimestamp(created), updated: toTimestamp(updated) };
}
