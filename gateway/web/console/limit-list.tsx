/** The limits as a working table: sorted, filtered, with what each has refused. */
import { useMemo, useState } from "preact/hooks";
import type { Limit, ListedLimit } from "../../../src/api/types.js";
import { Badge } from "../ui/badge.js";
import { filterFields, SelectField, TextField } from "../ui/field.js";
import { Menu } from "../ui/menu.js";
import type { Column } from "../ui/table.js";
import { type Sorting, VirtualTable } from "../ui/virtual-table.js";
import type { Doing } from "./limit-dialogs.js";
import { allowance, callsPerDay, refusedInWords, sharedBy } from "./limit-words.js";
import { countOf, nextSorting, optionsOf, sortedBy, useFilter } from "./working-table.js";

interface LimitListProps {
  readonly limits: readonly ListedLimit[];
  readonly onDoing: (doing: Doing) => void;
}

export function LimitList({ limits, onDoing }: LimitListProps) {
  const [filter, setFilter] = useFilter(EVERYTHING);
  const [sorting, setSorting] = useState<Sorting>();
  const found = useMemo(() => sorted(filtered(limits, filter), sorting), [limits, filter, sorting]);
  const items = (listed: ListedLimit) => [
    { label: "Edit", onSelect: () => onDoing({ what: "edit", listed }) },
    { label: "Duplicate", onSelect: () => onDoing({ what: "create", initial: listed.limit }) },
    { label: listed.limit.shadow ? "Enforce" : "Only count", onSelect: () => onDoing({ what: "shadow", listed }) },
    { label: "Delete", danger: true, onSelect: () => onDoing({ what: "delete", listed }) },
  ];
  const columns: Column<ListedLimit>[] = [
    ...COLUMNS,
    {
      title: "Actions",
      cell: (listed) => <Menu label={`Actions for limit ${listed.limit.id}`} items={items(listed)} />,
    },
  ];
  return (
    <div class="stack">
      <Filters limits={limits} filter={filter} onChange={setFilter} />
      <p class="hint" role="status">
        {countOf(found.length, limits.length, "limit")}
      </p>
      {found.length > 0 && (
        <VirtualTable
          caption="Limits"
          look="limit-window"
          columns={columns}
          rows={found}
          rowKey={({ limit }) => limit.id}
          sorting={sorting}
          onSort={(title) => setSorting(nextSorting(sorting, title))}
        />
      )}
    </div>
  );
}

const COLUMNS: readonly Column<ListedLimit>[] = [
  { title: "ID", cell: ({ limit: { id } }) => <Clamped text={id} /> },
  { title: "Who", cell: ({ limit }) => <Who {...limit} /> },
  { title: "State", cell: ({ limit }) => <StateBadge {...limit} /> },
  {
    title: "Resource",
    cell: ({ limit: { resource } }) => (
      <code title={resource} class="clamped">
        {resource}
      </code>
    ),
  },
  { title: "Allows", cell: ({ limit }) => <Clamped text={allowance(limit)} /> },
  { title: "Refused", cell: (listed) => <Clamped text={refusedInWords(listed)} /> },
];

/** At most two lines; the pointer shows the rest. */
function Clamped({ text }: { readonly text: string }) {
  return (
    <span title={text} class="clamped">
      {text}
    </span>
  );
}

function Who({ scope, per }: Limit) {
  const shared = sharedBy({ per });
  return (
    <span title={`${scope}, ${shared}`} class="clamped">
      <code>{scope}</code> <span class="hint">{shared}</span>
    </span>
  );
}

function StateBadge({ shadow }: Limit) {
  if (shadow) return <Badge title="It counts whom it would refuse, and refuses nothing">Shadow</Badge>;
  return <Badge tone="accent">Enforced</Badge>;
}

interface Filter {
  readonly text: string;
  readonly scope: string;
  readonly sharedBy: string;
  readonly state: string;
}

const EVERYTHING: Filter = { text: "", scope: "", sharedBy: "", state: "" };

const STATES = [
  ["", "Any state"],
  ["enforced", "Enforced"],
  ["shadow", "Shadow"],
] as const;

interface FiltersProps {
  readonly limits: readonly ListedLimit[];
  readonly filter: Filter;
  readonly onChange: (filter: Filter) => void;
}

function Filters({ limits, filter, onChange }: FiltersProps) {
  const options = (any: string, keyOf: (limit: Limit) => string) =>
    optionsOf(
      any,
      limits.map(({ limit }) => keyOf(limit)),
    );
  const field = filterFields(filter, onChange);
  return (
    <div class="filters wide-filters">
      <TextField label="Find limits" type="search" {...field("text")} />
      <SelectField label="Scope" options={options("Any scope", ({ scope }) => scope)} {...field("scope")} />
      <SelectField label="Shared by" options={options("Any", sharedBy)} {...field("sharedBy")} />
      <SelectField label="State" options={STATES} {...field("state")} />
    </div>
  );
}

function filtered(limits: readonly ListedLimit[], { text, scope, sharedBy: shared, state }: Filter): ListedLimit[] {
  const wanted = text.trim().toLowerCase();
  return limits.filter(({ limit }) => {
    if (wanted !== "" && !textOf(limit).includes(wanted)) return false;
    if (scope !== "" && limit.scope !== scope) return false;
    if (shared !== "" && sharedBy(limit) !== shared) return false;
    return state === "" || limit.shadow === (state === "shadow");
  });
}

function textOf(limit: Limit): string {
  return [limit.id, limit.scope, limit.resource, sharedBy(limit), allowance(limit)].join(" ").toLowerCase();
}

const KEYS: Readonly<Record<string, (listed: ListedLimit) => string | number | boolean>> = {
  ID: ({ limit }) => limit.id,
  Who: ({ limit }) => `${limit.scope} ${sharedBy(limit)}`,
  State: ({ limit }) => limit.shadow,
  Resource: ({ limit }) => limit.resource,
  Allows: ({ limit }) => callsPerDay(limit),
  Refused: ({ refused }) => Number(refused),
};

/** Without sorting, the limits are in the order of their IDs. */
function sorted(limits: ListedLimit[], sorting: Sorting | undefined): ListedLimit[] {
  const keyOf = sorting && KEYS[sorting.title];
  return keyOf === undefined ? limits : sortedBy(limits, sorting, keyOf);
}
