/** Tables. The first column names the row; on a small screen each row becomes a card. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Button } from "./button.js";
import { TextField } from "./field.js";

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Right-aligned, with digits of equal width. */
  readonly numeric?: boolean;
}

export interface TableProps<Row> {
  /** Read by screen readers. Other visitors see the heading of the page. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string;
  /** The key of a row that was just made. It is lit for a moment. */
  readonly lit?: string | undefined;
}

export function Table<Row>({ caption, columns, rows, rowKey, lit }: TableProps<Row>) {
  return (
    <table class="table">
      <caption class="hidden">{caption}</caption>
      <thead>
        <tr>
          {columns.map(({ title, numeric }) => (
            <th key={title} scope="col" data-label={title} class={numeric ? "numeric" : undefined}>
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={rowKey(row)} class={lit !== undefined && rowKey(row) === lit ? "new-row" : undefined}>
            {columns.map(({ title, cell, numeric }, index) =>
              index === 0 ? (
                <th key={title} scope="row">
                  {cell(row)}
                </th>
              ) : (
                <td key={title} data-label={title} class={numeric ? "numeric" : undefined}>
                  {cell(row)}
                </td>
              ),
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface FilteredTableProps<Row> extends TableProps<Row> {
  /** The text of a row in which the search looks. */
  readonly text: (row: Row) => string;
  /** What the rows are, such as `rules`. */
  readonly what: string;
}

/** Maximum rows that are shown without a search box. */
const MAX_WITHOUT_SEARCH = 10;
/** Rows that are shown until the visitor asks for all. More take long to draw. */
const MAX_SHOWN = 200;

/** A table with a search box, for lists that may have thousands of rows. */
export function FilteredTable<Row>({ text, what, rows, ...table }: FilteredTableProps<Row>) {
  const [search, setSearch] = useState("");
  const [all, setAll] = useState(false);
  const wanted = search.trim().toLowerCase();
  const found = wanted === "" ? rows : rows.filter((row) => text(row).toLowerCase().includes(wanted));
  const shown = all ? found : found.slice(0, MAX_SHOWN);
  return (
    <div class="stack">
      {rows.length > MAX_WITHOUT_SEARCH && (
        <div class="filters">
          <TextField label={`Find ${what}`} type="search" value={search} onInput={setSearch} />
        </div>
      )}
      {found.length > 0 && <Table {...table} rows={shown} />}
      <p class="hint" role="status">
        {found.length === 0
          ? `None of ${rows.length} ${what} matches.`
          : found.length > shown.length
            ? `${shown.length} of ${found.length} ${what} are shown. Type a part of what you look for.`
            : wanted !== "" && `${found.length} of ${rows.length} ${what}`}
      </p>
      {found.length > shown.length && (
        <p>
          <Button small onClick={() => setAll(true)}>
            Show all {found.length} {what}
          </Button>
        </p>
      )}
    </div>
  );
}
