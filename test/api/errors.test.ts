/**
 * Which texts are Portico's error object, and which lines of a stream are the error that ended it.
 */
import t from "tap";
import { readError, readStreamError } from "../../src/api/errors.js";

const ERROR = { Id: "shop", Code: 401, Detail: "Unauthorized call made to shop:Shop.Watch", Status: "Unauthorized" };
const WITH_DETAILS = { ...ERROR, Details: [{ "@type": "type.googleapis.com/google.rpc.RetryInfo" }] };

t.test("the body of an error response is read, and any other body is ignored", async (t) => {
  t.same(readError(JSON.stringify(ERROR)), ERROR);
  t.same(readError(JSON.stringify(WITH_DETAILS)), WITH_DETAILS);
  for (const body of ["", "<html>", "null", "[]", '"text"', "{}", '{"Detail":7,"Code":400}', '{"Detail":"no code"}']) {
    t.equal(readError(body), undefined, body);
  }
});

t.test("a line of a stream is the error if its only member is `error`", async (t) => {
  t.same(readStreamError(JSON.stringify({ error: ERROR })), ERROR);
  t.same(readStreamError(JSON.stringify({ error: WITH_DETAILS })), WITH_DETAILS);
});

t.test("a message is not an error, whatever the names of its fields are", async (t) => {
  const messages = [ERROR, { error: ERROR, more: 1 }, { error: null }, { error: { Id: "x" } }, { message: "error" }];
  for (const line of ["", "{", '{"error":{"Id":', ...messages.map((message) => JSON.stringify(message))]) {
    t.equal(readStreamError(line), undefined, line);
  }
});
