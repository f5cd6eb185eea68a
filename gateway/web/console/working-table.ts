/** What the tables of rules and limits have in common: filters, sorting, the count, the focus. */
import { useEffect, useState } from "preact/hooks";
import { useQuery } from "../state/router.js";
import type { Sorting } from "../ui/virtual-table.js";

/** The filters of a table. A link to the page may have a text to look for: `?filter=default`. */
export function useFilter<Filter extends { readonly text: string }>(
  everything: Filter,
): readonly [Filter, (filter: Filter) => void] {
  const linked = useQuery().get("filter") ?? "";
  const [filter, setFilter] = useState({ ...everything, text: linked });
  useEffect(() => setFilter((now) => (now.text === linked ? now : { ...everything, text: linked })), [linked]);
  return [filter, setFilter];
}

/** The options of a filter: any, and each of the values once, sorted. */
export function optionsOf(any: string, values: readonly string[]): (readonly [string, string])[] {
  return [["", any], ...[...new Set(values)].sort().map((value) => [value, value] as const)];
}

/** @param what one of the rows, such as `rule` */
export function countOf(found: number, all: number, what: string): string {
  if (found === 0) return `None of ${all} ${what}s matches.`;
  return found === all ? `${all} ${what}${all === 1 ? "" : "s"}` : `${found} of ${all} ${what}s`;
}

/** Sorts the rows in place. */
export function sortedBy<Row>(
  rows: Row[],
  sorting: Sorting | undefined,
  keyOf: (row: Row) => string | number | boolean,
): Row[] {
  const sign = sorting?.direction === "descending" ? -1 : 1;
  return rows.sort((one, other) => {
    const [a, b] = [keyOf(one), keyOf(other)];
    return sign * (a < b ? -1 : a > b ? 1 : 0);
  });
}

/** Ascending, then descending, then the table's own order. */
export function nextSorting(before: Sorting | undefined, title: string): Sorting | undefined {
  if (before?.title !== title) return { title, direction: "ascending" };
  return before.direction === "ascending" ? { title, direction: "descending" } : undefined;
}

/** The focus goes back to where a change began, or to the page if that row is out of sight. */
export function focusOnRow(menuLabel: string | undefined): void {
  const buttons = [...document.querySelectorAll<HTMLElement>(".table.virtual button")];
  const button = buttons.find(({ ariaLabel }) => menuLabel !== undefined && ariaLabel === menuLabel);
  (button ?? document.querySelector<HTMLElement>("main"))?.focus();
}
