// Each field of Portico's own contracts whose name suggests a secret is kept out of logs
// (`debug_redact`), or is listed here with the reason why it need not be.
import { type DescField, ScalarType } from "@bufbuild/protobuf";
import t from "tap";
import { descriptorsOf } from "../../src/contract/built-in-files.js";
import { readDescriptors } from "../../src/contract/endpoint.js";
import { isSecret } from "../../src/contract/secrets.js";

const SOUNDS_SECRET =
  /secret|password|token|key|code|credential|hash|salt|sha256|context|enrol|acting|pin$|otp|mac$|signature/;

const HASH = "the SHA-256 of a random token: the token does not follow from it";
const PAGE = "a place in a list, not a token";
const REPEATED = "chosen by the caller to mark a repeated call; it opens nothing";
const NAMED = "the name under which the caller keeps a value";

/** By the end of the field's full name. */
const NO_SECRETS: Readonly<Record<string, string>> = {
  ".page_token": PAGE,
  ".next_page_token": PAGE,
  ".idempotency_key": REPEATED,
  ".sha256": HASH,
  ".secret_sha256": HASH,
  ".service_sha256": HASH,
  ".attempt_sha256": HASH,
  "DeviceCode.user_code_sha256": "of eight letters, which count for ten minutes, and only after a sign-in",
  ".used_keys": HASH,
  ".public_key": "a public key",
  "TrustToken.signed_sha256": "the SHA-256 of what a JWT's signature is over, without the signature",
  "cache.GetRequest.key": NAMED,
  "cache.SetRequest.key": NAMED,
  "cache.DeleteRequest.key": NAMED,
  "cache.IncrementRequest.key": NAMED,
  "cache.DecrementRequest.key": NAMED,
  "cache.ListKeysResponse.keys": NAMED,
  "portico.auth.v1.AuditRecord.key": "the prefix of an API key",
  "portico.auth.v1.KeyUsage.key": "the prefix of an API key",
  "portico.auth.v1.Refused.key": "the prefix of an API key",
  "portico.auth.v1.RefusedCall.key": "the prefix of an API key",
  "portico.auth.v1.ListRefusalsRequest.key": "the prefix of an API key; a whole key is refused",
  "portico.auth.v1.FindRefusalsRequest.key": "the prefix of an API key; a whole key is refused",
  "portico.auth.v1.ListUsageRequest.key": "the prefix of an API key; a whole key is refused",
  "portico.auth.v1.Tally.key": "the prefix of an API key",
  "portico.auth.v1.Caller.enrolment": "the name that an enrolment token is for",
  "portico.auth.v1.Caller.key": "the name of an API key",
  "portico.registry.v1.Tls.key": "the name of a file",
  "portico.auth.v1.ShowLimitsRequest.key": "the prefix or the name of an API key; a whole key is refused",
  "portico.auth.v1.ExplainRequest.key": "the prefix or the name of an API key; a whole key is refused",
};

const isText = ({ scalar }: DescField): boolean => scalar === ScalarType.STRING || scalar === ScalarType.BYTES;
const nameOf = (field: DescField): string => `${field.parent.typeName}.${field.name}`;

const registry = readDescriptors(descriptorsOf());
const own = [...registry].filter((desc) => desc.kind === "message" && !/^(google|grpc)\./.test(desc.typeName));
const fields = own.flatMap((type) => (type.kind === "message" ? type.fields : []));
const suspects = fields.filter((field) => isText(field) && SOUNDS_SECRET.test(field.name));

t.ok(suspects.filter(isSecret).length >= 18, "the walk finds fields that are marked");

for (const field of suspects) {
  const name = nameOf(field);
  const reasons = Object.keys(NO_SECRETS).filter((end) => name.endsWith(end));
  t.equal(
    reasons.length === 1,
    !isSecret(field),
    `${name} is marked with debug_redact, or is listed here with a reason`,
  );
}

t.test("each reason belongs to an existing field", async (t) => {
  const open = suspects.filter((field) => !isSecret(field)).map(nameOf);
  for (const end of Object.keys(NO_SECRETS))
    t.ok(
      open.some((name) => name.endsWith(end)),
      end,
    );
});
