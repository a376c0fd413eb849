/**
 * Tools as files: written for a person to look at, and promoted once they are approved.
 *
 * @module
 */
export { capabilities } from "./capabilities.ts";
export { CAPABILITY_EDITED } from "./errors.ts";
export { exportRtfs } from "./export-rtfs.ts";
export { fileNames, folderName } from "./file-names.ts";
export { type ExportFormat, emitterOf, exportFormats } from "./formats.ts";
export { editedFiles } from "./pending-files.ts";
export { type Promoted, type Promotion, promote } from "./promote.ts";
export {
  CAPABILITIES,
  type CapabilityRecord,
  listRecords,
  type PendingServer,
  type PendingTool,
  readRecord,
  storeOf,
} from "./record.ts";
export {
  type ApprovalParts,
  approvedFolder,
  type Introspected,
  PENDING_FOLDER,
  type Requested,
  requestApproval,
} from "./request-approval.ts";
export { withdraw } from "./withdraw.ts";
export {
  serverFolder,
  type WriteRequest,
  type WrittenCapability,
  writeCapabilities,
} from "./write-capabilities.ts";
