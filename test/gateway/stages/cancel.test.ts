// The service is notified at once when the client has gone.

import { connect } from "node:net";
import t from "tap";
import { deferred } from "../../support/deferred.js";
import { until } from "../../support/until.js";
import { deploy } from "../deployment.js";

t.test("a call is cancelled in the service when its client disconnects", async (t) => {
  const { promise: isCalled, resolve: called } = deferred<unknown>();
  const { promise: isCancelled, resolve: cancelled } = deferred<unknown>();
  const deployment = await deploy(t.testdir(), { events: { onCall: called, onCancel: cancelled } });
  t.teardown(() => deployment.close());
  const socket = connect(deployment.gateway.address.port, "127.0.0.1");
  socket.write("GET /probe/hang HTTP/1.1\r\nHost: x\r\n\r\n");
  await isCalled;
  socket.destroy();
  await isCancelled;
  await until(() => deployment.logged.some(({ status }) => status === 499));
  t.match(
    deployment.logged.find(({ status }) => status === 499),
    { endpoint: "probe:Probe.Hang", method: "GET" },
  );
});
