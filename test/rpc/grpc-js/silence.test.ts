// A token with a character that metadata must not have belongs to no caller. It must not be
// printed: not on standard error, where grpc-js reports values that it drops, and not in the error
// message.
import { spawnSync } from "node:child_process";
import t from "tap";

const { stdout, stderr } = spawnSync(process.execPath, ["--import=tsx", "test/rpc/grpc-js/silence-process.ts"], {
  encoding: "utf8",
  timeout: 20_000,
});

t.equal(stderr, "");
t.equal(
  stdout,
  'served []\nrefused the metadata cannot be sent: the name or the value of "authorization" has characters that metadata cannot have\n',
);
