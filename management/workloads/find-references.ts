import { z } from 'zod';
import { MCPServerSpec } from '#crds/kinds/index';
import { LABELS_OF_CHILDREN } from '#crds/parts/labels-of-children';
import { TEMPLATE_PULL_SECRETS } from '#crds/parts/pod';
import { valueAt } from '#crds/parts/rule';
import type { Permission } from '../operation.ts';

/** Rights that a caller needs for the objects that a workload references, because a reference passes credentials on. */
const DEMANDS: Record<string, Omit<Permission, 'name'>> = {
  Secret: { verb: 'get', group: '', resource: 'secrets' },
  MCPExternalAuthConfig: { verb: 'use', resource: 'mcpexternalauthconfigs' },
  MCPGroup: { verb: 'use', resource: 'mcpgroups' },
  ServiceAccount: { verb: 'use', group: '', resource: 'serviceaccounts' },
};

/** JSON Schema of the spec, in which references are marked; computed once. */
const SCHEMA: unknown = z.toJSONSchema(MCPServerSpec, { io: 'input', reused: 'inline', unrepresentable: 'any' });

const mapping = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? { ...value } : {};

function* referencesIn(schema: unknown, value: unknown): Generator<{ kind: string; name: string }> {
  const { refersTo, properties, items, additionalProperties } = mapping(schema);
  const name = typeof value === 'string' ? value : mapping(value).name;
  if (typeof refersTo === 'string' && typeof name === 'string') yield { kind: refersTo, name };
  if (Array.isArray(value)) for (const entry of value) yield* referencesIn(items, entry);
  else
    for (const [key, entry] of Object.entries(mapping(value)))
      yield* referencesIn(mapping(properties)[key] ?? additionalProperties, entry);
}

/** A pod template has no schema. */
function pullSecretsIn(spec: Record<string, unknown>): { kind: string; name: string }[] {
  const listed = valueAt(spec, TEMPLATE_PULL_SECRETS);
  const names = Array.isArray(listed) ? listed.map((entry) => mapping(entry).name) : [];
  return names.flatMap((name) => (typeof name === 'string' ? [{ kind: 'Secret', name }] : []));
}

/** Others select objects by labels, so a writer of labels needs the right to create objects of that kind. */
function labelPermissions(spec: Record<string, unknown>): Permission[] {
  const isWritten = (path: readonly string[]) => Object.keys(mapping(valueAt(spec, path))).length > 0;
  return LABELS_OF_CHILDREN.filter(({ maps }) => maps.some(isWritten)).map(({ group, plural }) => ({
    verb: 'create',
    group,
    resource: plural,
  }));
}

/** Returns each permission once, as the admission policy of a cluster requires it. */
export function referencePermissions(spec: Record<string, unknown>): Permission[] {
  const permissions = [...referencesIn(SCHEMA, spec), ...pullSecretsIn(spec)].flatMap(({ kind, name }) => {
    const demand = DEMANDS[kind];
    return demand ? [{ ...demand, name }] : [];
  });
  return [
    ...new Map(permissions.map((permission) => [`${permission.resource}/${permission.name}`, permission])).values(),
    ...labelPermissions(spec),
  ];
}
