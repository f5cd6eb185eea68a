/** The page of the namespaces, for administrators of `default`. */
import { useState } from "preact/hooks";
import type { CreateNamespaceResponse, Namespace } from "../../../src/api/types.js";
import { call } from "../session/api.js";
import { useLoad } from "../state/load.js";
import { Badge } from "../ui/badge.js";
import { TextField } from "../ui/field.js";
import { Menu } from "../ui/menu.js";
import { type Column, FilteredTable } from "../ui/table.js";
import { list } from "./authority.js";
import { ConfirmDialog, type DialogProps, FormDialog, SecretDialog } from "./dialogs.js";
import { Loaded, NewButton, PageHead } from "./page-frame.js";
import { Moment } from "./time.js";

export function NamespacesPage() {
  const namespaces = useLoad(list.namespaces, []);
  const [creating, setCreating] = useState(false);
  const [created, setCreated] = useState<CreateNamespaceResponse>();
  const [deleted, setDeleted] = useState<Namespace>();
  const onCreated = (made: CreateNamespaceResponse) => {
    setCreating(false);
    setCreated(made);
    namespaces.reload();
  };
  const onDeleted = () => {
    setDeleted(undefined);
    namespaces.reload();
  };
  return (
    <>
      <PageHead
        title="Namespaces"
        lead="Each has its own accounts, keys, rules and administrators. A call names its namespace in the header Platform-Namespace or by its token."
      >
        <NewButton title="New namespace" onClick={() => setCreating(true)} />
      </PageHead>
      <Loaded loading={namespaces} what="the namespaces">
        {(all) => <NamespaceTable namespaces={all} onDelete={setDeleted} />}
      </Loaded>
      {creating && <CreateDialog onClose={() => setCreating(false)} onDone={onCreated} />}
      {created && <CreatedDialog created={created} onClose={() => setCreated(undefined)} />}
      {deleted && <DeleteDialog name={deleted.name} onClose={() => setDeleted(undefined)} onDone={onDeleted} />}
    </>
  );
}

interface NamespaceTableProps {
  readonly namespaces: readonly Namespace[];
  readonly onDelete: (namespace: Namespace) => void;
}

function NamespaceTable({ namespaces, onDelete }: NamespaceTableProps) {
  const columns: Column<Namespace>[] = [
    { title: "Name", cell: ({ name }) => name },
    { title: "Created", cell: ({ created }) => <Moment at={created} /> },
    {
      title: "Actions",
      cell: (namespace) =>
        namespace.name === "default" ? (
          <Badge>Cannot be deleted</Badge>
        ) : (
          <Menu
            label={`Actions for ${namespace.name}`}
            items={[{ label: "Delete", danger: true, onSelect: () => onDelete(namespace) }]}
          />
        ),
    },
  ];
  return (
    <FilteredTable
      caption="Namespaces"
      what="namespaces"
      columns={columns}
      rows={namespaces}
      rowKey={({ name }) => name}
      text={({ name }) => name}
    />
  );
}

function CreateDialog(props: DialogProps<CreateNamespaceResponse>) {
  const [name, setName] = useState("");
  const act = () => call("auth/Namespaces/Create", { name });
  return (
    <FormDialog {...props} title="New namespace" action="Create namespace" act={act}>
      <TextField
        label="Name"
        hint="Lower-case letters, digits and -, such as team-a."
        required
        maxLength={63}
        value={name}
        onInput={setName}
      />
    </FormDialog>
  );
}

function CreatedDialog({
  created,
  onClose,
}: {
  readonly created: CreateNamespaceResponse;
  readonly onClose: () => void;
}) {
  const { namespace, adminPassword } = created;
  return (
    <SecretDialog
      title={`Namespace ${namespace.name}`}
      secret={adminPassword}
      what="the administrator’s password"
      onClose={onClose}
    >
      <p>
        Sign in with it as <code>admin</code> in the namespace <code>{namespace.name}</code>. It has no rules yet, so
        every call in it is refused until you create one.
      </p>
    </SecretDialog>
  );
}

function DeleteDialog({ name, ...props }: { readonly name: string } & DialogProps) {
  return (
    <ConfirmDialog
      {...props}
      title="Delete a namespace"
      name={name}
      what="the namespace’s name"
      action="Delete namespace"
      act={() => call("auth/Namespaces/Delete", { name })}
      done={`Namespace ${name} is deleted`}
    >
      <p>
        Its accounts, tokens, keys and rules are deleted too, and every call in it is refused at once. This cannot be
        undone.
      </p>
    </ConfirmDialog>
  );
}
