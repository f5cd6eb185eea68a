/** The page of the accounts in the namespace. */
import { useState } from "preact/hooks";
import type { Account } from "../../../src/api/types.js";
import { call } from "../session/api.js";
import { useLoad } from "../state/load.js";
import { Badge } from "../ui/badge.js";
import { Button } from "../ui/button.js";
import { PlusIcon } from "../ui/icons.js";
import type { Column } from "../ui/table.js";
import { CreateAccountDialog, SetPasswordDialog, SetScopesDialog } from "./account-dialogs.js";
import { list } from "./authority.js";
import { ConfirmDialog } from "./confirm-dialog.js";
import { FilteredTable } from "./filtered-table.js";
import { Loaded, PageHead } from "./page-frame.js";
import { Moment } from "./time.js";

type Doing =
  | { readonly what: "create" }
  | { readonly what: "scopes" | "password" | "delete"; readonly account: Account };

export function AccountsPage() {
  const accounts = useLoad(list.accounts, []);
  const [doing, setDoing] = useState<Doing>();
  const onClose = () => setDoing(undefined);
  const onDone = () => {
    onClose();
    accounts.reload();
  };
  return (
    <>
      <PageHead
        title="Accounts"
        lead="People and programs that can sign in. Rules grant calls to the scopes of an account; the scope admin makes it an administrator."
      >
        <Button kind="primary" onClick={() => setDoing({ what: "create" })}>
          <PlusIcon /> New account
        </Button>
      </PageHead>
      <Loaded loading={accounts} what="the accounts">
        {(all) => <AccountTable accounts={all} onDoing={setDoing} />}
      </Loaded>
      {doing?.what === "create" && <CreateAccountDialog onClose={onClose} onDone={onDone} />}
      {doing?.what === "scopes" && <SetScopesDialog account={doing.account} onClose={onClose} onDone={onDone} />}
      {doing?.what === "password" && <SetPasswordDialog name={doing.account.name} onClose={onClose} onDone={onDone} />}
      {doing?.what === "delete" && <DeleteDialog account={doing.account} onClose={onClose} onDone={onDone} />}
    </>
  );
}

interface AccountTableProps {
  readonly accounts: readonly Account[];
  readonly onDoing: (doing: Doing) => void;
}

function AccountTable({ accounts, onDoing }: AccountTableProps) {
  const columns: Column<Account>[] = [
    { title: "Name", cell: ({ name }) => name },
    { title: "Scopes", cell: Scopes },
    { title: "Created", cell: ({ created }) => <Moment at={created} /> },
    {
      title: "Actions",
      cell: (account) => (
        <span class="actions">
          <Button
            small
            onClick={() => onDoing({ what: "scopes", account })}
            aria-label={`Set the scopes of ${account.name}`}
          >
            Scopes
          </Button>
          <Button
            small
            onClick={() => onDoing({ what: "password", account })}
            aria-label={`Set the password of ${account.name}`}
          >
            Password
          </Button>
          <Button
            small
            kind="danger"
            onClick={() => onDoing({ what: "delete", account })}
            aria-label={`Delete ${account.name}`}
          >
            Delete
          </Button>
        </span>
      ),
    },
  ];
  return (
    <FilteredTable
      caption="Accounts"
      what="accounts"
      columns={columns}
      rows={accounts}
      rowKey={({ name }) => name}
      text={({ name, scopes }) => [name, ...scopes].join(" ")}
    />
  );
}

export function Scopes({ scopes }: { readonly scopes: readonly string[] }) {
  if (scopes.length === 0) return <span class="hint">None</span>;
  return (
    <span class="badges">
      {scopes.map((scope) => (
        <Badge key={scope} tone={scope === "admin" ? "accent" : "neutral"}>
          {scope}
        </Badge>
      ))}
    </span>
  );
}

interface DeleteDialogProps {
  readonly account: Account;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

function DeleteDialog({ account: { name }, onClose, onDone }: DeleteDialogProps) {
  return (
    <ConfirmDialog
      title="Delete an account"
      name={name}
      what="the account’s name"
      action="Delete account"
      act={() => call("auth/Accounts/Delete", { name })}
      done={`Account ${name} is deleted`}
      onClose={onClose}
      onDone={onDone}
    >
      <p>All its tokens and keys are revoked. Programs that call with one of them are refused at once.</p>
    </ConfirmDialog>
  );
}
