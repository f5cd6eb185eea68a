/**
 * The page of the accounts in the namespace, and the dialogs that create an account and set its
 * scopes and password.
 */
import { useState } from "preact/hooks";
import type { Account } from "../../../src/api/types.js";
import { call } from "../session/api.js";
import { useLoad } from "../state/load.js";
import { Scopes } from "../ui/badge.js";
import { CheckField, TextField } from "../ui/field.js";
import { Menu } from "../ui/menu.js";
import { type Column, FilteredTable } from "../ui/table.js";
import { AccountState, SetDisabledDialog } from "./account-state.js";
import { list } from "./authority.js";
import { ConfirmDialog, type DialogProps, FormDialog } from "./dialogs.js";
import { pageOfAccount } from "./keys.js";
import { Loaded, MoreNotice, NewButton, PageHead } from "./page-frame.js";
import { Moment } from "./time.js";

type Doing =
  | { readonly what: "create" }
  | { readonly what: "scopes" | "password" | "disabled" | "delete"; readonly account: Account };

/**
 * The dialogs for accounts.
 * @param onChanged is called when something may have changed; @param onDeleted after a deletion
 */
export function useAccountDialogs(onChanged: () => void, onDeleted = onChanged) {
  const [doing, setDoing] = useState<Doing>();
  const onClose = () => setDoing(undefined);
  const onDone = () => {
    onClose();
    onChanged();
  };
  const onGone = () => {
    onClose();
    onDeleted();
  };
  const closing = { onClose, onDone };
  const dialogs = (
    <>
      {doing?.what === "create" && <CreateAccountDialog {...closing} />}
      {doing?.what === "scopes" && <SetScopesDialog account={doing.account} onClose={onDone} onDone={onDone} />}
      {doing?.what === "password" && <SetPasswordDialog name={doing.account.name} {...closing} />}
      {doing?.what === "disabled" && <SetDisabledDialog account={doing.account} {...closing} />}
      {doing?.what === "delete" && <DeleteDialog account={doing.account} onClose={onClose} onDone={onGone} />}
    </>
  );
  return { dialogs, onDoing: setDoing };
}

export function AccountsPage() {
  const accounts = useLoad(list.accounts, []);
  const { dialogs, onDoing } = useAccountDialogs(accounts.reload);
  return (
    <>
      <PageHead
        title="Accounts"
        lead="People and programs that can sign in. Rules grant calls to the scopes of an account; the scope admin makes it an administrator, admin:rules one of rules alone."
      >
        <NewButton title="New account" onClick={() => onDoing({ what: "create" })} />
      </PageHead>
      <Loaded loading={accounts} what="the accounts">
        {(all) => (
          <>
            <MoreNotice listed={all.length} what="accounts" />
            <AccountTable accounts={all} onDoing={onDoing} />
          </>
        )}
      </Loaded>
      {dialogs}
    </>
  );
}

interface AccountTableProps {
  readonly accounts: readonly Account[];
  readonly onDoing: (doing: Doing) => void;
}

function AccountTable({ accounts, onDoing }: AccountTableProps) {
  const columns: Column<Account>[] = [
    { title: "Name", cell: ({ name }) => <a href={pageOfAccount(name)}>{name}</a> },
    { title: "Scopes", cell: Scopes },
    { title: "State", cell: AccountState },
    { title: "Created", cell: ({ created }) => <Moment at={created} /> },
    { title: "Actions", cell: (account) => <AccountMenu account={account} onDoing={onDoing} /> },
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

interface AccountMenuProps {
  readonly account: Account;
  readonly onDoing: (doing: Doing) => void;
}

export function AccountMenu({ account, onDoing }: AccountMenuProps) {
  return (
    <Menu
      label={`Actions for ${account.name}`}
      items={[
        { label: "Set scopes", onSelect: () => onDoing({ what: "scopes", account }) },
        { label: "Set password", onSelect: () => onDoing({ what: "password", account }) },
        { label: account.disabled ? "Enable" : "Disable", onSelect: () => onDoing({ what: "disabled", account }) },
        { label: "Delete", danger: true, onSelect: () => onDoing({ what: "delete", account }) },
      ]}
    />
  );
}

function DeleteDialog({ account: { name }, ...props }: { readonly account: Account } & DialogProps) {
  return (
    <ConfirmDialog
      {...props}
      title="Delete an account"
      name={name}
      what="the account’s name"
      action="Delete account"
      act={() => call("auth/Accounts/Delete", { name })}
      done={`Account ${name} is deleted`}
    >
      <p>All its tokens and keys are revoked. Programs that call with one of them are refused at once.</p>
    </ConfirmDialog>
  );
}

export function CreateAccountDialog(props: DialogProps) {
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const [scopes, setScopes] = useState("");
  const [isService, setService] = useState(false);
  const chosen = isService ? { password: "", withoutPassword: true } : { password };
  return (
    <FormDialog
      {...props}
      title="New account"
      action="Create account"
      act={() => call("auth/Accounts/Create", { name, ...chosen, scopes: split(scopes) })}
      done={`Account ${name} is created`}
    >
      <TextField
        label="Name"
        hint="Letters, digits and . _ @ + -, such as ada@example.com."
        required
        maxLength={128}
        value={name}
        onInput={setName}
      />
      <CheckField label="A service: it calls with keys, and cannot sign in" checked={isService} onInput={setService} />
      {!isService && <NewPasswordField label="Password" value={password} onInput={setPassword} />}
      <ScopesField value={scopes} onInput={setScopes} />
    </FormDialog>
  );
}

export function SetScopesDialog({ account, ...props }: { readonly account: Account } & DialogProps) {
  const { name } = account;
  const [scopes, setScopes] = useState(account.scopes.join(", "));
  return (
    <FormDialog
      {...props}
      title={`Scopes of ${name}`}
      action="Set scopes"
      act={() => call("auth/Accounts/SetScopes", { name, scopes: split(scopes), expected: { scopes: account.scopes } })}
      done={`The scopes of ${name} are set`}
    >
      <ScopesField value={scopes} onInput={setScopes} />
    </FormDialog>
  );
}

/**
 * @param props.own whether it is the caller's own account; then the dialog also asks for the
 * current password
 */
export function SetPasswordDialog({
  name,
  own = false,
  ...props
}: { readonly name: string; readonly own?: boolean } & DialogProps) {
  const [currentPassword, setCurrentPassword] = useState("");
  const [newPassword, setNewPassword] = useState("");
  return (
    <FormDialog
      {...props}
      title={own ? "Change your password" : `Password of ${name}`}
      action="Set password"
      act={() => call("auth/Accounts/SetPassword", { name, currentPassword, newPassword })}
      done={`The password of ${name} is set`}
    >
      <p>
        {own ? "You sign in again with it, here and everywhere else. " : `${name} must sign in again with it. `}
        API keys stay as they are.
      </p>
      {own && (
        <TextField
          label="Current password"
          type="password"
          required
          value={currentPassword}
          onInput={setCurrentPassword}
          autocomplete="current-password"
        />
      )}
      <NewPasswordField label="New password" value={newPassword} onInput={setNewPassword} />
    </FormDialog>
  );
}

interface InputProps {
  readonly value: string;
  readonly onInput: (value: string) => void;
}

function NewPasswordField(props: InputProps & { readonly label: string }) {
  return (
    <TextField
      {...props}
      hint="12 to 128 characters. A few words are easier to remember than symbols."
      type="password"
      required
      minLength={12}
      maxLength={128}
      autocomplete="new-password"
    />
  );
}

function ScopesField(props: InputProps) {
  return (
    <TextField
      {...props}
      label="Scopes"
      hint={
        <>
          Separated by commas. Rules grant calls to scopes; <code>admin</code> makes an administrator,{" "}
          <code>admin:rules</code>, <code>admin:accounts</code>, <code>admin:keys</code> and <code>admin:audit</code>{" "}
          one of that part, <code>admin:on:service:orders:*</code> one of rules, limits and keys of these resources
          alone. May be empty.
        </>
      }
    />
  );
}

function split(scopes: string): string[] {
  return scopes
    .split(",")
    .map((scope) => scope.trim())
    .filter((scope) => scope !== "");
}
