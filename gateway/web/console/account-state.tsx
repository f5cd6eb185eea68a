/** The state of accounts and keys, and the dialogs that disable and enable an account. */
import type { Account, Key } from "../../../src/api/types.js";
import { call } from "../session/api.js";
import { session } from "../session/session.js";
import { Badge } from "../ui/badge.js";
import { type DialogProps, FormDialog } from "./dialogs.js";

export function AccountState({ withoutPassword, disabled }: Pick<Account, "withoutPassword" | "disabled">) {
  if (!withoutPassword && !disabled) return <>Active</>;
  return (
    <span class="badges">
      {withoutPassword && <Badge title="It has no password, and calls with keys">Service</Badge>}
      {disabled && <DisabledBadge />}
    </span>
  );
}

export function KeyState({ admin, from, disabled }: Pick<Key, "admin" | "from" | "disabled">) {
  if (!admin && from.length === 0 && !disabled) return <>Active</>;
  return (
    <span class="badges">
      {admin && (
        <Badge tone="accent" title="It administers what its account may">
          Admin
        </Badge>
      )}
      {from.length > 0 && <Badge title={from.join(", ")}>{`From ${from.length === 1 ? from[0] : from.length}`}</Badge>}
      {disabled && <DisabledBadge />}
    </span>
  );
}

function DisabledBadge() {
  return (
    <Badge tone="bad" title="It cannot sign in, and its keys are refused">
      Disabled
    </Badge>
  );
}

export function SetDisabledDialog({ account, ...props }: { readonly account: Account } & DialogProps) {
  const { name, disabled } = account;
  const act = () => call("auth/Accounts/SetDisabled", { name, disabled: !disabled });
  if (disabled) {
    return (
      <FormDialog
        {...props}
        title={`Enable ${name}`}
        action="Enable account"
        act={act}
        done={`Account ${name} is enabled`}
      >
        <p>Its API keys work again at once. It signs in anew: what ended stays ended.</p>
      </FormDialog>
    );
  }
  return (
    <FormDialog
      {...props}
      title={`Disable ${name}`}
      action="Disable account"
      kind="danger"
      act={act}
      done={`Account ${name} is disabled`}
    >
      <p>Takes effect at once: its logins end, open streams too, and its keys are refused until it is enabled.</p>
      {name === session.value?.account && (
        <p class="notice warning">This is your own account. You are signed out, and need another administrator.</p>
      )}
    </FormDialog>
  );
}
