import { afterEach, beforeAll, vi } from "vitest";
import { acceptanceRows } from "./002/acceptance.ts";
import { adapterRows } from "./002/adapters.ts";
import { architectureRows } from "./002/architecture.ts";
import { executeRows } from "./002/execute.ts";
import { executionRows } from "./002/execution.ts";
import { hardeningRows } from "./002/hardening.ts";
import { intentRows } from "./002/intent.ts";
import { intentAnswerRows } from "./002/intent-answers.ts";
import { overviewRows } from "./002/overview.ts";
import { planRows } from "./002/plan.ts";
import { policyRows } from "./002/policy.ts";
import { referenceRows } from "./002/reference.ts";
import { refusalRows } from "./002/refusals.ts";
import { registryRows } from "./002/registry.ts";
import { ruleRows } from "./002/rules.ts";
import { toolRows } from "./002/tools.ts";
import { openWorld } from "./002/world.ts";
import { specification } from "./specification.ts";

// Starting processes takes its time where many things run at once.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const spec = specification("002");
beforeAll(openWorld);
afterEach(() => void vi.unstubAllEnvs());

overviewRows(spec);
intentRows(spec);
intentAnswerRows(spec);
executeRows(spec);
refusalRows(spec);
executionRows(spec);
adapterRows(spec);
toolRows(spec);
referenceRows(spec);
architectureRows(spec);
registryRows(spec);
planRows(spec);
hardeningRows(spec);
policyRows(spec);
ruleRows(spec);
acceptanceRows(spec);

spec.done();
