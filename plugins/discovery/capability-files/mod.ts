/**
 * Writes tools to files for the user to review, and promotes them once they are approved.
 *
 * @module
 */
export { CAPABILITY_EDITED } from "../errors.ts";
export { capabilities } from "./capabilities.ts";
export { type Promoted, type Promotion, promote, withdraw } from "./promote.ts";
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
  chooseFileNames,
  chooseFolderName,
  findEditedFiles,
  serverFolder,
  type WriteRequest,
  type WrittenCapability,
  writeCapabilities,
} from "./write-capabilities.ts";
