/** The calls of an account or a key by status, in the last seven days. */
import { useLoad } from "../state/load.js";
import { list } from "./authority.js";
import { CallsByStatus } from "./calls-by-status.js";
import { ChartCard } from "./chart.js";
import { Loaded } from "./page-frame.js";

const WEEK = `${7 * 86_400}s`;

interface CallsOfProps {
  readonly account: string;
  /** The prefix of a key of the account. */
  readonly prefix?: string;
  /** Whether the page of usage is for the visitor too. */
  readonly withLink: boolean;
}

export function CallsOf({ account, prefix = "", withLink }: CallsOfProps) {
  const usage = useLoad((signal) => list.usage({ span: WEEK, account, key: prefix }, signal), [account, prefix]);
  const query = new URLSearchParams({ span: WEEK, ...(prefix === "" ? { account } : { key: prefix }) });
  return (
    <ChartCard title="Calls of the last 7 days">
      <Loaded loading={usage} what="the calls">
        {(value) =>
          value.periods.every(({ calls }) => calls.total === "0") ? (
            <p class="hint">None. New calls appear within about ten seconds.</p>
          ) : (
            <CallsByStatus usage={value} />
          )
        }
      </Loaded>
      {withLink && (
        <p>
          <a href={`/console/usage?${query}`}>All of its usage</a>
        </p>
      )}
    </ChartCard>
  );
}
