/** The issuers of the namespace: a section of the page Sign-in. */
import { useState } from "preact/hooks";
import type { Issuer, Trust } from "../../../src/api/types.js";
import { canShare, issuersOf } from "../session/shared-session.js";
import { type Loading, useLoad } from "../state/load.js";
import { Badge } from "../ui/badge.js";
import { CopyButton } from "../ui/copy-button.js";
import { Menu } from "../ui/menu.js";
import { ErrorNotice } from "../ui/notice.js";
import { type Column, FilteredTable } from "../ui/table.js";
import { publicUrl } from "./authority.js";
import { CreateIssuerDialog, DeleteIssuerDialog } from "./issuer-dialogs.js";
import { Loaded, NewButton, PageSection } from "./page-frame.js";
import { Moment } from "./time.js";

type Doing = { readonly what: "create" } | { readonly what: "delete"; readonly issuer: Issuer };

interface IssuersSectionProps {
  readonly issuers: Loading<readonly Issuer[]>;
  readonly trusts: Loading<readonly Trust[]>;
}

export function IssuersSection({ issuers, trusts }: IssuersSectionProps) {
  const address = useLoad(publicUrl, []);
  const [doing, setDoing] = useState<Doing>();
  const [lit, setLit] = useState<string>();
  const onClose = () => setDoing(undefined);
  const onCreated = ({ name }: Issuer) => {
    onClose();
    setLit(name);
    issuers.reload();
  };
  const onDeleted = () => {
    onClose();
    issuers.reload();
    trusts.reload();
  };
  return (
    <PageSection
      id="issuers"
      title="Issuers"
      lead="OpenID Connect. People sign in by an issuer, and trusts accept its JWTs from programs."
      content={
        <>
          {address.error && (
            <ErrorNotice error={address.error} onRetry={address.reload}>
              <p>So the callback URLs are not known here.</p>
            </ErrorNotice>
          )}
          <Loaded loading={issuers} what="the issuers">
            {(all) =>
              all.length === 0 ? (
                <p class="hint">None yet: people sign in with passwords, and programs call with keys.</p>
              ) : (
                <>
                  {all.some(({ signIn }) => signIn !== undefined) && <WhereItIsOffered />}
                  <IssuerTable
                    issuers={all}
                    address={address.value}
                    lit={lit}
                    onDelete={(issuer) => setDoing({ what: "delete", issuer })}
                  />
                </>
              )
            }
          </Loaded>
          {doing?.what === "create" && <CreateIssuerDialog onClose={onClose} onDone={onCreated} />}
          {doing?.what === "delete" && (
            <DeleteIssuerDialog issuer={doing.issuer} trusts={trusts} onClose={onClose} onDone={onDeleted} />
          )}
        </>
      }
    >
      <NewButton title="New issuer" onClick={() => setDoing({ what: "create" })} />
    </PageSection>
  );
}

/** Says why nobody is offered the issuers, where that is so. */
function WhereItIsOffered() {
  const { value } = useLoad(async () => (canShare() ? issuersOf("default") : undefined), []);
  if (!canShare()) {
    return (
      <p class="hint">
        On these pages people sign in by an issuer at https addresses and at localhost only: elsewhere browsers keep no
        keys.
      </p>
    );
  }
  if (value === undefined || value.publicUrl !== "") return null;
  return (
    <p class="notice warning">
      Nobody is offered to sign in by an issuer before <code>PORTICO_PUBLIC_URL</code> is set: issuers send people back
      to that address.
    </p>
  );
}

interface IssuerTableProps {
  readonly issuers: readonly Issuer[];
  /** Where people reach the gateway; undefined while that is not known. */
  readonly address: string | undefined;
  readonly lit: string | undefined;
  readonly onDelete: (issuer: Issuer) => void;
}

function IssuerTable({ issuers, address, lit, onDelete }: IssuerTableProps) {
  const columns: Column<Issuer>[] = [
    { title: "Name", cell: ({ name }) => <span class="short-name">{name}</span> },
    { title: "URL", cell: ({ url }) => <code>{url}</code> },
    { title: "Who", cell: Who },
    { title: "Callback URL", cell: (issuer) => <CallbackUrl issuer={issuer} address={address} /> },
    { title: "Created", cell: ({ created }) => <Moment at={created} relative /> },
    {
      title: "Actions",
      cell: (issuer) => (
        <Menu
          label={`Actions for issuer ${issuer.name}`}
          items={[{ label: "Delete", danger: true, onSelect: () => onDelete(issuer) }]}
        />
      ),
    },
  ];
  return (
    <FilteredTable
      caption="Issuers"
      what="issuers"
      columns={columns}
      rows={issuers}
      rowKey={({ name }) => name}
      lit={lit}
      text={({ name, url, signIn }) => [name, url, signIn?.clientId].join(" ")}
    />
  );
}

/** Who signs in by the issuer, and how. */
function Who({ signIn }: Issuer) {
  if (signIn === undefined) return <Badge>Programs only</Badge>;
  const { clientId, accountClaim, map, createAccounts } = signIn;
  return (
    <>
      <Badge tone="accent">People sign in</Badge>
      <ul class="plain-list hint">
        <li>
          As client <code>{clientId}</code>
        </li>
        <li>{createAccounts ? `New accounts, named by ${accountClaim}` : "Linked accounts only"}</li>
        {map.map(({ group, scope }) => (
          <li key={`${group} ${scope}`}>
            Group {group} gives {scope}
          </li>
        ))}
      </ul>
    </>
  );
}

function CallbackUrl({ issuer, address }: { readonly issuer: Issuer; readonly address: string | undefined }) {
  if (issuer.callbackPath === "") return <span class="hint">None</span>;
  if (address === undefined) return <code>…{issuer.callbackPath}</code>;
  const url = `${address}${issuer.callbackPath}`;
  return (
    <span class="copyable">
      <code>{url}</code>
      <CopyButton text={url} what={`the callback URL of ${issuer.name}`} />
    </span>
  );
}
