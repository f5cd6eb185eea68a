/** What a key can do: how many endpoints it may call, and which of them the rules refuse. */
import { isAdmin, useSession } from "../session/session.js";
import { useLoad } from "../state/load.js";
import { ErrorNotice } from "../ui/notice.js";
import { coverage, type TreeService } from "./endpoint-tree.js";
import { refusedTo, ruleRefusing } from "./refused.js";

interface KeyReachProps {
  readonly tree: readonly TreeService[];
  readonly account: string;
  /** Undefined for a key without limits. */
  readonly patterns: readonly string[] | undefined;
}

/** The authority is asked when nothing has changed for this long, in milliseconds. */
const PAUSE_MS = 300;
const MAX_NAMED = 5;

export function KeyReach({ tree, account, patterns }: KeyReachProps) {
  const session = useSession();
  const all = tree.flatMap(({ endpoints }) => endpoints.map(({ resource }) => resource));
  const covered = patterns === undefined ? all : [...coverage(tree, patterns)];
  // Others are only told the endpoints that they may call.
  const asks = session !== undefined && isAdmin(session) && covered.length > 0;
  const refused = useLoad(
    async (signal) => (asks ? refusals(account, covered, signal) : NONE),
    [account, asks, covered.join()],
  );
  return (
    <div class="stack" role="status">
      <p>
        May call <strong>{covered.length}</strong> of {all.length} endpoints.{" "}
        {refused.busy ? (
          <span class="hint">Asking what the rules say …</span>
        ) : (
          refused.isCurrent &&
          refused.value && <Verdict account={account} count={refused.value.count} some={covered.length > 0} />
        )}
      </p>
      {!refused.busy && refused.isCurrent && refused.value && refused.value.count > 0 && (
        <RefusedList refusals={refused.value} />
      )}
      {refused.error && !refused.busy && (
        <ErrorNotice error={refused.error} onRetry={refused.reload}>
          <p>So it is not known here what the rules refuse {account}.</p>
        </ErrorNotice>
      )}
    </div>
  );
}

interface Refusals {
  readonly count: number;
  readonly named: readonly { readonly resource: string; readonly rule: string | undefined }[];
}

const NONE: Refusals = { count: 0, named: [] };

async function refusals(account: string, covered: readonly string[], signal: AbortSignal): Promise<Refusals> {
  await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  signal.throwIfAborted();
  const refused = await refusedTo(account, covered, signal);
  const named = refused.slice(0, MAX_NAMED).map(async (resource) => ({
    resource,
    rule: await ruleRefusing(account, resource, signal),
  }));
  return { count: refused.length, named: await Promise.all(named) };
}

function Verdict({
  account,
  count,
  some,
}: {
  readonly account: string;
  readonly count: number;
  readonly some: boolean;
}) {
  if (!some) return null;
  if (count === 0) return <>The rules refuse {account} none of them.</>;
  return (
    <>
      The rules refuse {account} <strong>{count}</strong> of them.
    </>
  );
}

function RefusedList({ refusals: { count, named } }: { readonly refusals: Refusals }) {
  return (
    <div class="notice warning">
      <ul class="plain-list">
        {named.map(({ resource, rule }) => (
          <li key={resource}>
            <code>{resource}</code>: {rule === undefined ? "no rule grants it" : `refused by the rule ${rule}`}
          </li>
        ))}
        {count > named.length && <li>and {count - named.length} more</li>}
      </ul>
    </div>
  );
}
