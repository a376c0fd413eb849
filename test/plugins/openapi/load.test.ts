import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type DocumentLimits, documentLimits, loadDocument } from "../../../plugins/openapi/load.ts";
import { catchFailure } from "../../support/failure.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { fixture } from "./_open.ts";

const refuseFetch = (): Promise<Uint8Array> => Promise.reject(new Error("Nothing is fetched here."));
const minimal = { openapi: "3.0.3", info: { title: "A", version: "1" }, paths: {} };

async function broken(text: string, name = "api.json", limits?: DocumentLimits): Promise<string> {
  const folder = await temporaryFolder({ [name]: text });
  const error = await catchFailure(loadDocument(join(folder, name), refuseFetch, limits));
  expect(error.code).toBe("DOCUMENT_BROKEN");
  return error.message.replace(folder, "");
}

test("a document is read from JSON and from YAML, whatever its file is called", async () => {
  const yaml = await readFile(fixture("shop.yaml"), "utf8");
  const folder = await temporaryFolder({ api: JSON.stringify(minimal), "api.txt": yaml });
  expect((await loadDocument(join(folder, "api"), refuseFetch)).version).toBe("3.0");
  expect((await loadDocument(join(folder, "api.txt"), refuseFetch)).version).toBe("3.1");
  expect((await loadDocument(fixture("shop-20.json"), refuseFetch)).version).toBe("2.0");
});

test("JSON with comments is taken too", async () => {
  const folder = await temporaryFolder({ "api.json": `// ours\n${JSON.stringify(minimal)}` });
  const text = `{ /* ours */ "openapi": "3.0.0", "paths": {}, }`;
  const other = await temporaryFolder({ "api.json": text });
  expect((await loadDocument(join(other, "api.json"), refuseFetch)).version).toBe("3.0");
  // A file that begins with a comment could be YAML, but this one is not.
  await catchFailure(loadDocument(join(folder, "api.json"), refuseFetch));
});

test("broken JSON is reported with file, line and reason", async () => {
  expect(await broken('{\n  "openapi": "3.0.0",\n  "paths": {\n')).toMatch(/^\/api\.json:4:1: .+\.$/);
});

test("broken YAML is reported with file, line and reason", async () => {
  expect(await broken("openapi: 3.0.0\npaths:\n  /a: [\n", "api.yaml")).toMatch(
    /^\/api\.yaml:\d+:\d+: .+\.$/,
  );
});

test("reports a file that is no OpenAPI document", async () => {
  expect(await broken('{ "name": "x" }')).toMatch(/neither "openapi" nor "swagger"/);
  expect(await broken('{ "openapi": "4.0.0" }')).toMatch(/version/);
  expect(await broken('{ "swagger": "1.2" }')).toMatch(/version/);
  expect(await broken("[]")).toMatch(/neither/);
  expect(await broken("just text", "api.yaml")).toMatch(/neither/);
});

test("reports a file that is missing or not UTF-8", async () => {
  const folder = await temporaryFolder();
  expect((await catchFailure(loadDocument(join(folder, "none.json"), refuseFetch))).message).toMatch(
    /ENOENT/,
  );
  expect((await catchFailure(loadDocument(folder, refuseFetch))).message).toMatch(/EISDIR/);
});

test("a document that is too large, too deep or too much is refused", async () => {
  const tight: DocumentLimits = { bytes: 1_000, depth: 20, values: 50 };
  expect(await broken(JSON.stringify({ ...minimal, x: "a".repeat(2_000) }), "a.json", tight)).toMatch(
    /1000 bytes/,
  );
  const deep = `{"openapi":"3.0.0","x":${"[".repeat(30)}${"]".repeat(30)}}`;
  expect(await broken(deep, "a.json", tight)).toMatch(/deeper than 20/);
  expect(await broken(`{"openapi":"3.0.0","x":[${"1,".repeat(99)}1]}`, "a.json", tight)).toMatch(/50 values/);
});

test("a document of 100,000 levels is refused without a crash", async () => {
  const deep = `{"openapi":"3.0.0","x":${"[".repeat(100_000)}${"]".repeat(100_000)}}`;
  expect(await broken(deep)).toMatch(/deeper than 200/);
});

test("YAML that says in a few lines that there are billions of values is refused", async () => {
  const lines = ["openapi: 3.0.0", "x0: &x0 [a, a, a, a, a, a, a, a, a, a]"];
  for (let level = 1; level <= 10; level++) {
    lines.push(
      `x${level}: &x${level} [${Array(10)
        .fill(`*x${level - 1}`)
        .join(", ")}]`,
    );
  }
  expect(await broken(lines.join("\n"), "api.yaml", { ...documentLimits, values: 100_000 })).toMatch(
    /100000 values/,
  );
});

test("refuses YAML with a circular alias", async () => {
  expect(await broken("openapi: 3.0.0\nx: &x\n  y: *x\n", "api.yaml")).toMatch(/nested deeper/);
});

test("a key that reaches a prototype is refused", async () => {
  expect(await broken('{ "openapi": "3.0.0", "paths": { "__proto__": { "polluted": true } } }')).toMatch(
    /__proto__/,
  );
  expect(await broken('{ "openapi": "3.0.0", "\\u005f_proto__": {} }')).toMatch(/__proto__/);
  expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
});
