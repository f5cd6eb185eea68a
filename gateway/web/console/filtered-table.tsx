/** A table with a search box, for lists that may have thousands of rows. */
import { useState } from "preact/hooks";
import { Field } from "../ui/field.js";
import { type Column, Table } from "../ui/table.js";

interface FilteredTableProps<Row> {
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string;
  /** The text of a row that is searched. */
  readonly text: (row: Row) => string;
  /** What the rows are, such as `rules`. */
  readonly what: string;
}

/** Up to so many rows are shown without a search box. */
const MAX_WITHOUT_SEARCH = 10;
/** Rows that are shown: more would take long to draw. */
const MAX_SHOWN = 200;

export function FilteredTable<Row>({ text, what, rows, ...table }: FilteredTableProps<Row>) {
  const [search, setSearch] = useState("");
  const wanted = search.trim().toLowerCase();
  const found = wanted === "" ? rows : rows.filter((row) => text(row).toLowerCase().includes(wanted));
  return (
    <div class="stack">
      {rows.length > MAX_WITHOUT_SEARCH && (
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
      {found.length > 0 && <Table {...table} rows={found.slice(0, MAX_SHOWN)} />}
      <p class="hint" role="status">
        {found.length === 0
          ? `None of ${rows.length} ${what} matches.`
          : found.length > MAX_SHOWN
            ? `${MAX_SHOWN} of ${found.length} ${what} are shown. Type a part of what you look for.`
            : wanted !== "" && `${found.length} of ${rows.length} ${what}`}
      </p>
    </div>
  );
}
