// Calls another service from a service that joined by its address, for itself or for the caller that
// it serves. The authority exchanges the service's enrolment token, and the caller assertion of the
// call that is served, for an assertion for one endpoint. See docs/real-services.md, "Calls to other
// services".
import { fileURLToPath } from "node:url";
import grpc from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";

const PROTOS = fileURLToPath(new URL("../../proto", import.meta.url));
const FILE = "portico/auth/v1/delegation.proto";
const { portico } = grpc.loadPackageDefinition(loadSync(FILE, { includeDirs: [PROTOS], longs: Number }));

const TIMEOUT_MS = 5_000;

/** A client of the authority at its gRPC port, such as `127.0.0.1:8081`. */
export function authorityClient(address, credentials = grpc.credentials.createInsecure()) {
  return new portico.auth.v1.Delegation(address, credentials);
}

/**
 * The metadata for calls to an endpoint, such as `service:orders:Orders.Get`. It is valid for
 * `lifetimeMs`: keep it for further calls for the same caller.
 *
 * `enrolment` is the token of `portico auth create enrolment <service>`. `actingFor` is the metadata
 * `x-portico-context` of the call that is served; without it the service calls for itself.
 */
export function exchange(authority, { enrolment, resource, actingFor = "" }) {
  const own = new grpc.Metadata();
  own.set("authorization", `Bearer ${enrolment}`);
  const deadline = Date.now() + TIMEOUT_MS;
  return new Promise((resolve, reject) => {
    authority.issue({ resource, actingFor }, own, { deadline }, (error, response) => {
      if (error) return reject(error);
      const metadata = new grpc.Metadata();
      metadata.set("x-portico-context", response.context);
      resolve({ metadata, lifetimeMs: response.lifetimeMs });
    });
  });
}
