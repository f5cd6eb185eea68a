/** What each limit has refused, or would have refused as a shadow: a part of the usage page. */
import type { ListedLimit } from "../../../src/api/types.js";
import { useLoad, useRefresh } from "../state/load.js";
import { type Column, Table } from "../ui/table.js";
import { list } from "./authority.js";
import { allowance, pageOfLimit, refusedInWords, sharedBy } from "./limit-words.js";

/** How often the counts are read again, in milliseconds. */
const REFRESH_MS = 10_000;

const COLUMNS: readonly Column<ListedLimit>[] = [
  { title: "Limit", cell: ({ limit: { id } }) => <a href={pageOfLimit(id)}>{id}</a> },
  { title: "Allows", cell: ({ limit }) => `${allowance(limit)}, ${sharedBy(limit)}` },
  { title: "Refused", cell: refusedInWords },
];

/** Nothing without limits, or for an account that may not list them. */
export function UsageByLimit() {
  const limits = useLoad(list.limits, []);
  useRefresh(limits.reload, REFRESH_MS);
  const rows = [...(limits.value ?? [])].sort((a, b) => Number(b.refused) - Number(a.refused));
  if (rows.length === 0) return null;
  return (
    <section class="stack">
      <h2>Refused by limits</h2>
      <p class="hint">Counted since the time in each row, whatever time is chosen above.</p>
      <div class="scroll-x">
        <Table caption="Limits, most refused first" columns={COLUMNS} rows={rows} rowKey={({ limit: { id } }) => id} />
      </div>
    </section>
  );
}
