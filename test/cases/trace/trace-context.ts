/**
 * Headers of W3C Trace Context, and whether they count. The cases follow the W3C's test suite
 * (https://github.com/w3c/trace-context/blob/main/test/test.py, strict level 2), named as there.
 */
const TRACE_ID = "12345678901234567890123456789012";
const PARENT_ID = "1234567890123456";

/** A traceparent with parts replaced. */
const parent = ({ version = "00", traceId = TRACE_ID, parentId = PARENT_ID, flags = "01" } = {}): string =>
  `${version}-${traceId}-${parentId}-${flags}`;

export const TRACEPARENTS: readonly (readonly [title: string, text: string, isValid: boolean])[] = [
  ["included", parent(), true],
  ["version 0x00: a character more", `${parent()}.`, false],
  ["version 0x00: more parts", `${parent()}-what-the-future-will-be-like`, false],
  ["version 0xcc", parent({ version: "cc" }), true],
  ["version 0xcc: more parts", `${parent({ version: "cc" })}-what-the-future-will-be-like`, true],
  ["version 0xcc: more without a dash", `${parent({ version: "cc" })}.what-the-future-will-be-like`, false],
  ["version 0xff", parent({ version: "ff" }), false],
  ["version: illegal character at first", parent({ version: ".0" }), false],
  ["version: illegal character", parent({ version: "0." }), false],
  ["version: three digits", parent({ version: "000" }), false],
  ["version: four digits", parent({ version: "0000" }), false],
  ["version: one digit", parent({ version: "0" }), false],
  ["trace ID: all zero", parent({ traceId: "0".repeat(32) }), false],
  ["trace ID: illegal character at first", parent({ traceId: `.${TRACE_ID.slice(1)}` }), false],
  ["trace ID: illegal character at last", parent({ traceId: `${TRACE_ID.slice(1)}.` }), false],
  ["trace ID: too long", parent({ traceId: `${TRACE_ID}3` }), false],
  ["trace ID: too short", parent({ traceId: TRACE_ID.slice(1) }), false],
  ["trace ID: capital letters", parent({ traceId: "ABCDEF78901234567890123456789012" }), false],
  ["parent ID: all zero", parent({ parentId: "0".repeat(16) }), false],
  ["parent ID: illegal character at first", parent({ parentId: `.${PARENT_ID.slice(1)}` }), false],
  ["parent ID: illegal character at last", parent({ parentId: `${PARENT_ID.slice(1)}.` }), false],
  ["parent ID: too long", parent({ parentId: `${PARENT_ID}7` }), false],
  ["parent ID: too short", parent({ parentId: PARENT_ID.slice(1) }), false],
  ["flags: illegal character at first", parent({ flags: ".0" }), false],
  ["flags: illegal character at last", parent({ flags: "0." }), false],
  ["flags: too long", parent({ flags: "001" }), false],
  ["flags: too short", parent({ flags: "1" }), false],
  ["flags that nobody knows", parent({ flags: "fe" }), true],
  ["empty", "", false],
];

const many = (count: number): string =>
  Array.from({ length: count }, (_, index) => `bar${String(index + 1).padStart(2, "0")}=${index + 1}`).join(",");

const KEY = "abcdefghijklmnopqrstuvwxyz0123456789_-*/";
const charactersFrom = (first: number, last: number): string =>
  String.fromCharCode(...Array.from({ length: last - first + 1 }, (_, index) => first + index));
const VALUE = charactersFrom(0x20, 0x2b) + charactersFrom(0x2d, 0x3c) + charactersFrom(0x3e, 0x7e);

export const TRACESTATES: readonly (readonly [title: string, text: string, isValid: boolean])[] = [
  ["one member", "foo=1", true],
  ["two members", "foo=1,bar=2", true],
  ["empty", "", false],
  ["an empty header before another", ",foo=1", true],
  ["an empty header after another", "foo=1,", true],
  ["duplicated keys with the same value", "foo=1,foo=1", false],
  ["duplicated keys with other values", "foo=1,foo=2", false],
  ["all allowed characters", `${KEY}=${VALUE}`, true],
  ["all allowed characters, with a vendor", `${KEY}@a-z0-9_-*/=${VALUE}`, true],
  ["spaces and tabs around members", "foo=1 \t , \t bar=2, \t baz=3", true],
  ["tabs around members", "foo=1\t \t,\t \tbar=2,\t \tbaz=3", true],
  ["key: a space", "foo =1", false],
  ["key: capital letters", "FOO=1", false],
  ["key: a dot", "foo.bar=1", false],
  ["vendor: empty system", "foo@=1,bar=2", false],
  ["vendor: empty tenant", "@foo=1,bar=2", false],
  ["vendor: two @", "foo@@bar=1,bar=2", false],
  ["vendor: three parts", "foo@bar@baz=1,bar=2", false],
  ["32 members", many(32), true],
  ["33 members", many(33), false],
  ["key of 256 characters", `foo=1,${"z".repeat(256)}=1`, true],
  ["key of 257 characters", `foo=1,${"z".repeat(257)}=1`, false],
  ["tenant of 241 characters, system of 14", `foo=1,${"t".repeat(241)}@${"v".repeat(14)}=1`, true],
  ["tenant of 242 characters", `foo=1,${"t".repeat(242)}@v=1`, false],
  ["system of 15 characters", `foo=1,t@${"v".repeat(15)}=1`, false],
  ["value: an equals sign", "foo=bar=baz", false],
  ["value: empty", "foo=,bar=3", false],
  ["512 characters", `a=${"b".repeat(254)},c=${"d".repeat(253)}`, true],
  ["more than 512 characters", `a=${"b".repeat(254)},c=${"d".repeat(254)}`, false],
];
