import { memoryStore } from "../../../plugins/lib/memory-store.ts";
import { stateStoreContract } from "../../contracts/state-store.ts";

stateStoreContract("memory", async () => memoryStore());
