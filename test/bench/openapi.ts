import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { fromRoot } from "./_root.ts";

const ROUNDS = 5;
/** Limits for Stripe's document, the largest that most users have. */
const MAX_MS = 1_500;
const MAX_MB = 150;
const child = fileURLToPath(new URL(`./_openapi-search${import.meta.url.slice(-3)}`, import.meta.url));

interface Sample {
  readonly ms: number;
  readonly cpuMs: number;
  readonly memoryMb: number;
  readonly tools: number;
}

/** From the file of a document to the first answered search in its operations, each time in a process of its own. */
export async function openapi(): Promise<void> {
  const home = await mkdtemp(join(tmpdir(), "toolpipe-bench-"));
  try {
    const real = ["stripe", "github", "paystack"]
      .map((name) => ({ name, file: fromRoot("..", "shared", "data", "openapi", `${name}.json`) }))
      .filter(({ file }) => existsSync(file));
    const subjects = [...real, { name: "made up, 450 operations", file: await madeUp(home) }];
    process.stdout.write(
      "| from file to the first answered search | ms | CPU ms | MB | tools |\n|---|--:|--:|--:|--:|\n",
    );
    for (const { name, file } of subjects) {
      const samples: Sample[] = [];
      for (let round = 0; round < ROUNDS; round++) samples.push(await measured(file));
      const median = (key: keyof Sample): number =>
        samples.map((sample) => sample[key]).toSorted((a, b) => a - b)[ROUNDS >> 1] ?? Number.NaN;
      const [ms, cpuMs, memoryMb] = [median("ms"), median("cpuMs"), median("memoryMb")];
      process.stdout.write(
        `| ${name} | ${ms.toFixed(0)} | ${cpuMs.toFixed(0)} | ${memoryMb.toFixed(0)} | ${samples[0]?.tools} |\n`,
      );
      if (name === "stripe" && (cpuMs > MAX_MS || memoryMb > MAX_MB)) {
        throw new Error(`More than ${MAX_MS} ms or ${MAX_MB} MB.`);
      }
    }
  } finally {
    await rm(home, { recursive: true });
  }
}

async function measured(file: string): Promise<Sample> {
  const { stdout } = await promisify(execFile)(process.execPath, [child, file]);
  return JSON.parse(stdout) as Sample;
}

/** A document of the size of Stripe's, for where that is not at hand. */
async function madeUp(folder: string): Promise<string> {
  const fields = Object.fromEntries(
    Array.from({ length: 40 }, (_, index) => [
      `field_${index}`,
      {
        type: "object",
        description: `What the part ${index} of the order is, in a sentence of about the usual length.`,
        properties: Object.fromEntries(
          Array.from({ length: 8 }, (__, inner) => [`part_${inner}`, { type: "string", maxLength: 5000 }]),
        ),
      },
    ]),
  );
  const paths = Object.fromEntries(
    Array.from({ length: 450 }, (_, index) => [
      `/orders/${index}/{id}`,
      {
        post: {
          operationId: `PostOrders${index}`,
          summary: `Change the order of kind ${index}`,
          parameters: [{ name: "id", in: "path", required: true, schema: { type: "string" } }],
          requestBody: {
            content: { "application/json": { schema: { type: "object", properties: fields } } },
          },
          responses: { 200: { description: "Done" } },
        },
      },
    ]),
  );
  const file = join(folder, "made-up.json");
  await writeFile(
    file,
    JSON.stringify({ openapi: "3.0.0", info: { title: "Made up", version: "1" }, paths }),
  );
  return file;
}
