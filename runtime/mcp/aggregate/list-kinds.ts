export type ListKind = 'tools' | 'prompts' | 'resources' | 'templates';

interface ListSpec {
  readonly method: string;
  readonly member: string;
  readonly key: 'name' | 'uri' | 'uriTemplate';
  readonly capability: 'tools' | 'prompts' | 'resources';
  readonly changed: string;
}

export const LIST_SPECS: Record<ListKind, ListSpec> = {
  tools: {
    method: 'tools/list',
    member: 'tools',
    key: 'name',
    capability: 'tools',
    changed: 'notifications/tools/list_changed',
  },
  prompts: {
    method: 'prompts/list',
    member: 'prompts',
    key: 'name',
    capability: 'prompts',
    changed: 'notifications/prompts/list_changed',
  },
  resources: {
    method: 'resources/list',
    member: 'resources',
    key: 'uri',
    capability: 'resources',
    changed: 'notifications/resources/list_changed',
  },
  templates: {
    method: 'resources/templates/list',
    member: 'resourceTemplates',
    key: 'uriTemplate',
    capability: 'resources',
    changed: 'notifications/resources/list_changed',
  },
};

export const LIST_KINDS: readonly ListKind[] = ['tools', 'prompts', 'resources', 'templates'];

const LIST_METHODS: ReadonlySet<string> = new Set(LIST_KINDS.map((kind) => LIST_SPECS[kind].method));

export function isListMethod(method: string): boolean {
  return LIST_METHODS.has(method);
}

export function kindsOfNotification(method: string): readonly ListKind[] {
  return LIST_KINDS.filter((kind) => LIST_SPECS[kind].changed === method);
}
