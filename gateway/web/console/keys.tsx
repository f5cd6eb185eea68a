/** API keys: one's own; an administrator's, those of the whole namespace. */
import { useState } from "preact/hooks";
import type { CreateKeyResponse, Key } from "../../../src/api/types.js";
import { call } from "../session/api.js";
import { useLoad } from "../state/load.js";
import { Badge } from "../ui/badge.js";
import { Button } from "../ui/button.js";
import { CopyButton } from "../ui/copy-button.js";
import { EmptyState } from "../ui/empty-state.js";
import { PlusIcon } from "../ui/icons.js";
import type { Column } from "../ui/table.js";
import { list } from "./authority.js";
import { ConfirmDialog } from "./confirm-dialog.js";
import { type ConsoleProps, isAdmin } from "./console-props.js";
import { FilteredTable } from "./filtered-table.js";
import { CreateKeyDialog } from "./key-dialogs.js";
import { Loaded } from "./loaded.js";
import { PageHead } from "./page-frame.js";
import { coveredBy } from "./pattern.js";
import { RotateKeyDialog } from "./rotate-key-dialog.js";
import { SecretDialog } from "./secret-dialog.js";
import { daysUntil, fromNow, Moment } from "./time.js";

type Doing = { readonly what: "create" } | { readonly what: "revoke" | "rotate"; readonly key: Key };

export function KeysPage({ session }: ConsoleProps) {
  const keys = useLoad(list.keys, []);
  const [doing, setDoing] = useState<Doing>();
  const [made, setMade] = useState<CreateKeyResponse>();
  const onClose = () => setDoing(undefined);
  const onDone = (key?: CreateKeyResponse) => {
    onClose();
    setMade(key);
    keys.reload();
  };
  return (
    <>
      <PageHead title="API keys" lead="A key lets a program call as its account, for as long as you say.">
        <Button kind="primary" onClick={() => setDoing({ what: "create" })}>
          <PlusIcon /> New key
        </Button>
      </PageHead>
      <Loaded loading={keys} what="the keys">
        {(all) =>
          all.length === 0 ? (
            <EmptyState title="No keys yet">
              <p>Make one to call from a script, a service or another machine. You choose when it expires.</p>
              <Button kind="primary" onClick={() => setDoing({ what: "create" })}>
                Make the first key
              </Button>
            </EmptyState>
          ) : (
            <KeyTable keys={all} withAccount={isAdmin(session)} onDoing={setDoing} />
          )
        }
      </Loaded>
      {doing?.what === "create" && <CreateKeyDialog onClose={onClose} onDone={onDone} />}
      {doing?.what === "rotate" && <RotateKeyDialog replaced={doing.key} onClose={onClose} onDone={onDone} />}
      {doing?.what === "revoke" && <RevokeDialog revoked={doing.key} onClose={onClose} onDone={onDone} />}
      {made && <MadeDialog made={made} onClose={() => setMade(undefined)} />}
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
        <span class="actions">
          <Button
            small
            onClick={() => onDoing({ what: "rotate", key })}
            aria-label={`Rotate ${key.name}, ${key.prefix}`}
          >
            Rotate
          </Button>
          <Button
            small
            kind="danger"
            onClick={() => onDoing({ what: "revoke", key })}
            aria-label={`Revoke ${key.name}, ${key.prefix}`}
          >
            Revoke
          </Button>
        </span>
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
  if (resources.length === 0) return <>All its account may</>;
  return (
    <ul>
      {resources.map((resource) => (
        <li key={resource}>
          <code>{resource}</code>
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

interface RevokeDialogProps {
  readonly revoked: Key;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

function RevokeDialog({ revoked: { name, prefix, lastUsed }, onClose, onDone }: RevokeDialogProps) {
  return (
    <ConfirmDialog
      title="Revoke a key"
      name={name}
      what="the key’s name"
      action="Revoke key"
      act={() => call("auth/Keys/Revoke", { prefix })}
      done={`Key ${name} is revoked`}
      onClose={onClose}
      onDone={() => onDone()}
    >
      <p>
        Whoever calls with <code>{prefix}…</code> is refused from then on, everywhere and at once.{" "}
        {lastUsed ? (
          <>
            It was last used <Moment at={lastUsed} relative />.
          </>
        ) : (
          "It has never been used."
        )}
      </p>
    </ConfirmDialog>
  );
}

/** What every fresh installation has, to try a key with. */
const EXAMPLE = "service:helloworld:Helloworld.Call";

function MadeDialog({
  made: { key, secret },
  onClose,
}: {
  readonly made: CreateKeyResponse;
  readonly onClose: () => void;
}) {
  const isTried =
    key.resources.length === 0 || key.resources.some((pattern) => coveredBy(pattern, [EXAMPLE]).length > 0);
  return (
    <SecretDialog title={`Key ${key.name}`} secret={secret} what="the key" onClose={onClose}>
      <p>
        It expires <Moment at={key.expires} />.{isTried && " To try it:"}
      </p>
      {isTried && <Example secret={secret} />}
    </SecretDialog>
  );
}

function Example({ secret }: Pick<CreateKeyResponse, "secret">) {
  const command = [
    `curl ${location.origin}/v1/helloworld/Call`,
    `-H 'Authorization: Bearer ${secret}'`,
    "-H 'Content-Type: application/json'",
    `-d '{"name":"Ada"}'`,
  ].join(" \\\n  ");
  return (
    <div class="secret">
      <CopyButton text={command} what="the command" />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard. */}
      <pre tabIndex={0}>{command}</pre>
    </div>
  );
}
