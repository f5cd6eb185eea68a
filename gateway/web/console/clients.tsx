/** The registered clients of OAuth: a section of the page Sign-in. */
import { useState } from "preact/hooks";
import type { Client, CreateClientResponse } from "../../../src/api/types.js";
import { useLoad } from "../state/load.js";
import { Badge } from "../ui/badge.js";
import { Menu } from "../ui/menu.js";
import { announce } from "../ui/status.js";
import { type Column, FilteredTable } from "../ui/table.js";
import { list } from "./authority.js";
import { CreateClientDialog, DeleteClientDialog } from "./client-dialogs.js";
import { SecretDialog } from "./dialogs.js";
import { Loaded, NewButton, PageSection } from "./page-frame.js";
import { Moment } from "./time.js";

type Doing =
  | { readonly what: "create" }
  | { readonly what: "created"; readonly made: CreateClientResponse }
  | { readonly what: "delete"; readonly client: Client };

export function ClientsSection() {
  const clients = useLoad(list.clients, []);
  const [doing, setDoing] = useState<Doing>();
  const [lit, setLit] = useState<string>();
  const onClose = () => setDoing(undefined);
  const onCreated = (made: CreateClientResponse) => {
    const { id } = made.client;
    setLit(id);
    clients.reload();
    if (made.secret !== "") return setDoing({ what: "created", made });
    onClose();
    announce(`Client ${id} is registered`);
  };
  const onDeleted = () => {
    onClose();
    clients.reload();
  };
  const content = (
    <>
      <Loaded loading={clients} what="the clients">
        {(all) =>
          all.length === 0 ? (
            <p class="hint">None yet. Programs with a metadata document need no entry.</p>
          ) : (
            <ClientTable clients={all} lit={lit} onDelete={(client) => setDoing({ what: "delete", client })} />
          )
        }
      </Loaded>
      {doing?.what === "create" && <CreateClientDialog onClose={onClose} onDone={onCreated} />}
      {doing?.what === "created" && <CreatedDialog made={doing.made} onClose={onClose} />}
      {doing?.what === "delete" && <DeleteClientDialog client={doing.client} onClose={onClose} onDone={onDeleted} />}
    </>
  );
  return (
    <PageSection
      id="clients"
      title="Clients"
      lead="Programs that may ask people for access to their account (OAuth). What people granted is on the page Connected apps."
      content={content}
    >
      <NewButton title="New client" onClick={() => setDoing({ what: "create" })} />
    </PageSection>
  );
}

interface ClientTableProps {
  readonly clients: readonly Client[];
  readonly lit: string | undefined;
  readonly onDelete: (client: Client) => void;
}

function ClientTable({ clients, lit, onDelete }: ClientTableProps) {
  const columns: Column<Client>[] = [
    { title: "client_id", cell: ({ id }) => id },
    { title: "Redirect URIs", cell: RedirectUris },
    {
      title: "Secret",
      cell: ({ confidential }) => (confidential ? <Badge tone="accent">Has a secret</Badge> : <Badge>Public</Badge>),
    },
    { title: "Created", cell: ({ created }) => <Moment at={created} relative /> },
    {
      title: "Actions",
      cell: (client) => (
        <Menu
          label={`Actions for client ${client.id}`}
          items={[{ label: "Delete", danger: true, onSelect: () => onDelete(client) }]}
        />
      ),
    },
  ];
  return (
    <FilteredTable
      caption="Clients"
      what="clients"
      columns={columns}
      rows={clients}
      rowKey={({ id }) => id}
      lit={lit}
      text={({ id, redirectUris }) => [id, ...redirectUris].join(" ")}
    />
  );
}

function RedirectUris({ redirectUris }: Client) {
  if (redirectUris.length === 0) return <span class="hint">None: it asks with a code, as a device</span>;
  return (
    <ul class="plain-list">
      {redirectUris.map((uri) => (
        <li key={uri}>
          <code>{uri}</code>
        </li>
      ))}
    </ul>
  );
}

function CreatedDialog({ made, onClose }: { readonly made: CreateClientResponse; readonly onClose: () => void }) {
  const { client, secret } = made;
  return (
    <SecretDialog title={`Client ${client.name}`} secret={secret} what="the secret" onClose={onClose}>
      <p>
        It authenticates with the <code>client_id</code> <code>{client.id}</code> and this secret.
      </p>
    </SecretDialog>
  );
}
