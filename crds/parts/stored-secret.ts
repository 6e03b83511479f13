/**
 * Name of the Secret with what the management API stores: `secrets: [{name: vmcp-secrets, key: GITHUB_TOKEN, …}]`. In a cluster it is
 * one; on one machine the secrets provider stands in for it. No child of a resource is a Secret of this name.
 */
export const STORED_SECRET = 'vmcp-secrets';
