/** Definitions of gRPC services, as ts-proto generates them (`outputServices=grpc-js`). */

/** What serves a method. */
export interface ServedMethodDefinition<Request, Response> {
  readonly path: string;
  readonly requestStream: boolean;
  readonly responseStream: boolean;
  readonly requestDeserialize: (bytes: Buffer) => Request;
  readonly responseSerialize: (value: Response) => Buffer;
}

/** One method of a definition, with what calls it too. */
export interface MethodDefinition<Request, Response> extends ServedMethodDefinition<Request, Response> {
  readonly requestSerialize: (value: Request) => Buffer;
  readonly responseDeserialize: (bytes: Buffer) => Response;
}

/** The methods of a gRPC service that is served. */
// biome-ignore lint/suspicious/noExplicitAny: the one place where definitions of all messages meet.
export type ServiceDefinition = Readonly<Record<string, ServedMethodDefinition<any, any>>>;

/** The methods of a gRPC service that is called. */
// biome-ignore lint/suspicious/noExplicitAny: as above.
export type ClientDefinition = Readonly<Record<string, MethodDefinition<any, any>>>;
