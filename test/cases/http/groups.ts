/** All cases of the HTTP contract, by their subjects. */
import { limits, wire } from "./bytes.js";
import type { HttpCase } from "./case.js";
import { namespaces, tokens } from "./credentials.js";
import { failures } from "./failures.js";
import { bodies, queries } from "./messages.js";
import { metadata } from "./metadata.js";
import { methods } from "./methods.js";
import { nowhere, oddPaths, own, shapes } from "./paths.js";

export const groups: Readonly<Record<string, readonly HttpCase[]>> = {
  shapes,
  "odd paths": oddPaths,
  nowhere,
  methods,
  tokens,
  namespaces,
  bodies,
  queries,
  failures,
  metadata,
  wire,
  limits,
  own,
};
