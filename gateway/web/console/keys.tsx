/**
 * The page of API keys: the account's own keys, and for an administrator all keys of the namespace.
 */
import { useEffect, useState } from "preact/hooks";
import type { CreateKeyResponse, Key } from "../../../src/api/types.js";
import { administers, administersSome, type Session } from "../session/session.js";
import { useLoad } from "../state/load.js";
import { Badge } from "../ui/badge.js";
import { Button } from "../ui/button.js";
import { Menu } from "../ui/menu.js";
import { EmptyState } from "../ui/notice.js";
import { Pattern } from "../ui/pattern.js";
import { type Column, FilteredTable } from "../ui/table.js";
import { KeyState } from "./account-state.js";
import { list } from "./authority.js";
import { CreatedKeyDialog } from "./created-key.js";
import { RevokeKeyDialog, RotateKeyDialog } from "./key-dialogs.js";
import { CreateKeyDialog } from "./new-key.js";
import { type ConsoleProps, Loaded, MoreNotice, NewButton, PageHead } from "./page-frame.js";
import { daysUntil, fromNow, Moment } from "./time.js";

type Doing =
  | { readonly what: "create"; readonly owner?: string }
  | { readonly what: "revoke" | "rotate"; readonly key: Key };

/**
 * The dialogs for keys.
 * @param onChanged is called with the prefix of the new key, once the visitor has copied it, and
 *   without one when a key was revoked
 */
export function useKeyDialogs(session: Session, onChanged: (prefix?: string) => void) {
  const [doing, setDoing] = useState<Doing>();
  const [created, setCreated] = useState<CreateKeyResponse>();
  const onClose = () => setDoing(undefined);
  const onDone = (key?: CreateKeyResponse) => {
    onClose();
    setCreated(key);
    onChanged();
  };
  const onCopied = () => {
    setCreated(undefined);
    onChanged(created?.key.prefix);
  };
  const dialogs = (
    <>
      {doing?.what === "create" && <CreateKeyDialog {...{ session, onClose, onDone }} owner={doing.owner} />}
      {doing?.what === "rotate" && <RotateKeyDialog replaced={doing.key} onClose={onClose} onDone={onDone} />}
      {doing?.what === "revoke" && <RevokeKeyDialog revoked={doing.key} onClose={onClose} onDone={() => onDone()} />}
      {created && <CreatedKeyDialog {...{ created, session }} onClose={onCopied} />}
    </>
  );
  return { dialogs, onDoing: setDoing };
}

/** How long a new row is lit, in milliseconds: --wash-time of styles/tokens.css, and a margin. */
const LIT_MS = 1_000;

/** The prefix of the key that was just made, whose row is lit. */
function useLitRow() {
  const [lit, setLit] = useState<string>();
  useEffect(() => {
    if (lit === undefined) return;
    document.querySelector(".new-row")?.scrollIntoView({ block: "nearest" });
    const timer = setTimeout(() => setLit(undefined), LIT_MS);
    return () => clearTimeout(timer);
  }, [lit]);
  return { lit, setLit };
}

/**
 * The keys, the row of a new one, and the dialogs that change them. @param read reads the keys
 */
export function useKeys(session: Session, read: (signal: AbortSignal) => Promise<readonly Key[]>) {
  const keys = useLoad((signal) => read(signal), []);
  const { lit, setLit } = useLitRow();
  const dialogs = useKeyDialogs(session, (prefix) => (prefix === undefined ? keys.reload() : setLit(prefix)));
  return { keys, lit, ...dialogs };
}

export function KeysPage({ session }: ConsoleProps) {
  const { keys, lit, dialogs, onDoing } = useKeys(session, list.keys);
  return (
    <>
      <PageHead title="API keys" lead="A key lets a program call as its account, for as long as you say.">
        <NewButton title="New key" onClick={() => onDoing({ what: "create" })} />
      </PageHead>
      <Loaded loading={keys} what="the keys">
        {(all) =>
          all.length === 0 ? (
            <EmptyState title="No keys yet">
              <p>Create one to call from a script, a service or another machine. You choose when it expires.</p>
              <Button kind="primary" onClick={() => onDoing({ what: "create" })}>
                Create the first key
              </Button>
            </EmptyState>
          ) : (
            <>
              <MoreNotice listed={all.length} what="keys" />
              <KeyTable
                keys={all}
                withAccount={administers(session, "keys") || administersSome(session)}
                onDoing={onDoing}
                lit={lit}
              />
            </>
          )
        }
      </Loaded>
      {dialogs}
    </>
  );
}

interface KeyTableProps {
  readonly keys: readonly Key[];
  readonly withAccount: boolean;
  readonly onDoing: (doing: Doing) => void;
  /** The prefix of the key whose row is lit. */
  readonly lit: string | undefined;
}

export function KeyTable({ keys, withAccount, onDoing, lit }: KeyTableProps) {
  const columns: Column<Key>[] = [
    { title: "Name", cell: ({ name, prefix }) => <a href={pageOfKey(prefix)}>{name}</a> },
    { title: "Key", cell: ({ prefix }) => <code>{prefix}…</code> },
    ...(withAccount
      ? [{ title: "Account", cell: ({ account }: Key) => <a href={pageOfAccount(account)}>{account}</a> }]
      : []),
    { title: "May call", cell: Limits },
    { title: "State", cell: KeyState },
    { title: "Last used", cell: ({ lastUsed }) => (lastUsed ? <Moment at={lastUsed} relative /> : "Never") },
    { title: "Expires", cell: ExpiryBadge },
    { title: "Actions", cell: (key) => <KeyMenu keyOf={key} onDoing={onDoing} /> },
  ];
  return (
    <FilteredTable
      caption="API keys"
      what="keys"
      columns={columns}
      rows={keys}
      rowKey={({ prefix }) => prefix}
      lit={lit}
      text={({ name, prefix, account, resources }) => [name, prefix, account, ...resources].join(" ")}
    />
  );
}

/** The address of a key's page. */
export function pageOfKey(prefix: string): string {
  return `/console/keys/${encodeURIComponent(prefix)}`;
}

/** The address of an account's page. */
export function pageOfAccount(name: string): string {
  return `/console/accounts/${encodeURIComponent(name)}`;
}

interface KeyMenuProps {
  readonly keyOf: Key;
  readonly onDoing: (doing: Doing) => void;
}

export function KeyMenu({ keyOf: key, onDoing }: KeyMenuProps) {
  return (
    <Menu
      label={`Actions for ${key.name}, ${key.prefix}`}
      items={[
        { label: "Rotate", onSelect: () => onDoing({ what: "rotate", key }) },
        { label: "Revoke", danger: true, onSelect: () => onDoing({ what: "revoke", key }) },
      ]}
    />
  );
}

export function Limits({ resources }: Pick<Key, "resources">) {
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
