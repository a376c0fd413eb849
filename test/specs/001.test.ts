import { afterAll, beforeAll, vi } from "vitest";
import { behaviorRows } from "./001/behavior.ts";
import { commandRows } from "./001/commands.ts";
import { configurationRows } from "./001/configuration.ts";
import { exampleRows } from "./001/examples.ts";
import { configAndExecuteRows } from "./001/execution.ts";
import { figureRows } from "./001/figures.ts";
import { integrationRows } from "./001/integration.ts";
import { metaToolRows } from "./001/meta-tools.ts";
import { overviewRows } from "./001/overview.ts";
import { requirementRows } from "./001/requirements.ts";
import { closeWorld, openWorld } from "./001/world.ts";
import { specification } from "./specification.ts";

// Starting servers takes its time where many things run at once.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const spec = specification("001");
beforeAll(openWorld);
afterAll(closeWorld);

overviewRows(spec);
requirementRows(spec);
configurationRows(spec);
metaToolRows(spec);
commandRows(spec);
configAndExecuteRows(spec);
behaviorRows(spec);
integrationRows(spec);
exampleRows(spec);
figureRows(spec);

spec.done();
