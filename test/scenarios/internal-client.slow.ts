// A gRPC client that is not Portico's, beside the command line, at a real terminal.
import t from "tap";
import { replayInOneProcess } from "./one-process.js";

t.test("calling the same endpoints with grpcurl", (t) => replayInOneProcess(t, { transcript: "internal-client.txt" }));
