// A token with a character that no metadata may have is nobody's, and is written nowhere: not on standard error, where
// grpc-js tells of values that it drops, and not in the message of the failure.
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
