/** Rows of docs/operating.md are played, and their commands are run as they stand in the page. */
import t from "tap";
import { playRows } from "./incidents/all.js";
import { REFUSED_STARTS } from "./incidents/refused-starts.js";

playRows(t, REFUSED_STARTS);
