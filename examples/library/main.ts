import { serve } from "portico/service";
import { descriptors } from "./gen/descriptors.js";
import { LibraryService } from "./gen/library.js";
import { handlers } from "./library.js";

await serve(LibraryService, handlers, { name: "library", descriptors });
