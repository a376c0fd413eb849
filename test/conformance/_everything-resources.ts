import {
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  type Resource,
} from "@modelcontextprotocol/server";
import { png } from "./_everything-content.ts";

/** The resources of the fixture. */
export const resources: Resource[] = [
  { uri: "test://static-text", name: "Text", mimeType: "text/plain" },
  { uri: "test://static-binary", name: "Picture", mimeType: "image/png" },
  { uri: "test://watched-resource", name: "Watched", mimeType: "text/plain" },
];

/** The templates of the fixture. */
export const resourceTemplates: { uriTemplate: string; name: string; mimeType: string }[] = [
  { uriTemplate: "test://template/{id}/data", name: "Template", mimeType: "application/json" },
];

/** Reads a resource, or says that there is none. */
export function readResource(uri: string): ReadResourceResult {
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
  if (id !== undefined) {
    const text = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
    return { contents: [{ uri, mimeType: "application/json", text }] };
  }
  if (uri === "test://static-binary") return { contents: [{ uri, mimeType: "image/png", blob: png }] };
  if (resources.some((resource) => resource.uri === uri)) {
    return { contents: [{ uri, mimeType: "text/plain", text: "The text of a static resource." }] };
  }
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, "There is no such resource.", { uri });
}
