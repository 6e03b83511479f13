/**
 * Name of the Secret for the management API's stored values: `secrets: [{name: vmcp-secrets, key: GITHUB_TOKEN, …}]`. A cluster has one; on
 * one machine, the secrets provider replaces it. No child of a resource has this name.
 */
export const STORED_SECRET = 'vmcp-secrets';
