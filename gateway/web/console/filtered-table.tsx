import { useState } from "preact/hooks";
import { Field } from "../ui/field.js";
import { type Column, Table } from "../ui/table.js";

interface FilteredTableProps<Row> {
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string;
  /** What is searched. */
  readonly text: (row: Row) => string;
  /** What the rows are: `rules`. */
  readonly what: string;
}

/** So many rows need no search. */
const FEW = 10;
/** More would take long to draw, and nobody reads them. */
const MOST = 200;

/** A table that may have thousands of rows: one finds them by a part of their text. */
export function FilteredTable<Row>({ text, what, rows, ...table }: FilteredTableProps<Row>) {
  const [search, setSearch] = useState("");
  const wanted = search.trim().toLowerCase();
  const found = wanted === "" ? rows : rows.filter((row) => text(row).toLowerCase().includes(wanted));
  return (
    <div class="stack">
      {rows.length > FEW && (
        <div class="filters">
          <Field label={`Find ${what}`}>
            {(control) => (
              <input
                {...control}
                type="search"
                value={search}
                onInput={({ currentTarget }) => setSearch(currentTarget.value)}
                autocomplete="off"
                spellcheck={false}
              />
            )}
          </Field>
        </div>
      )}
      {found.length > 0 && <Table {...table} rows={found.slice(0, MOST)} />}
      <p class="hint" role="status">
        {found.length === 0
          ? `None of ${rows.length} ${what} matches.`
          : found.length > MOST
            ? `${MOST} of ${found.length} ${what} are shown. Type a part of what you look for.`
            : wanted !== "" && `${found.length} of ${rows.length} ${what}`}
      </p>
    </div>
  );
}
