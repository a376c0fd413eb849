import { createIdempotency } from "../../../plugins/guard/mod.ts";
import { fileStore } from "../../../plugins/state/mod.ts";
import { idempotencyContract } from "../../contracts/idempotency.ts";
import { testClock } from "../../plugins/guard/_clock.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

idempotencyContract("files", async () => {
  const [folder, clock] = [await temporaryFolder(), testClock()];
  return {
    idempotency: createIdempotency(fileStore(folder), { clock }),
    another: createIdempotency(fileStore(folder), { clock }),
    pass: clock.pass,
    setClock: clock.setClock,
  };
});
