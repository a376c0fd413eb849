/**
 * Infers from names what tools are about and what they do: domains such as `github.issues` and
 * categories such as `crud.read`.
 *
 * @module
 */
import { definePlugin } from "../../../core/mod.ts";
import { inferCategories } from "./categories.ts";
import { inferDomains } from "./domains.ts";

export { type Category, type CategoryContext, inferCategories } from "./categories.ts";
export { inferDomains, primaryDomain, subDomain } from "./domains.ts";

/** Adds the domains and categories of every tool to its tags, where search finds them. */
export const domains = definePlugin({
  name: "domains",
  uses: [],
  setup: () => ({
    "tool:discover"(tool) {
      if (tool.builtin) return;
      const inferred = [...inferDomains(tool.server, tool.name), ...inferCategories(tool.name, tool)];
      tool.tags = [...new Set([...tool.tags, ...inferred])];
    },
  }),
});
