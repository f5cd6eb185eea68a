/**
 * The page of the services that joined without an enrolment, for administrators of `default`: what
 * was found of each, and why one is not served.
 */
import { useState } from "preact/hooks";
import type { ServiceListing } from "../../../src/api/types.js";
import { call } from "../session/api.js";
import { useLoad } from "../state/load.js";
import { Badge } from "../ui/badge.js";
import { Menu } from "../ui/menu.js";
import { EmptyState } from "../ui/notice.js";
import { type Column, FilteredTable } from "../ui/table.js";
import { list } from "./authority.js";
import { ConfirmDialog, type DialogProps } from "./dialogs.js";
import { Loaded, NewButton, PageHead } from "./page-frame.js";
import { ServiceDialog } from "./service-dialog.js";
import { optionTexts } from "./service-options.js";

export function ServicesPage() {
  const services = useLoad(list.services, []);
  const [edited, setEdited] = useState<ServiceListing["service"] | "new">();
  const [removed, setRemoved] = useState<string>();
  const onDone = () => {
    setEdited(undefined);
    setRemoved(undefined);
    services.reload();
  };
  return (
    <>
      <PageHead
        title="Services"
        lead="gRPC servers that were added by their address. Services that use Portico’s library join by themselves, and are not listed here."
      >
        <NewButton title="Add service" onClick={() => setEdited("new")} />
      </PageHead>
      <Loaded loading={services} what="the services">
        {({ services: all }) =>
          all.length === 0 ? (
            <EmptyState title="No service was added">
              <p>Add one by the address of its server. Portico asks the server for its contract.</p>
            </EmptyState>
          ) : (
            <ServiceTable services={all} onChange={setEdited} onRemove={setRemoved} />
          )
        }
      </Loaded>
      {edited && (
        <ServiceDialog
          before={edited === "new" ? undefined : edited}
          onClose={() => setEdited(undefined)}
          onDone={onDone}
        />
      )}
      {removed && <RemoveDialog name={removed} onClose={() => setRemoved(undefined)} onDone={onDone} />}
    </>
  );
}

interface ServiceTableProps {
  readonly services: readonly ServiceListing[];
  readonly onChange: (service: ServiceListing["service"]) => void;
  readonly onRemove: (name: string) => void;
}

function ServiceTable({ services, onChange, onRemove }: ServiceTableProps) {
  const columns: Column<ServiceListing>[] = [
    { title: "Service", cell: ({ service }) => service.name },
    { title: "Targets", cell: ({ service }) => <Lines lines={targetTexts(service)} /> },
    {
      title: "Reachable",
      cell: ({ service, reachable }) => `${reachable} of ${service.targets.length}`,
      numeric: true,
    },
    { title: "Endpoints", cell: ({ endpoints }) => endpoints.toLocaleString(), numeric: true },
    { title: "Options", cell: ({ service }) => <Lines lines={optionTexts(service.options)} /> },
    { title: "State", cell: (listing) => <State listing={listing} /> },
    {
      title: "Actions",
      cell: ({ service, source }) =>
        source === "FILE" ? (
          <Badge title="Change it in the configuration file of the authority">portico.json</Badge>
        ) : (
          <Menu
            label={`Actions for ${service.name}`}
            items={[
              { label: "Change", onSelect: () => onChange(service) },
              { label: "Remove", danger: true, onSelect: () => onRemove(service.name) },
            ]}
          />
        ),
    },
  ];
  return (
    <FilteredTable
      caption="Services that were added by their address"
      what="services"
      columns={columns}
      rows={services}
      rowKey={({ service }) => service.name}
      text={({ service }) => [service.name, ...targetTexts(service)].join(" ")}
    />
  );
}

function targetTexts({ targets }: ServiceListing["service"]): string[] {
  return targets.map(({ address, weight }) => (weight > 1 ? `${address} (weight ${weight})` : address));
}

function Lines({ lines }: { readonly lines: readonly string[] }) {
  if (lines.length === 0) return <span class="hint">None</span>;
  return (
    <ul class="plain-list">
      {lines.map((line) => (
        <li key={line}>
          <code>{line}</code>
        </li>
      ))}
    </ul>
  );
}

/** Whether it is served, and otherwise why not. */
function State({ listing: { error, problems, reachable } }: { readonly listing: ServiceListing }) {
  if (error !== "") {
    return (
      <>
        <Badge tone="bad">Not read</Badge> {error}
      </>
    );
  }
  if (reachable === 0) return <Badge tone="bad">Cannot be reached</Badge>;
  if (problems.length === 0) return <Badge tone="good">Served</Badge>;
  return (
    <details>
      <summary>
        Served, with {problems.length} {problems.length === 1 ? "problem" : "problems"}
      </summary>
      <ul class="plain-list">
        {problems.map((problem) => (
          <li key={problem}>{problem}</li>
        ))}
      </ul>
    </details>
  );
}

function RemoveDialog({ name, ...props }: { readonly name: string } & DialogProps) {
  return (
    <ConfirmDialog
      {...props}
      title="Remove a service"
      name={name}
      what="the service’s name"
      action="Remove service"
      act={() => call("registry/Services/Delete", { name })}
      done={`Service ${name} is removed`}
    >
      <p>Its endpoints are not found any more. The server itself goes on, and its gRPC names stay its own.</p>
    </ConfirmDialog>
  );
}
