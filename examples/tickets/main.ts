import { serve } from "portico/service";
import { descriptors } from "./gen/descriptors.js";
import { TicketsService } from "./gen/tickets.js";
import { handlers } from "./tickets.js";

await serve(TicketsService, handlers, { name: "tickets", descriptors });
