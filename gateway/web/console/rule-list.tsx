/** The rules as a working table: sorted, filtered, and changed in their rows. */
import { useMemo, useRef, useState } from "preact/hooks";
import type { Rule } from "../../../src/api/types.js";
import { coversService } from "../../../src/contract/resource.js";
import { useLoad } from "../state/load.js";
import { filterFields, SelectField, TextField } from "../ui/field.js";
import { Menu } from "../ui/menu.js";
import type { Column } from "../ui/table.js";
import { type Sorting, VirtualTable } from "../ui/virtual-table.js";
import { listResources } from "./authority.js";
import { type Draft, draftOf, EditBar, editedCells } from "./rule-editor.js";
import { RULE_COLUMNS } from "./rule-table.js";
import { countOf, focusOnRow, nextSorting, optionsOf, sortedBy, useFilter } from "./working-table.js";

interface RuleListProps {
  readonly rules: readonly Rule[];
  readonly onChanged: () => void;
  readonly onDelete: (rule: Rule) => void;
  readonly onDuplicate: (rule: Rule) => void;
}

interface Edited {
  readonly rule: Rule;
  readonly draft: Draft;
}

export function RuleList({ rules, onChanged, onDelete, onDuplicate }: RuleListProps) {
  const resources = useLoad(listResources, []);
  const [filter, setFilter] = useFilter(EVERYTHING);
  const [sorting, setSorting] = useState<Sorting>();
  const [edited, setEdited] = useState<Edited>();
  const editing = useRef<Rule>(undefined);
  editing.current = edited?.rule;
  const searched = useMemo(() => rules.map((rule) => ({ rule, text: textOf(rule) })), [rules]);
  const found = useMemo(() => sorted(filtered(searched, filter), sorting), [searched, filter, sorting]);
  const edit = (rule: Rule, change: Partial<Draft> = {}) => setEdited({ rule, draft: { ...draftOf(rule), ...change } });
  const close = () => {
    setEdited(undefined);
    focusOnRow(edited && menuLabel(edited.rule));
  };
  const cells = edited && editedCells(edited.draft, (draft) => setEdited({ ...edited, draft }), close);
  const columns: Column<Rule>[] = RULE_COLUMNS.map((column) => ({
    ...column,
    cell: (rule) => (rule.id === edited?.rule.id && cells?.[column.title]) || column.cell(rule),
  }));
  const items = (rule: Rule) => [
    { label: "Edit", onSelect: () => edit(rule) },
    { label: "Duplicate", onSelect: () => onDuplicate(rule) },
    { label: rule.disabled ? "Switch on" : "Switch off", onSelect: () => edit(rule, { disabled: !rule.disabled }) },
    { label: "Delete", danger: true, onSelect: () => onDelete(rule) },
  ];
  columns.push({ title: "Actions", cell: (rule) => <Menu label={menuLabel(rule)} items={items(rule)} /> });
  return (
    <div class="stack">
      <Filters {...{ rules, filter, resources: resources.value }} onChange={setFilter} />
      <p class="hint" role="status">
        {countOf(found.length, rules.length, "rule")}
      </p>
      {found.length > 0 && (
        <VirtualTable
          caption="Rules"
          columns={columns}
          rows={found}
          rowKey={({ id }) => id}
          sorting={sorting}
          onSort={(title) => setSorting(nextSorting(sorting, title))}
        />
      )}
      {edited && (
        <EditBar
          key={edited.rule.id}
          {...edited}
          resources={resources}
          onClose={close}
          onTried={onChanged}
          onDone={() => {
            // Another rule may be edited by now.
            if (editing.current === edited.rule) close();
          }}
        />
      )}
    </div>
  );
}

function menuLabel({ id }: Rule): string {
  return `Actions for rule ${id}`;
}

interface Filter {
  readonly text: string;
  readonly scope: string;
  readonly access: string;
  readonly service: string;
}

const EVERYTHING: Filter = { text: "", scope: "", access: "", service: "" };
const DISABLED = "disabled";

interface FiltersProps {
  readonly rules: readonly Rule[];
  readonly resources: readonly string[] | undefined;
  readonly filter: Filter;
  readonly onChange: (filter: Filter) => void;
}

function Filters({ rules, resources, filter, onChange }: FiltersProps) {
  const scopes = useMemo(
    () =>
      optionsOf(
        "Any scope",
        rules.map(({ scope }) => scope),
      ),
    [rules],
  );
  const services = useMemo(() => {
    const names = [...(resources ?? []), ...rules.map(({ resource }) => resource)].map(
      (one) => one.split(":")[1] ?? "",
    );
    return optionsOf(
      "Any service",
      names.filter((name) => !name.includes("*")),
    );
  }, [rules, resources]);
  const field = filterFields(filter, onChange);
  return (
    <div class="filters wide-filters">
      <TextField label="Find rules" type="search" {...field("text")} />
      <SelectField label="Scope" options={scopes} {...field("scope")} />
      <SelectField label="Access" options={ACCESSES} {...field("access")} />
      <SelectField label="Service" options={services} {...field("service")} />
    </div>
  );
}

const ACCESSES = [
  ["", "Any access"],
  ["GRANTED", "Granted"],
  ["DENIED", "Denied"],
  [DISABLED, "Switched off"],
] as const;

function textOf({ id, scope, access, resource }: Rule): string {
  return [id, scope, access, resource].join(" ").toLowerCase();
}

interface Searched {
  readonly rule: Rule;
  readonly text: string;
}

function filtered(searched: readonly Searched[], { text, scope, access, service }: Filter): Rule[] {
  const wanted = text.trim().toLowerCase();
  const name = service.toLowerCase();
  return searched
    .filter(({ rule, text: own }) => {
      if (wanted !== "" && !own.includes(wanted)) return false;
      if (scope !== "" && rule.scope !== scope) return false;
      if (access !== "" && (access === DISABLED ? !rule.disabled : rule.disabled || rule.access !== access))
        return false;
      return name === "" || coversService(rule.resource, name);
    })
    .map(({ rule }) => rule);
}

const KEYS: Readonly<Record<string, keyof Rule>> = {
  ID: "id",
  Scope: "scope",
  Access: "access",
  Resource: "resource",
  Priority: "priority",
};

/** Without sorting, the rules are in the order in which they are looked at. */
function sorted(rules: Rule[], sorting: Sorting | undefined): Rule[] {
  const key = sorting && KEYS[sorting.title];
  return key === undefined ? rules : sortedBy(rules, sorting, (rule) => rule[key]);
}
