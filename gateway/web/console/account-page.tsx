/** The page of one account: its scopes, its keys, its connected apps and its calls. */
import type { Account } from "../../../src/api/types.js";
import { administers, type Session } from "../session/session.js";
import { useLoad } from "../state/load.js";
import { navigate } from "../state/router.js";
import { Scopes } from "../ui/badge.js";
import { EmptyState } from "../ui/notice.js";
import { AccountState } from "./account-state.js";
import { AccountMenu, useAccountDialogs } from "./accounts.js";
import { AppsOf } from "./apps.js";
import { every } from "./authority.js";
import { CallsOf } from "./calls-of.js";
import { KeyTable, useKeys } from "./keys.js";
import { LimitsOf } from "./limits-of.js";
import { type ConsoleProps, Loaded, NewButton, PageHead } from "./page-frame.js";
import { Moment } from "./time.js";

export function AccountPage({ session, name }: ConsoleProps & { readonly name: string }) {
  const accounts = useLoad((signal) => every.accounts(signal), []);
  const found = accounts.value?.find((account) => account.name === name);
  const { dialogs, onDoing } = useAccountDialogs(accounts.reload, () => navigate("/console/accounts"));
  return (
    <>
      <PageHead title={name} lead="An account of this namespace.">
        {found && <AccountMenu account={found} onDoing={onDoing} />}
      </PageHead>
      <Loaded loading={accounts} what="the account">
        {() =>
          found === undefined ? (
            <EmptyState title="There is no such account">
              <p>It was deleted, or its name is written in another way.</p>
              <p>
                <a href="/console/accounts">All accounts</a>
              </p>
            </EmptyState>
          ) : (
            <AccountContent session={session} account={found} />
          )
        }
      </Loaded>
      {dialogs}
    </>
  );
}

function AccountContent({ session, account }: { readonly session: Session; readonly account: Account }) {
  const { name, scopes, created, withoutPassword, disabled } = account;
  return (
    <>
      <section class="card stack" aria-labelledby="about-account">
        <h2 id="about-account">About this account</h2>
        <dl class="facts">
          <dt>Scopes</dt>
          <dd>
            <Scopes scopes={scopes} />
          </dd>
          <dt>State</dt>
          <dd>
            <AccountState {...{ withoutPassword, disabled }} />
          </dd>
          <dt>Password</dt>
          <dd>{withoutPassword ? "None: it cannot sign in, and calls with keys" : "It has one, and can sign in"}</dd>
          <dt>Created</dt>
          <dd>
            <Moment at={created} />
          </dd>
        </dl>
      </section>
      {administers(session, "keys") && <KeysOf session={session} account={name} />}
      {administers(session, "keys") && <AppsOf session={session} account={name} />}
      {administers(session, "rules") && <LimitsOf title="Limits that apply to it" account={name} withLink />}
      {administers(session, "audit") && <CallsOf account={name} withLink />}
    </>
  );
}

function KeysOf({ session, account }: { readonly session: Session; readonly account: string }) {
  const { keys, lit, dialogs, onDoing } = useKeys(session, every.keys);
  return (
    <section class="stack" aria-labelledby="its-keys">
      <header class="console-head">
        <h2 id="its-keys">Its API keys</h2>
        <NewButton title="New key" onClick={() => onDoing({ what: "create", owner: account })} />
      </header>
      <Loaded loading={keys} what="the keys">
        {(all) => {
          const own = all.filter((key) => key.account === account);
          if (own.length === 0) return <p class="hint">None.</p>;
          return <KeyTable keys={own} withAccount={false} onDoing={onDoing} lit={lit} />;
        }}
      </Loaded>
      {dialogs}
    </section>
  );
}
