import type { Exposure } from "../../core/mod.ts";
import type { Client } from "./client.ts";

declare module "../../core/gateway.ts" {
  interface Services {
    /** Says what a client sees; where it is not there, everyone sees what the preset shows. */
    exposure?: { of(client: Client["info"]): Exposure };
  }
}
