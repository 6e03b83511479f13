import type { NamedResource } from '#crds/policy/named-resources';
import type { Identity } from '#runtime/incoming/identity';

export type PolicyAction = 'call_tool' | 'get_prompt' | 'read_resource';

/** What a policy decides about: one tool, prompt or resource as it is advertised. */
export interface PolicyResource {
  /** Advertised name, or the URI of a resource. */
  readonly name: string;
  readonly backend: string;
  readonly originalName: string;
  /** Annotation hints of a tool, where the backend sent them. */
  readonly annotations?: Readonly<Record<string, string | boolean>> | undefined;
}

export interface Decision {
  readonly allowed: boolean;
  /** In audit mode: the call goes on although the policies deny it. */
  readonly wouldDeny: boolean;
  /** `@id` and `@advice` of the deciding policies. */
  readonly policies: readonly { id: string; advice?: string }[];
}

/** Cedar policies, loaded and ready. Every method is synchronous and throws RequestError 503 where the engine fails. */
export interface Authorizer {
  /** Decides one call. `args` is the parsed `arguments` of the call (or the prompt's), if any. */
  decide(identity: Identity, action: PolicyAction, resource: PolicyResource, args: unknown): Decision;
  /** Whether a list shows this entry to this caller. May show too much, never decides a call. */
  visible(identity: Identity, action: PolicyAction, resource: PolicyResource): boolean;
  /** Resources of one class are visible to the same callers. Compared by identity. */
  classOf(resource: PolicyResource): object;
  /** Evaluates one request about this resource ahead of the callers, so that Cedar compiles its code. Never throws. */
  warmUp(action: PolicyAction, resource: PolicyResource): void;
  /** Whether a loaded policy reads `arg_*`: then duplicate keys in `arguments` are refused and they are re-serialised. */
  readonly readsArguments: boolean;
  /** Tools, prompts and resources that the policies name. */
  readonly names: readonly NamedResource[];
  /** What an administrator should know of the policies. */
  readonly warnings: readonly string[];
  /** Names this policy set in caches; changes with every reload. */
  readonly id: string;
}
