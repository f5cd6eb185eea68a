/** All dialects, and how the one of a request is found: by its method and headers, else by its path. */
import type { Dialects } from "../stages/dialect.js";
import { json } from "./json/json.js";

export const DIALECTS: Dialects = {
  of: () => json,
  byPath: [json],
};
