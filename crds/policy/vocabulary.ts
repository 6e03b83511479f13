/** The actions that requests have. Policies may also write the MCP method. */
export const ACTIONS = ['call_tool', 'get_prompt', 'read_resource'] as const;
type ActionId = (typeof ACTIONS)[number];

/** MCP methods that a policy may write for an action. */
export const ACTION_ALIASES: ReadonlyMap<string, ActionId> = new Map([
  ['tools/call', 'call_tool'],
  ['prompts/get', 'get_prompt'],
  ['resources/read', 'read_resource'],
]);

export const CLIENT = 'Client';
/** The id of the client that calls without a token. */
export const ANONYMOUS = 'anonymous';
export const GROUP = 'Group';
export const BACKEND = 'Backend';

/** The entity type of the resource of each action. */
export const RESOURCE_TYPES: Readonly<Record<ActionId, string>> = {
  call_tool: 'Tool',
  get_prompt: 'Prompt',
  read_resource: 'Resource',
};

/** Attributes of a tool, prompt or resource that a request always has. */
export const NAME_ATTRIBUTES = ['name', 'backend', 'original_name'] as const;

/** Annotation hints: attributes of a resource where its backend sent them. */
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

/** Whether an attribute name is that of a claim or an argument: its type follows from how policies use it. */
export function isRequestAttribute(name: string): boolean {
  return name.startsWith(CLAIM) || name.startsWith(ARGUMENT);
}
