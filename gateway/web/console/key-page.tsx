/** The page of one API key: what it may call, until when, and how it is used. */
import { useState } from "preact/hooks";
import type { Key } from "../../../src/api/types.js";
import { administers, isAdmin, type Part, type Session } from "../session/session.js";
import { useLoad } from "../state/load.js";
import { navigate } from "../state/router.js";
import { EmptyState, ErrorNotice } from "../ui/notice.js";
import { KeyState } from "./account-state.js";
import { every, listTree } from "./authority.js";
import { CallsOf } from "./calls-of.js";
import { KeyReach } from "./key-reach.js";
import { ExpiryBadge, KeyMenu, Limits, pageOfAccount, pageOfKey, useKeyDialogs } from "./keys.js";
import { LimitsOf } from "./limits-of.js";
import { type ConsoleProps, Loaded, PageHead } from "./page-frame.js";
import { Moment } from "./time.js";

export function KeyPage({ session, name: prefix }: ConsoleProps & { readonly name: string }) {
  const keys = useLoad((signal) => every.keys(signal), []);
  const [isLeaving, setLeaving] = useState(false);
  const found = keys.value?.find((key) => key.prefix === prefix);
  const { dialogs, onDoing } = useKeyDialogs(session, (made) => {
    if (made !== undefined) return navigate(pageOfKey(made));
    setLeaving(true);
    keys.reload();
  });
  return (
    <>
      <PageHead title={found?.name ?? `Key ${prefix}`} lead={<KeyLead prefix={prefix} found={found} />}>
        {found && <KeyMenu keyOf={found} onDoing={onDoing} />}
      </PageHead>
      <Loaded loading={keys} what="the key">
        {() =>
          found === undefined ? (
            <EmptyState title={isLeaving ? "This key is revoked" : "There is no such key"}>
              <p>
                {isLeaving
                  ? "Calls with it are refused at once, everywhere."
                  : "It was revoked, it has expired, or it belongs to another account."}
              </p>
              <p>
                <a href="/console/keys">All keys</a>
              </p>
            </EmptyState>
          ) : (
            <KeyContent session={session} shown={found} />
          )
        }
      </Loaded>
      {dialogs}
    </>
  );
}

function KeyLead({ prefix, found }: { readonly prefix: string; readonly found: Key | undefined }) {
  return (
    <>
      API key <code>{prefix}…</code>
      {found && <> of {found.account}</>}
    </>
  );
}

function KeyContent({ session, shown }: { readonly session: Session; readonly shown: Key }) {
  const { account, resources, created, expires, lastUsed, prefix, from } = shown;
  const services = useLoad(listTree, []);
  const sees = (part: Part) => account === session.account || administers(session, part);
  return (
    <>
      <section class="card stack" aria-labelledby="about-key">
        <h2 id="about-key">About this key</h2>
        <dl class="facts">
          <dt>Account</dt>
          <dd>{administers(session, "accounts") ? <a href={pageOfAccount(account)}>{account}</a> : account}</dd>
          <dt>Limited to</dt>
          <dd>
            <Limits resources={resources} />
          </dd>
          <dt>State</dt>
          <dd>
            <KeyState {...shown} />
          </dd>
          <dt>From</dt>
          <dd>{from.length === 0 ? "Every address" : <code>{from.join(", ")}</code>}</dd>
          <dt>Expires</dt>
          <dd>
            <Moment at={expires} /> <ExpiryBadge expires={expires} />
          </dd>
          <dt>Created</dt>
          <dd>
            <Moment at={created} />
          </dd>
          <dt>Last used</dt>
          <dd>{lastUsed ? <Moment at={lastUsed} relative /> : "Never"}</dd>
        </dl>
        {services.value && (
          <KeyReach
            tree={services.value.governed}
            account={account}
            patterns={resources.length === 0 ? undefined : resources}
          />
        )}
        {services.error && !services.busy && <ErrorNotice error={services.error} onRetry={services.reload} />}
      </section>
      {sees("rules") && (
        <LimitsOf title="Limits that apply to it" {...{ account, prefix }} withLink={isAdmin(session)} />
      )}
      {sees("audit") && <CallsOf {...{ account, prefix }} withLink={isAdmin(session)} />}
    </>
  );
}
