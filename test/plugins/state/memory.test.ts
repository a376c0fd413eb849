import { memoryStore } from "../../../plugins/state/mod.ts";
import { stateStoreContract } from "../../contracts/state-store.ts";

stateStoreContract("memory", async () => memoryStore());
