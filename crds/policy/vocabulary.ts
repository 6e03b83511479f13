/** The actions of requests. Policies may also use the MCP methods. */
export const ACTIONS = ['call_tool', 'get_prompt', 'read_resource'] as const;
type ActionId = (typeof ACTIONS)[number];

export const ACTION_ALIASES: ReadonlyMap<string, ActionId> = new Map([
  ['tools/call', 'call_tool'],
  ['prompts/get', 'get_prompt'],
  ['resources/read', 'read_resource'],
]);

export const CLIENT = 'Client';
/** The id of a client without a token. */
export const ANONYMOUS = 'anonymous';
export const GROUP = 'Group';
export const BACKEND = 'Backend';

export const RESOURCE_TYPES: Readonly<Record<ActionId, string>> = {
  call_tool: 'Tool',
  get_prompt: 'Prompt',
  read_resource: 'Resource',
};

/** Attributes that every tool, prompt or resource in a request has. */
export const NAME_ATTRIBUTES = ['name', 'backend', 'original_name'] as const;

/** Annotation hints: attributes of a resource if its backend sent them. */
export const HINT_TYPES = {
  title: 'String',
  readOnlyHint: 'Boolean',
  destructiveHint: 'Boolean',
  idempotentHint: 'Boolean',
  openWorldHint: 'Boolean',
} as const;

export const RESERVED_RESOURCE_ATTRIBUTES: readonly string[] = [...NAME_ATTRIBUTES, ...Object.keys(HINT_TYPES)];

export const CLAIM = 'claim_';
export const ARGUMENT = 'arg_';

/** Returns whether an attribute is a claim or an argument, whose type is inferred from its use in policies. */
export function isRequestAttribute(name: string): boolean {
  return name.startsWith(CLAIM) || name.startsWith(ARGUMENT);
}
