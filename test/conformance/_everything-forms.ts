import type { inputRequired } from "@modelcontextprotocol/server";

type Form = Parameters<typeof inputRequired.elicit>[0]["requestedSchema"];

/** A form with a default for every kind of value. */
export const primitives: Form = {
  type: "object",
  properties: {
    name: { type: "string", default: "John Doe" },
    age: { type: "integer", default: 30 },
    score: { type: "number", default: 95.5 },
    status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
    verified: { type: "boolean", default: true },
  },
  required: [],
};

const options = ["option1", "option2", "option3"];
const titled = [
  { const: "value1", title: "First" },
  { const: "value2", title: "Second" },
  { const: "value3", title: "Third" },
];

/** A form with every way to write a choice. */
export const enums: Form = {
  type: "object",
  properties: {
    untitledSingle: { type: "string", enum: options },
    titledSingle: { type: "string", oneOf: titled },
    legacyEnum: { type: "string", enum: ["opt1", "opt2", "opt3"], enumNames: ["One", "Two", "Three"] },
    untitledMulti: { type: "array", items: { type: "string", enum: options } },
    titledMulti: { type: "array", items: { anyOf: titled } },
  },
  required: [],
};
