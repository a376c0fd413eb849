/**
 * Tools as files: written for a person to look at, and promoted once they are approved.
 *
 * @module
 */
export { capabilities } from "./capabilities.ts";
export { fileNames, folderName } from "./file-names.ts";
export { CAPABILITY_EDITED, type Promoted, type Promotion, promote, withdraw } from "./promote.ts";
export {
  CAPABILITIES,
  type CapabilityRecord,
  listRecords,
  type PendingServer,
  type PendingTool,
  readCapabilityRecord,
  requireStore,
} from "./record.ts";
export {
  type ApprovalParts,
  approvedFolder,
  type Introspected,
  PENDING_FOLDER,
  type Requested,
  requestApproval,
} from "./request-approval.ts";
export {
  editedFiles,
  serverFolder,
  type WriteRequest,
  type WrittenCapability,
  writeCapabilities,
} from "./write-capabilities.ts";
