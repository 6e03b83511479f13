/** Checks that fail in a scenario, by scenario. */
type Failures = Readonly<Record<string, readonly string[]>>;

/**
 * Scenarios for servers that mean nothing for clients of 2026-07-28 at a legacy backend. A legacy backend does not name its requests to
 * the client, and answers with an error result if the client did not declare a capability.
 */
export const ACROSS_REVISIONS: Failures = {
  'input-required-result-basic-elicitation': ['sep-2322-elicitation-incomplete'],
  'server-stateless': ['sep-2575-missing-capability-http-400', 'sep-2575-server-rejects-undeclared-capability'],
};

/** An administrator logs in once for all callers and names the scopes, and vmcp registers itself (RFC 7591). */
const OF_LOGINS: Failures = {
  'auth/basic-cimd': ['cimd-client-id-used'],
  'auth/scope-step-up': ['scope-step-up-escalation'],
};

/** Scenarios for clients that a gateway cannot pass, by revision. The page on revisions gives the reasons. */
export const AS_CLIENT: Readonly<Record<string, Failures>> = {
  '2025-11-25': OF_LOGINS,
  '2026-07-28': {
    ...OF_LOGINS,
    'auth/scope-step-up': ['scope-step-up-escalation', 'sep-2350-scope-union-on-reauth'],
    // Probes use both revisions, and a server that answers initialize is also used in the older one.
    'http-standard-headers': ['sep-2243-client-includes-standard-headers'],
    'request-metadata': ['sep-2575-client-populates-meta', 'sep-2575-http-client-sends-version-header'],
  },
};
