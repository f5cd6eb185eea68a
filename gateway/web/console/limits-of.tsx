/** The limits that apply to an account or a key, and what is left of each. */
import type { LimitUse, ShowLimitsRequest } from "../../../src/api/types.js";
import { useLoad, useRefresh } from "../state/load.js";
import { type Column, Table } from "../ui/table.js";
import { list } from "./authority.js";
import { allowance, leftInWords, pageOfLimit, sharedBy } from "./limit-words.js";
import { Loaded } from "./page-frame.js";

/** How often what is left is read again, in milliseconds. */
const REFRESH_MS = 5_000;

interface LimitsOfProps extends Pick<ShowLimitsRequest, "account"> {
  readonly title: string;
  /** The prefix of a key of the account. */
  readonly prefix?: string;
  /** Whether the visitor may open the page of the limits. */
  readonly withLink: boolean;
}

export function LimitsOf({ title, account = "", prefix = "", withLink }: LimitsOfProps) {
  const uses = useLoad((signal) => list.limitsOf({ account, key: prefix }, signal), [account, prefix]);
  useRefresh(uses.reload, REFRESH_MS);
  const columns: readonly Column<LimitUse>[] = [
    {
      title: "Limit",
      cell: ({ limit: { id } }) => (withLink ? <a href={pageOfLimit(id)}>{id}</a> : id),
    },
    { title: "Allows", cell: ({ limit }) => `${allowance(limit)}, ${sharedBy(limit)}` },
    { title: "Left", cell: leftInWords },
  ];
  return (
    <section class="stack" aria-labelledby="its-limits">
      <h2 id="its-limits">{title}</h2>
      <Loaded loading={uses} what="the limits">
        {(all) =>
          all.length === 0 ? (
            <p class="hint">None applies.</p>
          ) : (
            <Table caption={title} columns={columns} rows={all} rowKey={({ limit }) => limit.id} />
          )
        }
      </Loaded>
    </section>
  );
}
