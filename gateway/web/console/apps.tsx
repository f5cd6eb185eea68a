/** The apps that people have let call for them: one row for each consent. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Grant, KeyUsage } from "../../../src/api/types.js";
import { call } from "../session/api.js";
import { administers, type Session } from "../session/session.js";
import { type Loading, useLoad } from "../state/load.js";
import { Menu } from "../ui/menu.js";
import { EmptyState, ErrorNotice } from "../ui/notice.js";
import { type Column, FilteredTable } from "../ui/table.js";
import { callsOfApp, claimedName, mayCall, nameOfApp } from "./app-words.js";
import { every, list, listTree } from "./authority.js";
import { ConfirmDialog, type DialogProps } from "./dialogs.js";
import { coverage, type TreeService } from "./endpoint-tree.js";
import { ExpiryBadge, pageOfAccount } from "./keys.js";
import { type ConsoleProps, Loaded, MoreNotice, PageHead } from "./page-frame.js";
import { Moment } from "./time.js";

export function AppsPage({ session }: ConsoleProps) {
  const ofOthers = administers(session, "keys");
  const whose = ofOthers ? "that people of this namespace let call for them" : "that you let call for you";
  return (
    <>
      <PageHead title="Connected apps" lead={`Programs and agents ${whose}. At each call the rules decide too.`} />
      <Apps session={session} withAccount={ofOthers}>
        <EmptyState title="No connected apps">
          <p>A program that asks to call for you sends you to a page where you sign in and choose what it may call.</p>
        </EmptyState>
      </Apps>
    </>
  );
}

/** The apps of one account, on its page. */
export function AppsOf({ session, account }: ConsoleProps & { readonly account: string }) {
  return (
    <section class="stack" aria-labelledby="its-apps">
      <h2 id="its-apps">Its connected apps</h2>
      <Apps session={session} account={account} withAccount={false}>
        <p class="hint">None.</p>
      </Apps>
    </section>
  );
}

interface AppsProps extends ConsoleProps {
  /** The account whose apps are listed; undefined for all that the visitor may see. */
  readonly account?: string;
  readonly withAccount: boolean;
  /** What stands there if there are none. */
  readonly children: ComponentChildren;
}

const MONTH = `${30 * 86_400}s`;

function Apps({ session, account, withAccount, children }: AppsProps) {
  const grants = useLoad(account === undefined ? list.grants : (signal) => every.grants(signal), []);
  const [ending, setEnding] = useState<Grant>();
  const onClose = () => setEnding(undefined);
  const onDone = () => {
    onClose();
    grants.reload();
  };
  return (
    <>
      <Loaded loading={grants} what="the apps">
        {(all) => {
          const shown = account === undefined ? all : all.filter((grant) => grant.account === account);
          if (shown.length === 0) return children;
          return (
            <>
              {account === undefined && <MoreNotice listed={all.length} what="grants" />}
              <AppTable session={session} grants={shown} withAccount={withAccount} onEnd={setEnding} />
            </>
          );
        }}
      </Loaded>
      {ending && <EndAppDialog ended={ending} onClose={onClose} onDone={onDone} />}
    </>
  );
}

interface AppTableProps {
  readonly session: Session;
  readonly grants: readonly Grant[];
  readonly withAccount: boolean;
  readonly onEnd: (grant: Grant) => void;
}

function AppTable({ session, grants, withAccount, onEnd }: AppTableProps) {
  const seesAll = administers(session, "audit");
  const account = seesAll ? "" : session.account;
  const usage = useLoad((signal) => list.usage({ span: MONTH, account }, signal), [account]);
  const tree = useLoad(listTree, []);
  const columns: Column<Grant>[] = [
    { title: "App", cell: App },
    ...(withAccount
      ? [{ title: "Account", cell: ({ account }: Grant) => <a href={pageOfAccount(account)}>{account}</a> }]
      : []),
    { title: "May call", cell: (grant) => <MayCall grant={grant} tree={tree.value?.governed} /> },
    {
      title: "Calls, 30 days",
      cell: (grant) =>
        seesAll || grant.account === account ? <Calls grant={grant} usage={usage} /> : "not shown to you",
      numeric: true,
    },
    { title: "Granted", cell: ({ created }) => created && <Moment at={created} relative /> },
    { title: "Last used", cell: ({ lastUsed }) => (lastUsed ? <Moment at={lastUsed} relative /> : "Never") },
    { title: "Until", cell: ({ expires }) => expires && <ExpiryBadge expires={expires} /> },
    { title: "Actions", cell: (grant) => <AppMenu grant={grant} onEnd={onEnd} /> },
  ];
  return (
    <>
      {usage.error && (
        <ErrorNotice error={usage.error} onRetry={usage.reload}>
          <p>So it is not known here how often the apps call.</p>
        </ErrorNotice>
      )}
      <FilteredTable
        caption="Connected apps"
        what="apps"
        columns={columns}
        rows={grants}
        rowKey={({ id }) => id}
        text={({ clientId, clientName, account, resources }) => [clientId, clientName, account, ...resources].join(" ")}
      />
    </>
  );
}

function App(grant: Grant) {
  const claimed = claimedName(grant);
  return (
    <>
      {nameOfApp(grant)}
      {claimed !== undefined && <span class="hint"> calls itself “{claimed}”</span>}
    </>
  );
}

function MayCall({ grant, tree }: { readonly grant: Grant; readonly tree: readonly TreeService[] | undefined }) {
  const all = tree?.flatMap(({ endpoints }) => endpoints).length ?? 0;
  const covered = grant.resources.length === 0 ? all : coverage(tree ?? [], grant.resources).size;
  return (
    <>
      <ul class="plain-list">
        {mayCall(grant).map((words) => (
          <li key={words}>{words}</li>
        ))}
      </ul>
      <span class="hint">
        {tree !== undefined && `${covered} of ${all} endpoints`}
        {grant.mcpOnly && ", as tools at /mcp only"}
      </span>
    </>
  );
}

function Calls({ grant, usage }: { readonly grant: Grant; readonly usage: Loading<{ keys: readonly KeyUsage[] }> }) {
  if (usage.value === undefined) return <>{usage.error ? "unknown" : "…"}</>;
  return <>{callsOfApp(grant, usage.value.keys).toLocaleString()}</>;
}

function AppMenu({ grant, onEnd }: { readonly grant: Grant; readonly onEnd: (grant: Grant) => void }) {
  return (
    <Menu
      label={`Actions for ${nameOfApp(grant)}, ${grant.account}`}
      items={[{ label: "End", danger: true, onSelect: () => onEnd(grant) }]}
    />
  );
}

function EndAppDialog({ ended, ...props }: { readonly ended: Grant } & DialogProps) {
  const { id, account, lastUsed } = ended;
  const name = nameOfApp(ended);
  return (
    <ConfirmDialog
      {...props}
      title="End a connected app"
      name={name}
      what="the app’s name"
      action="End it"
      act={() => call("auth/Grants/Delete", { id })}
      done={`${name} may no longer call for ${account}`}
    >
      <p>
        Takes effect at once: calls of {name} for {account} are refused everywhere, and its open streams end.{" "}
        {lastUsed ? (
          <>
            It last got tokens <Moment at={lastUsed} relative />.
          </>
        ) : (
          "It has never been used."
        )}
      </p>
      <p>It may ask again; then the person chooses again.</p>
    </ConfirmDialog>
  );
}
