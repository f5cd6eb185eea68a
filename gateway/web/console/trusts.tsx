/** The trusts of the namespace: which JWTs stand for whom. A section of the page Sign-in. */
import { useState } from "preact/hooks";
import type { Issuer, Trust } from "../../../src/api/types.js";
import type { Loading } from "../state/load.js";
import { Badge } from "../ui/badge.js";
import { Button } from "../ui/button.js";
import { Menu } from "../ui/menu.js";
import { type Column, FilteredTable } from "../ui/table.js";
import { pageOfAccount } from "./keys.js";
import { Loaded, NewButton, PageSection } from "./page-frame.js";
import { Moment } from "./time.js";
import { CreateTrustDialog, DeleteTrustDialog, RevokeJwtDialog } from "./trust-dialogs.js";

type Doing = { readonly what: "create" | "revoke" } | { readonly what: "delete"; readonly trust: Trust };

interface TrustsSectionProps {
  readonly issuers: readonly Issuer[];
  readonly trusts: Loading<readonly Trust[]>;
}

export function TrustsSection({ issuers, trusts }: TrustsSectionProps) {
  const [doing, setDoing] = useState<Doing>();
  const [lit, setLit] = useState<string>();
  const onClose = () => setDoing(undefined);
  const onDone = () => {
    onClose();
    trusts.reload();
  };
  const onCreated = ({ name }: Trust) => {
    setLit(name);
    onDone();
  };
  const content = (
    <>
      <Loaded loading={trusts} what="the trusts">
        {(all) =>
          all.length === 0 ? (
            <p class="hint">
              {issuers.length === 0
                ? "None yet. The first step is the issuer of the JWTs."
                : "None yet: no JWT of a program is accepted."}
            </p>
          ) : (
            <TrustTable trusts={all} lit={lit} onDelete={(trust) => setDoing({ what: "delete", trust })} />
          )
        }
      </Loaded>
      {doing?.what === "create" && <CreateTrustDialog issuers={issuers} onClose={onClose} onDone={onCreated} />}
      {doing?.what === "revoke" && <RevokeJwtDialog onClose={onClose} onDone={onDone} />}
      {doing?.what === "delete" && <DeleteTrustDialog trust={doing.trust} onClose={onClose} onDone={onDone} />}
    </>
  );
  return (
    <PageSection
      id="trusts"
      title="Trusts"
      lead="Which JWTs of an issuer stand for which account. So CI jobs and pods call without a secret."
      content={content}
    >
      <Button onClick={() => setDoing({ what: "revoke" })}>Revoke a JWT</Button>
      {issuers.length > 0 && <NewButton title="New trust" onClick={() => setDoing({ what: "create" })} />}
    </PageSection>
  );
}

interface TrustTableProps {
  readonly trusts: readonly Trust[];
  readonly lit: string | undefined;
  readonly onDelete: (trust: Trust) => void;
}

function TrustTable({ trusts, lit, onDelete }: TrustTableProps) {
  const columns: Column<Trust>[] = [
    { title: "Name", cell: ({ name }) => <span class="short-name">{name}</span> },
    { title: "Issuer", cell: ({ issuer }) => issuer },
    { title: "Subject", cell: ({ subject }) => <code>{subject}</code> },
    { title: "Audience", cell: ({ audience }) => <code>{audience}</code> },
    { title: "Account", cell: ({ account }) => <a href={pageOfAccount(account)}>{account}</a> },
    {
      title: "JWT",
      cell: ({ bearer }) => (bearer ? <Badge tone="accent">Is a token</Badge> : <Badge>Exchanged</Badge>),
    },
    { title: "Created", cell: ({ created }) => <Moment at={created} relative /> },
    {
      title: "Actions",
      cell: (trust) => (
        <Menu
          label={`Actions for trust ${trust.name}`}
          items={[{ label: "Delete", danger: true, onSelect: () => onDelete(trust) }]}
        />
      ),
    },
  ];
  return (
    <FilteredTable
      caption="Trusts"
      what="trusts"
      columns={columns}
      rows={trusts}
      rowKey={({ name }) => name}
      lit={lit}
      text={({ name, issuer, subject, audience, account }) => [name, issuer, subject, audience, account].join(" ")}
    />
  );
}
