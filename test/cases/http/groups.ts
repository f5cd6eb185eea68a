/** All cases of the HTTP contract, by subject. */
import { limits, wire } from "./bytes.js";
import type { HttpCase } from "./case.js";
import { namespaces, tokens } from "./credentials.js";
import { failures } from "./failures.js";
import { bodies, queries } from "./messages.js";
import { metadata } from "./metadata.js";
import { methods } from "./methods.js";
import { nowhere, oddPaths, own, shapes } from "./paths.js";

export const groups: Readonly<Record<string, readonly HttpCase[]>> = {
  "paths that name an endpoint": shapes,
  "unusual paths": oddPaths,
  "paths of endpoints that do not exist": nowhere,
  methods,
  tokens,
  namespaces,
  "JSON bodies": bodies,
  queries: queries,
  "failures of services": failures,
  metadata,
  "bytes that are not a request": wire,
  "too many headers": limits,
  "built-in routes": own,
};
