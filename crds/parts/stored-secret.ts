/** Secret of the management API's values in a cluster; on one machine, the secrets provider replaces it. No child has this name. */
export const STORED_SECRET = 'vmcp-secrets';
