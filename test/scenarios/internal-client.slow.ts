// A third-party gRPC client (grpcurl), together with the command line, at a real terminal.
import t from "tap";
import { replayInOneProcess } from "./one-process.js";

t.test("calling the same endpoints with grpcurl", (t) => replayInOneProcess(t, { transcript: "internal-client.txt" }));
