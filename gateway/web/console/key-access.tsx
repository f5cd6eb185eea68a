/** What else a new key is: for clients at which addresses, and whether it administers. */
import { TextField } from "../ui/field.js";

export interface KeyAccess {
  readonly admin: boolean;
  /** Addresses and CIDR ranges, separated by commas. */
  readonly from: string;
}

export const DEFAULT_ACCESS: KeyAccess = { admin: false, from: "" };

export function addressesIn(from: string): string[] {
  return from
    .split(/[\s,]+/)
    .map((address) => address.trim())
    .filter((address) => address !== "");
}

/** The account that calls with the key, if its scopes are known. */
type KeyAccount = { readonly scopes: readonly string[] } | undefined;

export function mayAdminister(account: KeyAccount): boolean {
  return account?.scopes.some((scope) => scope === "admin" || scope.startsWith("admin:")) ?? false;
}

interface KeyAccessProps {
  readonly access: KeyAccess;
  readonly onAccess: (access: KeyAccess) => void;
  readonly account: KeyAccount;
}

export function KeyAccessFields({ access, onAccess, account }: KeyAccessProps) {
  return (
    <>
      <TextField
        label="Addresses"
        hint="Of the clients that may use it, such as 192.0.2.0/24, separated by commas. Empty means all."
        value={access.from}
        onInput={(from) => onAccess({ ...access, from })}
      />
      {mayAdminister(account) && (
        <label class="check">
          <input
            type="checkbox"
            checked={access.admin}
            onChange={({ currentTarget }) => onAccess({ ...access, admin: currentTarget.checked })}
          />
          It administers what its account may. Other keys only call.
        </label>
      )}
    </>
  );
}
