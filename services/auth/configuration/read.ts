/** Reads the configuration of a namespace from the state, and compares two of them. */
import { createHash } from "node:crypto";
import type { Configuration } from "../../../src/gen/portico/auth/v1/configurations.js";
import type { AdminShare } from "../endpoints/admin-share.js";
import type { State } from "../log/state/state.js";
import { type ConfiguredItem, keyOf, SECTIONS, type Section } from "./sections.js";

const NO_SECTIONS: Configuration = {
  rules: undefined,
  limits: undefined,
  accounts: undefined,
  services: undefined,
  issuers: undefined,
  trusts: undefined,
};

/** A configuration of the sections for which a function returns items. */
export function configurationOf(itemsOf: (section: Section) => ConfiguredItem[] | undefined): Configuration {
  const parts = SECTIONS.map((section) => {
    const items = itemsOf(section);
    return items === undefined ? {} : section.with(items);
  });
  return Object.assign({ ...NO_SECTIONS }, ...parts);
}

/** Changes whenever the configuration of the namespace does. */
export function etagOf(state: State, namespace: string): string {
  const hash = createHash("sha256");
  for (const section of SECTIONS) {
    const items = section.read(state, namespace);
    hash.update(`${section.name} ${items.length}\n`);
    for (const item of items) {
      const bytes = section.encode(item);
      hash.update(`${bytes.length}\n`).update(bytes);
    }
  }
  return hash.digest("hex").slice(0, ETAG_DIGITS);
}

const ETAG_DIGITS = 32;

/** What differs between two states: as it is before, and as it is after. */
export function differenceOf(
  before: State,
  after: State,
  namespace: string,
): { before: Configuration; after: Configuration } {
  const only = (one: State, other: State) => (section: Section) => {
    const known = new Map(section.read(other, namespace).map((item) => [keyOf(item), section.encode(item)]));
    return section.read(one, namespace).filter((item) => {
      const same = known.get(keyOf(item));
      return same === undefined || !Buffer.from(same).equals(section.encode(item));
    });
  };
  return { before: configurationOf(only(before, after)), after: configurationOf(only(after, before)) };
}

/** What a share of the state has in the sections of a configuration that does not list it. */
export function unlisted(
  state: State,
  namespace: string,
  configuration: Configuration,
  share: AdminShare,
): Configuration {
  return configurationOf((section) => {
    const listed = section.of(configuration);
    if (listed === undefined) return undefined;
    const names = new Set(listed.map(keyOf));
    return inShare(section, share, section.read(state, namespace)).filter((item) => !names.has(keyOf(item)));
  });
}

/** The items of a section that a share has. */
export function inShare<T extends ConfiguredItem>({ isIn }: Section<T>, share: AdminShare, items: readonly T[]): T[] {
  return items.filter((item) => isIn?.(share, item) ?? true);
}
