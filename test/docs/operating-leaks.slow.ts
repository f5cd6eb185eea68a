/** Rows of docs/operating.md are played, and their commands are run as they stand in the page. */
import t from "tap";
import { playRows } from "./incidents/all.js";
import { LEAKS } from "./incidents/leaks.js";

playRows(t, LEAKS);
