import { expect, test } from "vitest";
import { parseCapability, parseRtfsType, typeEmitters } from "../../../plugins/types/mod.ts";
import { type EmittedCheck, testTypeEmitter } from "../../contracts/type-emitter.ts";
import { findFaults, unparsable } from "../../support/compiler.ts";
import { python } from "./_custom-emitter.ts";

/** Returns the errors of a parser for these strings. */
function refused(read: (text: string) => unknown): (texts: readonly string[]) => string[] {
  return (texts) =>
    texts.flatMap((text) => {
      try {
        read(text);
        return [];
      } catch (error) {
        return [`${error}: ${text}`];
      }
    });
}

function check(read: (text: string) => unknown, readFile: (text: string) => unknown = read): EmittedCheck {
  return { types: refused(read), declarations: refused(readFile) };
}

const checks: Readonly<Record<string, EmittedCheck>> = {
  rtfs: check(parseRtfsType, parseCapability),
  json: check(JSON.parse),
  typescript: {
    types: async (texts) => [
      ...(await unparsable(texts)),
      ...(await findFaults(texts.map((text) => `export type T = ${text};`))),
    ],
    declarations: findFaults,
  },
};

for (const emitter of typeEmitters) testTypeEmitter(emitter, checks[emitter.name] as EmittedCheck);

const PYTHON = /^(tools\["(?:[^"\\]|\\.)*"\] = )?(?:"(?:[^"\\]|\\.)*": |[\w[\](){}, ])+\n?$/;
testTypeEmitter(
  python,
  check((text) => {
    if (!PYTHON.test(text)) throw new Error("It is no Python.");
  }),
);

test("each emitter has a name of its own", () => {
  expect(typeEmitters.map(({ name, extension }) => [name, extension])).toEqual([
    ["rtfs", ".rtfs"],
    ["typescript", ".ts"],
    ["json", ".json"],
  ]);
});
