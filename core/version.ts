/** The version of this package; a test keeps it equal to the manifests. */
export const version = "0.1.0";
