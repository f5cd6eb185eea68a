/** All rows of docs/operating.md, as they are played. */
import type { Test } from "tap";
import { FULL } from "../../support/full.js";
import { Incident, ROWS, type Row } from "../incident.js";
import { LEAKS } from "./leaks.js";
import type { Play } from "./play.js";
import { REFUSED_CALLS } from "./refused-calls.js";
import { REFUSED_CHANGES } from "./refused-changes.js";
import { REFUSED_STARTS } from "./refused-starts.js";
import { UNDONE } from "./undone.js";

export const PLAYS: Readonly<Record<string, Play>> = {
  ...REFUSED_CALLS,
  ...REFUSED_CHANGES,
  ...REFUSED_STARTS,
  ...LEAKS,
  ...UNDONE,
};

/** One of this many rows is played if the tests do not run at full length. */
const EVERY = 8;

/** Maximum time of a file, in milliseconds: each row starts several processes. */
const MAX_TIME = 600_000;

/** Plays some rows. Test files share the rows, so that none takes long. */
export function playRows(t: Test, plays: Readonly<Record<string, Play>>): void {
  t.setTimeout(MAX_TIME);
  for (const [index, row] of ROWS.entries()) {
    const play = plays[row.what];
    if (play !== undefined && (FULL || index % EVERY === 0)) playRow(t, row, play);
  }
}

function playRow(t: Test, row: Row, play: Play): void {
  const { skip = false, act } = typeof play === "function" ? { act: play } : play;
  t.test(row.what, { skip }, async (t) => {
    const incident = await Incident.begin(t, row);
    await act(incident);
    incident.end();
  });
}
