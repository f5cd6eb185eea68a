/** The page of the limits: how much may be called, by whom, and what each limit has refused. */
import { useState } from "preact/hooks";
import type { Limit } from "../../../src/api/types.js";
import { useLoad, useRefresh } from "../state/load.js";
import { Button } from "../ui/button.js";
import { EmptyState } from "../ui/notice.js";
import { list } from "./authority.js";
import { DeleteLimitDialog, type Doing, LimitDialog, ShadowDialog } from "./limit-dialogs.js";
import { LimitList } from "./limit-list.js";
import { Loaded, NewButton, PageHead } from "./page-frame.js";

/** How often the counts of refused calls are read again, in milliseconds. */
const REFRESH_MS = 5_000;

export function LimitsPage() {
  const limits = useLoad(list.limits, []);
  const [doing, setDoing] = useState<Doing>();
  useRefresh(limits.reload, REFRESH_MS);
  const create = (initial?: Limit) => setDoing({ what: "create", initial });
  const onClose = () => {
    setDoing(undefined);
    // After an attempt that failed, the limit may be otherwise than it is shown.
    limits.reload();
  };
  const props = { onClose, onDone: onClose };
  return (
    <>
      <PageHead
        title="Limits"
        lead="How much may be called. All limits that match a call must allow it; otherwise it is refused with 429."
      >
        <NewButton title="New limit" onClick={() => create()} />
      </PageHead>
      <Loaded loading={limits} what="the limits">
        {(all) =>
          all.length === 0 ? <NoLimits onCreate={() => create()} /> : <LimitList limits={all} onDoing={setDoing} />
        }
      </Loaded>
      {doing?.what === "create" && <LimitDialog {...props} initial={doing.initial} />}
      {doing?.what === "edit" && <LimitDialog {...props} before={doing.listed.limit} />}
      {doing?.what === "shadow" && <ShadowDialog {...props} listed={doing.listed} />}
      {doing?.what === "delete" && <DeleteLimitDialog {...props} limit={doing.listed.limit} />}
    </>
  );
}

function NoLimits({ onCreate }: { readonly onCreate: () => void }) {
  return (
    <EmptyState title="No limits: rules alone decide">
      <p>
        A limit keeps one caller from taking what is there for all: so many calls a second, a month or at once, for each
        account, API key or address. Begin with a shadow, which only counts:
      </p>
      <p>
        <code>portico auth create limit ci --rate=100/s --per=account --shadow</code>
      </p>
      <Button kind="primary" onClick={onCreate}>
        Create the first limit
      </Button>
    </EmptyState>
  );
}
