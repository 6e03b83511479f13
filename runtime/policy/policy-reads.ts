import type { RunConfig } from '#crds/run-config/run-config';
import type { Authorizer } from './authorizer.ts';

/** Claims and groups that policies read. */
export interface PolicyReads {
  /** Names of claims, without `claim_`. */
  readonly claims: readonly string[];
  /** Whether they name a group. */
  readonly groups: boolean;
  /** The claim that holds the groups. Undefined: `groups` and `roles`. */
  readonly groupsClaim: string | undefined;
}

interface Loaded {
  readonly config: Pick<RunConfig, 'incoming' | 'authz'>;
  readonly authorizer: Authorizer;
  readonly backends: { readonly all: readonly { readonly authorizer: Authorizer | undefined }[] };
}

/** Joins what the policies of the endpoint and of its backends read. */
export function policyReadsOf(loaded: Loaded | undefined): PolicyReads {
  if (loaded === undefined) return READS_NOTHING;
  const { authorizer, backends } = loaded;
  const { incoming, authz } = loaded.config;
  const all = [authorizer, ...backends.all.map((backend) => backend.authorizer)].flatMap((one) => one?.reads ?? []);
  return {
    claims: [...new Set(all.flatMap(({ claims }) => claims))],
    groups: all.some(({ groups }) => groups),
    groupsClaim: (incoming.type === 'oidc' ? incoming.groups_claim : undefined) ?? authz?.groups_claim,
  };
}

export const READS_NOTHING: PolicyReads = { claims: [], groups: false, groupsClaim: undefined };
