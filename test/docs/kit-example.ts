import { HelloworldService } from "../../src/gen/helloworld/helloworld.js";
import { failedPrecondition, invalidArgument, notFound, part, unauthenticated } from "../../src/kit/index.js";

interface Guest {
  readonly visits: number;
}

export const parts = [
  part(HelloworldService, {
    // One request, one response: a value or a promise.
    async call({ name }, call) {
      if (name === "") throw invalidArgument("name: must not be empty");
      if (call.caller === undefined) throw unauthenticated("Log in to be greeted");
      const guests = call.store<Guest>("guests");
      const guest = await guests.update(`${call.caller.account}/${name}`, (known) => ({
        visits: (known?.visits ?? 0) + 1,
      }));
      call.log.info({ visits: guest?.visits }, "greeted");
      return { message: `Hello ${name}`, msg: "" };
    },
    // A stream of responses: an async iterable. `call.signal` is aborted when the caller has gone.
    async *stream({ name }, call) {
      const orders = call.store<number>("orders");
      const stock = await orders.commit([
        { increment: "stock", by: -1, min: 0, ifPresent: true },
        { set: `order/${name}`, value: Date.now(), ifAbsent: true },
      ]);
      if (!stock.committed)
        throw stock.failed === 0 ? failedPrecondition("Sold out") : notFound("name: has ordered already");
      const other = call.client(HelloworldService, "helloworld");
      for await (const response of other.stream({ name, messages: 3n })) yield response;
    },
  }),
];
