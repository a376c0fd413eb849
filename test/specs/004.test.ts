import { beforeAll, vi } from "vitest";
import { cachingRows } from "./004/caching.ts";
import { callerRows } from "./004/callers.ts";
import { configurationRows } from "./004/configuration.ts";
import { domainRows } from "./004/domains.ts";
import { errorRows } from "./004/errors.ts";
import { exportRows } from "./004/export.ts";
import { flowRows } from "./004/flow.ts";
import { limitRows } from "./004/limits.ts";
import { overviewRows } from "./004/overview.ts";
import { registryRows } from "./004/registry.ts";
import { remainingRows } from "./004/remaining.ts";
import { schemaRows } from "./004/schemas.ts";
import { serviceRows } from "./004/service.ts";
import { warmingRows } from "./004/warming.ts";
import { openWorld } from "./004/world.ts";
import { specification } from "./specification.ts";

// Starting servers takes its time where many things run at once.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const spec = specification("004");
beforeAll(openWorld);

overviewRows(spec);
serviceRows(spec);
flowRows(spec);
registryRows(spec);
schemaRows(spec);
domainRows(spec);
cachingRows(spec);
limitRows(spec);
warmingRows(spec);
exportRows(spec);
callerRows(spec);
configurationRows(spec);
errorRows(spec);
remainingRows(spec);

spec.done();
