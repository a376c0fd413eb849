import { randomUUID } from "node:crypto";
import {
  createGateway,
  type Gateway,
  GatewayError,
  localTools,
  type Plugin,
  textResult,
} from "../../core/mod.ts";
import { measure, printTable, type Subject } from "./_measure.ts";

const answer = textResult("ok");
const args = { path: "README.md", lines: 20 };
let touched = 0;

const tool: Plugin = localTools("tools", { id: "bench" }, [
  { name: "tool", inputSchema: { type: "object" }, run: () => answer },
]);

/** Answers at once, so that what is measured is the pipeline and not the tool. */
const instant: Plugin = {
  name: "instant",
  order: "post",
  setup: () => ({
    execute(call) {
      call.result = answer;
    },
  }),
};

function touching(index: number): Plugin {
  const touch = (): void => {
    touched++;
  };
  return {
    name: `sync-${index}`,
    setup: () => ({
      policy: touch,
      validate: touch,
      execute(_call, next) {
        touched++;
        return next();
      },
      audit: touch,
    }),
  };
}

function awaiting(index: number): Plugin {
  const touch = async (): Promise<void> => {
    touched++;
  };
  return {
    name: `async-${index}`,
    setup: () => ({
      policy: touch,
      validate: touch,
      async execute(_call, next) {
        touched++;
        await next();
      },
      audit: touch,
    }),
  };
}

const denying: Plugin = {
  name: "denying",
  setup: () => ({
    policy() {
      throw new GatewayError("DENIED", "No.");
    },
  }),
};

const cached: Plugin = {
  name: "cached",
  order: "pre",
  setup: () => ({
    execute(call) {
      call.result = answer;
      call.via = "cache";
    },
  }),
};

/** A hand-written equivalent: looks the tool up, runs a chain around it, records the outcome. */
function handWritten(count: number): (name: string, input: object) => Promise<object> {
  interface Context {
    readonly id: string;
    readonly tool: unknown;
    readonly args: object;
    result?: unknown;
  }
  type Middleware = (context: Context, next: () => Promise<void>) => Promise<void>;
  const tools = new Map([["bench:tool", {}]]);
  const middleware: Middleware[] = Array.from({ length: count }, () => async (_context, next) => {
    touched += 3;
    await next();
    touched++;
  });
  const dispatch = (context: Context, index: number): Promise<void> => {
    const current = middleware[index];
    if (current) return current(context, () => dispatch(context, index + 1));
    context.result = answer;
    return Promise.resolve();
  };
  const record = (entry: object): object => entry;
  return async (name, input) => {
    const began = performance.now();
    const context: Context = { id: randomUUID(), tool: tools.get(name), args: input };
    let error: unknown;
    try {
      if (!context.tool) throw new Error("There is no such tool.");
      await dispatch(context, 0);
    } catch (thrown) {
      error = thrown;
    }
    const { id, tool, result } = context;
    return record({
      id,
      tool,
      args: input,
      result,
      error,
      at: Date.now(),
      durationMs: performance.now() - began,
    });
  };
}

function repeated(name: string, gateway: Gateway): Subject {
  return {
    name,
    async run(times) {
      for (let index = 0; index < times; index++) await gateway.run({ tool: "bench:tool", args });
    },
  };
}

/** CPU microseconds a call through the pipeline, beside a chain of middleware written by hand. */
export async function pipeline(): Promise<void> {
  const subjects: Subject[] = [];
  for (const count of [0, 1, 5, 10]) {
    const call = handWritten(count);
    subjects.push({
      name: `hand-written chain of ${count}`,
      async run(times) {
        for (let index = 0; index < times; index++) await call("bench:tool", args);
      },
    });
  }
  const gateways: Gateway[] = [];
  const add = async (name: string, plugins: readonly Plugin[]): Promise<void> => {
    const gateway = await createGateway({ plugins: [tool, ...plugins, instant] });
    gateways.push(gateway);
    subjects.push(repeated(name, gateway));
  };
  for (const count of [0, 1, 5, 10])
    await add(
      `${count} sync plugins`,
      Array.from({ length: count }, (_, i) => touching(i)),
    );
  for (const count of [1, 5, 10])
    await add(
      `${count} async plugins`,
      Array.from({ length: count }, (_, i) => awaiting(i)),
    );
  await add("a denial", [denying]);
  await add("a short circuit", [cached]);

  const measurements = await measure(subjects, 20_000, 9);
  printTable(measurements, "hand-written chain of 5", "CPU µs");
  if (touched === 0) throw new Error("No plugin ran.");
  for (const gateway of gateways) await gateway.close();
}
