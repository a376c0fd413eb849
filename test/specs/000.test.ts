import { beforeAll, vi } from "vitest";
import { cacheRows } from "./000/cache.ts";
import { configurationRows } from "./000/configuration.ts";
import { engineRows } from "./000/engine.ts";
import { errorRows } from "./000/errors.ts";
import { executionRows } from "./000/execution.ts";
import { metadataRows } from "./000/metadata.ts";
import { patternRows } from "./000/patterns.ts";
import { searchRows } from "./000/search.ts";
import { securityRows } from "./000/security.ts";
import { targetRows } from "./000/targets.ts";
import { openWorld } from "./000/world.ts";
import { specification } from "./specification.ts";

// Starting servers takes its time where many things run at once.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const spec = specification("000");
beforeAll(openWorld);

configurationRows(spec);
patternRows(spec);
metadataRows(spec);
searchRows(spec);
cacheRows(spec);
executionRows(spec);
engineRows(spec);
errorRows(spec);
targetRows(spec);
securityRows(spec);

spec.done();
