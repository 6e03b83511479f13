import { policySetTextToParts } from '@cedar-policy/cedar-wasm/nodejs';

export interface PolicySetSource {
  readonly policies: readonly string[];
  readonly entitiesJson?: string | undefined;
}

export type PolicySetValidation = { readonly ok: true } | { readonly ok: false; readonly problems: readonly string[] };

/** Whether a policy set can be served. Each problem names the policy and says what to do. */
export function validatePolicySet(source: PolicySetSource): PolicySetValidation {
  const problems = source.policies.flatMap((text, index) => {
    const parts = policySetTextToParts(text);
    return parts.type === 'success' ? [] : parts.errors.map((error) => `policies[${index}]: ${error.message}`);
  });
  return problems.length === 0 ? { ok: true } : { ok: false, problems };
}
