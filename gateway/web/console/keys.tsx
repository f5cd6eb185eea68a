/**
 * The page of API keys: the account's own keys, and for an administrator all keys of the namespace.
 */
import { useState } from "preact/hooks";
import type { CreateKeyResponse, Key } from "../../../src/api/types.js";
import { isAdmin } from "../session/session.js";
import { useLoad } from "../state/load.js";
import { Badge } from "../ui/badge.js";
import { Actions, Button } from "../ui/button.js";
import { EmptyState } from "../ui/notice.js";
import { Pattern } from "../ui/pattern.js";
import { type Column, FilteredTable } from "../ui/table.js";
import { list } from "./authority.js";
import { CreatedKeyDialog, CreateKeyDialog, RevokeKeyDialog, RotateKeyDialog } from "./key-dialogs.js";
import { type ConsoleProps, Loaded, MoreNotice, NewButton, PageHead } from "./page-frame.js";
import { daysUntil, fromNow, Moment } from "./time.js";

type Doing = { readonly what: "create" } | { readonly what: "revoke" | "rotate"; readonly key: Key };

export function KeysPage({ session }: ConsoleProps) {
  const keys = useLoad(list.keys, []);
  const [doing, setDoing] = useState<Doing>();
  const [created, setCreated] = useState<CreateKeyResponse>();
  const onClose = () => setDoing(undefined);
  const onDone = (key?: CreateKeyResponse) => {
    onClose();
    setCreated(key);
    keys.reload();
  };
  return (
    <>
      <PageHead title="API keys" lead="A key lets a program call as its account, for as long as you say.">
        <NewButton title="New key" onClick={() => setDoing({ what: "create" })} />
      </PageHead>
      <Loaded loading={keys} what="the keys">
        {(all) =>
          all.length === 0 ? (
            <EmptyState title="No keys yet">
              <p>Create one to call from a script, a service or another machine. You choose when it expires.</p>
              <Button kind="primary" onClick={() => setDoing({ what: "create" })}>
                Create the first key
              </Button>
            </EmptyState>
          ) : (
            <>
              <MoreNotice listed={all.length} what="keys" />
              <KeyTable keys={all} withAccount={isAdmin(session)} onDoing={setDoing} />
            </>
          )
        }
      </Loaded>
      {doing?.what === "create" && <CreateKeyDialog onClose={onClose} onDone={onDone} />}
      {doing?.what === "rotate" && <RotateKeyDialog replaced={doing.key} onClose={onClose} onDone={onDone} />}
      {doing?.what === "revoke" && <RevokeKeyDialog revoked={doing.key} onClose={onClose} onDone={() => onDone()} />}
      {created && <CreatedKeyDialog created={created} onClose={() => setCreated(undefined)} />}
    </>
  );
}

interface KeyTableProps {
  readonly keys: readonly Key[];
  readonly withAccount: boolean;
  readonly onDoing: (doing: Doing) => void;
}

function KeyTable({ keys, withAccount, onDoing }: KeyTableProps) {
  const columns: Column<Key>[] = [
    { title: "Name", cell: ({ name }) => name },
    { title: "Key", cell: ({ prefix }) => <code>{prefix}…</code> },
    ...(withAccount ? [{ title: "Account", cell: ({ account }: Key) => account }] : []),
    { title: "May call", cell: Limits },
    { title: "Last used", cell: ({ lastUsed }) => (lastUsed ? <Moment at={lastUsed} relative /> : "Never") },
    { title: "Expires", cell: ExpiryBadge },
    {
      title: "Actions",
      cell: (key) => (
        <Actions
          actions={[
            {
              title: "Rotate",
              label: `Rotate ${key.name}, ${key.prefix}`,
              act: () => onDoing({ what: "rotate", key }),
            },
            {
              title: "Revoke",
              label: `Revoke ${key.name}, ${key.prefix}`,
              kind: "danger",
              act: () => onDoing({ what: "revoke", key }),
            },
          ]}
        />
      ),
    },
  ];
  return (
    <FilteredTable
      caption="API keys"
      what="keys"
      columns={columns}
      rows={keys}
      rowKey={({ prefix }) => prefix}
      text={({ name, prefix, account, resources }) => [name, prefix, account, ...resources].join(" ")}
    />
  );
}

function Limits({ resources }: Key) {
  if (resources.length === 0) return <>Everything its account may</>;
  return (
    <ul>
      {resources.map((resource) => (
        <li key={resource}>
          <Pattern text={resource} />
        </li>
      ))}
    </ul>
  );
}

const SOON_DAYS = 14;

export function ExpiryBadge({ expires }: Pick<Key, "expires">) {
  const days = daysUntil(expires);
  const tone = days <= 1 ? "bad" : days <= SOON_DAYS ? "warning" : "neutral";
  const date = new Date(expires);
  return (
    <Badge tone={tone} title={date.toLocaleString()}>
      {days <= 0 ? "Expired" : days <= 1 ? fromNow(date) : `in ${Math.ceil(days)} days`}
    </Badge>
  );
}
