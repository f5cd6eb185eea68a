/** The service of library.proto. Messages stay bytes, because it returns its requests. */
import { Code, StatusError } from "../../../../src/errors.js";
import { part, type Service } from "../../../../src/rpc/service.js";
import { BYTES } from "../../../rpc/raw-service.js";
import { buildAnnotated } from "../../../support/descriptors.js";

function method<S extends boolean, R extends boolean>(name: string, requestStream: S, responseStream: R) {
  return { path: `/library.Library/${name}`, requestStream, responseStream, ...BYTES } as const;
}

const DEFINITION = {
  get: method("Get", false, false),
  put: method("Put", false, false),
  part: method("Part", false, false),
  raw: method("Raw", false, false),
  list: method("List", false, true),
  upload: method("Upload", true, false),
  talk: method("Talk", true, true),
  fail: method("Fail", false, false),
  shadow: method("Shadow", false, false),
};

/** A service whose one binding matches every path. */
export function createEverything(): Service {
  const take = { path: "/library.Everything/Take", requestStream: false, responseStream: false, ...BYTES } as const;
  return {
    name: "everything",
    descriptors: buildAnnotated("test/gateway/dialects/http-rule", "library.proto"),
    parts: [part({ take }, { take: (request) => request })],
  };
}

/** Makes the service, with another name if one is given. */
export function createLibrary(name = "library", bindingPrefix = ""): Service {
  return {
    name,
    bindingPrefix,
    descriptors: buildAnnotated("test/gateway/dialects/http-rule", "library.proto"),
    parts: [
      part(DEFINITION, {
        get: (request) => request,
        put: (request) => request,
        part: (request) => request,
        raw: (request) => request,
        async *list(request) {
          for (let count = 0; count < 3; count++) yield request;
        },
        async upload(requests) {
          const chunks: Buffer[] = [];
          for await (const request of requests) chunks.push(request);
          return Buffer.concat(chunks);
        },
        talk: (requests) => requests,
        fail() {
          throw new StatusError(Code.NOT_FOUND, "no such shelf");
        },
        shadow: (request) => request,
      }),
    ],
  };
}
