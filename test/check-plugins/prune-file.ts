import { parseFile, resolveImport } from "../support/source-graph.ts";

/** Whether a file is gone, or one name that it exported. `name` is undefined where the whole module is meant. */
export type IsGone = (file: string, name?: string) => boolean;

/** A file without the lines that need what is gone. */
export interface Pruned {
  readonly text: string;
  /** Names that the file exported before. */
  readonly lost: readonly string[];
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

/** A node and those around it, the innermost first. */
type Path = readonly [Node, ...Node[]];

/**
 * Removes what names a module that is gone, in the smallest unit that a person would delete: an import, an element of a
 * list, a property, a member of a type, else a statement. What the removed statements declared is gone with them.
 */
export function pruneFile(
  file: string,
  text: string,
  isGone: IsGone,
  modules: ReadonlyMap<string, string>,
): Pruned | undefined {
  const program = parseFile(file, text).program as unknown as Node;
  const removed = new Map<Node, Node | undefined>();
  /** Names that removed items declared, by the scope that they were declared in. */
  const lost = new Map<Node, Set<string>>();
  const lostExports = new Set<string>();
  const isGoneModule = (source: unknown, name?: string): boolean => {
    const specifier = (source as { value?: unknown } | null | undefined)?.value;
    const to = typeof specifier === "string" ? resolveImport(file, specifier, modules) : undefined;
    return to !== undefined && (isGone(to) || (name !== undefined && isGone(to, name)));
  };
  for (let before = -1; before !== removed.size; ) {
    before = removed.size;
    visit([program], new Set());
  }
  if (removed.size === 0) return undefined;
  return { text: cut(text, removed), lost: [...lostExports] };

  function visit(path: Path, around: ReadonlySet<string>): void {
    const [node, parent] = path;
    if (removed.has(node)) return;
    const lostNames = isScope(node) ? lostInside(node, around) : around;
    if (needsGone(node, parent, lostNames)) remove(path);
    else for (const child of listChildren(node)) visit([child, ...path], lostNames);
  }

  /** The names that are lost inside a scope: those around it that it does not declare itself, and its own. */
  function lostInside(scope: Node, around: ReadonlySet<string>): ReadonlySet<string> {
    const names = new Set(around);
    for (const name of scopeNames(scope, (node) => !removed.has(node))) names.delete(name);
    for (const name of lost.get(scope) ?? []) names.add(name);
    return names;
  }

  function needsGone(node: Node, parent: Node | undefined, lostNames: ReadonlySet<string>): boolean {
    switch (node.type) {
      case "ImportDeclaration":
      case "ImportExpression":
      case "TSImportType":
      case "ExportAllDeclaration":
      case "ExportNamedDeclaration":
        return isGoneModule(node["source"]);
      case "TSModuleDeclaration":
        return isGoneModule(node["id"]);
      case "ImportSpecifier":
        return isGoneModule(parent?.["source"], getName(node["imported"]));
      case "ExportSpecifier":
        return (
          isGoneModule(parent?.["source"], getName(node["local"])) ||
          (!parent?.["source"] && lostNames.has(getName(node["local"])))
        );
      case "MemberExpression":
        return isGoneMember(node);
      case "Identifier":
        return lostNames.has(getName(node)) && !isLabel(node, parent);
      default:
        return false;
    }
  }

  /** Whether an expression such as `(await import("./x.ts")).name` names something that is gone. */
  function isGoneMember({ object, property }: Node): boolean {
    let of = object as Node;
    while (of.type === "ParenthesizedExpression") of = of["expression"] as Node;
    const loaded = of.type === "AwaitExpression" ? (of["argument"] as Node) : undefined;
    return loaded?.type === "ImportExpression" && isGoneModule(loaded["source"], getName(property));
  }

  function remove(path: Path): void {
    const at = path.findIndex((node, index) => isItem(node, path[index + 1]));
    const item = path[at] ?? path[0];
    const list = path[at + 1];
    removed.set(item, list);
    const scope = path.slice(at + 1).find(isScope) ?? program;
    const names = lost.get(scope) ?? new Set();
    lost.set(scope, names);
    for (const name of declaredNames(item)) names.add(name);
    if (/^Export/.test(item.type)) for (const name of declaredNames(item)) lostExports.add(name);
    const [owner, ...rest] = path.slice(
      at + 1 + path.slice(at + 1).findIndex((node) => isBroken(item, node)),
    );
    if (owner && isBroken(item, owner) && !removed.has(owner)) remove([owner, ...rest]);

    /** Whether something around the item is of no use without it. */
    function isBroken(part: Node, around: Node): boolean {
      if (/Function/.test(around.type)) {
        // Without its last return, or a member of what it returns, a function does not answer as it should.
        return isLast(part, list) && returnsValue(part) ? true : isMember(part, list, returned(path, around));
      }
      // A class that cannot be set up goes as a whole.
      if (around.type === "MethodDefinition") return around["kind"] === "constructor";
      if (/^TS(Interface|TypeAlias)Declaration$/.test(around.type))
        return part.type === "TSPropertySignature" && part["optional"] !== true;
      return around.type === "CallExpression" && isMember(part, list, definition(around));
    }
  }
}

/** Whether an item is a property of an object, or of nothing at all. */
function isMember(item: Node, list: Node | undefined, object: unknown): boolean {
  return item.type === "Property" && list !== undefined && list === object;
}

/** The object that a function on the path returns by its last statement, or hands to the call that it returns. */
function returned(path: Path, owner: Node): unknown {
  const body = owner["body"] as Node;
  if (body.type !== "BlockStatement") return body;
  const at = path.findIndex((node) => node.type === "ReturnStatement");
  const argument = path[at]?.["argument"] as Node | null | undefined;
  return argument?.type === "CallExpression" ? (argument["arguments"] as Node[])[0] : argument;
}

/** The object that a call such as `defineCommand` takes. */
function definition({ callee, arguments: given }: Node): unknown {
  return /^define[A-Z]/.test(getName(callee)) ? (given as Node[])[0] : undefined;
}

/** Whether names are declared in a node: a file, a function or a block. */
function isScope({ type }: Node): boolean {
  return /^(Program|BlockStatement|TSModuleBlock)$/.test(type) || /Function/.test(type);
}

/** The names that a scope declares with statements and parameters of its own. */
function scopeNames(scope: Node, isThere: (node: Node) => boolean): string[] {
  const { params, body } = scope as { params?: unknown; body?: unknown };
  return [
    ...(Array.isArray(params) ? (params as Node[]).flatMap(boundNames) : []),
    ...(Array.isArray(body) ? (body as Node[]).filter(isThere).flatMap(declaredNames) : []),
  ];
}

/** Whether a node is the last statement of its block. */
function isLast(item: Node, list: Node | undefined): boolean {
  const body = list?.["body"];
  return Array.isArray(body) && body.at(-1) === item;
}

/** Whether a statement returns a value from the function around it. */
function returnsValue(node: Node): boolean {
  if (node.type === "ReturnStatement") return node["argument"] !== null;
  return !/Function/.test(node.type) && listChildren(node).some(returnsValue);
}

/** Whether a node is something that can be deleted by itself. */
function isItem(node: Node, parent: Node | undefined): boolean {
  if (!parent) return true;
  if (/^(Import|Export)(Default|Namespace)?Specifier$/.test(node.type)) return true;
  if (/^(Array|Object)Expression$/.test(parent.type)) return true;
  if (/^TS(Union|Intersection)Type$/.test(parent.type)) return true;
  if (/^(TSInterfaceBody|TSTypeLiteral|TSTupleType)$/.test(parent.type)) return true;
  if (node.type === "TSInterfaceHeritage") return true;
  return /^(Program|BlockStatement|TSModuleBlock|SwitchCase)$/.test(parent.type) && node !== parent["test"];
}

/** Whether an identifier only labels something: a key, a member behind a dot. */
function isLabel(node: Node, parent: Node | undefined): boolean {
  if (!parent) return false;
  if (parent.type === "MemberExpression") return parent["property"] === node && !parent["computed"];
  if (parent.type === "TSQualifiedName") return parent["right"] === node;
  if (
    /^(Property|TSPropertySignature|TSMethodSignature|PropertyDefinition|MethodDefinition)$/.test(parent.type)
  )
    return parent["key"] === node && !parent["computed"] && !parent["shorthand"];
  return (
    parent.type === "ImportSpecifier" ||
    parent.type === "ExportSpecifier" ||
    parent.type === "LabeledStatement"
  );
}

/** The names that a statement, an import or an export brings into its file. */
function declaredNames(node: Node): string[] {
  switch (node.type) {
    case "ImportDeclaration":
      return (node["specifiers"] as Node[]).map(({ local }) => getName(local));
    case "ImportSpecifier":
    case "ImportDefaultSpecifier":
    case "ImportNamespaceSpecifier":
      return [getName(node["local"])];
    case "ExportSpecifier":
      return [getName(node["exported"])];
    case "ExportNamedDeclaration":
      return node["declaration"]
        ? declaredNames(node["declaration"] as Node)
        : (node["specifiers"] as Node[]).flatMap(declaredNames);
    case "VariableDeclaration":
      return (node["declarations"] as Node[]).flatMap(({ id }) => boundNames(id as Node));
    case "FunctionDeclaration":
    case "ClassDeclaration":
    case "TSTypeAliasDeclaration":
    case "TSInterfaceDeclaration":
      return [getName(node["id"])];
    default:
      return [];
  }
}

/** The names that a pattern binds. */
function boundNames(pattern: Node): string[] {
  if (pattern.type === "Identifier") return [getName(pattern)];
  if (pattern.type === "Property") return boundNames(pattern["value"] as Node);
  if (pattern.type === "AssignmentPattern") return boundNames(pattern["left"] as Node);
  if (pattern.type === "RestElement") return boundNames(pattern["argument"] as Node);
  return [pattern["properties"], pattern["elements"]]
    .flat()
    .flatMap((one) => (one ? boundNames(one as Node) : []));
}

function getName(node: unknown): string {
  const { name, value } = node as { name?: string; value?: string };
  return name ?? value ?? "";
}

function listChildren(node: Node): Node[] {
  return Object.values(node)
    .flat()
    .filter((value): value is Node => typeof (value as Node | null)?.type === "string");
}

/** Cuts nodes out of a text, each with its comma; where a type must stay, it becomes one that changes nothing. */
function cut(text: string, removed: ReadonlyMap<Node, Node | undefined>): string {
  let left = "";
  let at = 0;
  for (const [node, list] of [...removed].sort(([a], [b]) => a.start - b.start)) {
    if (node.end <= at) continue;
    left += text.slice(at, Math.max(at, node.start)) + neutralType(node, list);
    at = node.end;
    if (/^(Array|Object)Expression$|^TSTupleType$/.test(list?.type ?? "") || /Specifier$/.test(node.type))
      at += /^\s*,?/.exec(text.slice(at))?.[0].length ?? 0;
  }
  return left + text.slice(at);
}

function neutralType(node: Node, list: Node | undefined): string {
  if (list?.type === "TSUnionType") return "never";
  if (list?.type === "TSIntersectionType") return "unknown";
  return node.type === "TSInterfaceHeritage" ? "Record<never, never>" : "";
}
