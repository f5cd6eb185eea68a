/** The page of the audit trail: who changed what, newest first. */
import { useState } from "preact/hooks";
import type { AuditRecord } from "../../../src/api/types.js";
import { useLoad, useSubmit } from "../state/load.js";
import { Button } from "../ui/button.js";
import { ErrorNotice } from "../ui/notice.js";
import { type Column, Table } from "../ui/table.js";
import { list } from "./authority.js";
import { Loaded, PageHead } from "./page-frame.js";
import { Moment } from "./time.js";

/** Maximum records that the authority returns at a time. */
const PAGE = 100;

const COLUMNS: readonly Column<AuditRecord>[] = [
  { title: "What", cell: ({ action }) => action.charAt(0).toUpperCase() + action.slice(1) },
  { title: "Of what", cell: ({ subject }) => subject },
  { title: "By whom", cell: ({ actor }) => actor },
  { title: "With key", cell: ({ key }) => key },
  { title: "From", cell: ({ address }) => address },
  { title: "Request", cell: ({ requestId }) => requestId },
  { title: "When", cell: ({ time }) => <Moment at={time} /> },
  { title: "Revision", cell: ({ revision }) => revision, numeric: true },
];

export function AuditPage() {
  const latest = useLoad((signal) => list.audit("0", signal), []);
  return (
    <>
      <PageHead title="Audit trail" lead="Every change in this namespace, by whom and when. Newest first.">
        <Button onClick={latest.reload} busy={latest.busy}>
          Reload
        </Button>
      </PageHead>
      <Loaded loading={latest} what="the changes">
        {(records) => <Records key={records[0]?.revision} latest={records} />}
      </Loaded>
    </>
  );
}

function Records({ latest }: { readonly latest: readonly AuditRecord[] }) {
  const [older, setOlder] = useState<readonly AuditRecord[]>([]);
  const [ended, setEnded] = useState(latest.length < PAGE);
  const records = [...latest, ...older];
  const { busy, error, submit } = useSubmit(async () => {
    const next = await list.audit(records.at(-1)?.revision ?? "0");
    setOlder([...older, ...next]);
    setEnded(next.length < PAGE);
  });
  return (
    <>
      <Table
        caption="Changes, newest first"
        columns={COLUMNS}
        rows={records}
        rowKey={({ revision, action, subject }) => `${revision} ${action} ${subject}`}
      />
      {error && <ErrorNotice error={error} />}
      <p class="actions">
        {ended ? (
          <span class="hint">This is all that is kept.</span>
        ) : (
          <Button onClick={submit} busy={busy}>
            Show older ones
          </Button>
        )}
      </p>
    </>
  );
}
