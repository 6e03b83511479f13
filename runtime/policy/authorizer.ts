import type { NamedResource } from '#crds/policy/named-resources';
import type { Identity } from '#runtime/incoming/identity';

export type PolicyAction = 'call_tool' | 'get_prompt' | 'read_resource';

export interface PolicyResource {
  readonly name: string;
  readonly backend: string;
  readonly originalName: string;
  readonly annotations?: Readonly<Record<string, string | boolean>> | undefined;
}

export interface Decision {
  readonly allowed: boolean;
  /** In audit mode: the call proceeds although the policies deny it. */
  readonly wouldDeny: boolean;
  /** `@id` and `@advice` of the deciding policies. */
  readonly policies: readonly { id: string; advice?: string }[];
}

/** Loaded Cedar policies. Every method is synchronous and throws RequestError 503 if the engine fails. */
export interface Authorizer {
  /** Decides one call. `args` is the parsed `arguments` of the call (or the prompt), if any. */
  decide(identity: Identity, action: PolicyAction, resource: PolicyResource, args: unknown): Decision;
  /** Returns whether a list shows this entry to this caller. It may show too much and never decides a call. */
  visible(identity: Identity, action: PolicyAction, resource: PolicyResource): boolean;
  /** Returns the decision of the policies behind `visible`, without counting it. In audit mode it may deny although `visible` is true. */
  decideVisible(identity: Identity, action: PolicyAction, resource: PolicyResource): Decision;
  /** Returns the class of a resource: members are visible to the same callers. Compare classes by identity. */
  classOf(resource: PolicyResource): object;
  /** Evaluates one request about this resource in advance, so that Cedar compiles its code. Never throws. */
  warmUp(action: PolicyAction, resource: PolicyResource): void;
  /** Whether a loaded policy reads `arg_*`. If so, duplicate keys in `arguments` are refused, and arguments are re-serialised. */
  readonly readsArguments: boolean;
  /** Claims and groups that the policies read. Empty if they deny nothing. */
  readonly reads: { readonly claims: readonly string[]; readonly groups: boolean };
  readonly names: readonly NamedResource[];
  readonly warnings: readonly string[];
  /** Identifies this policy set in caches; changes with every reload. */
  readonly id: string;
}
