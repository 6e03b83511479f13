import { describe, expect, it } from '@jest/globals';
import { isLeaf, leavesOf, nodesOf, type SchemaNode } from '#crds/generate/schema-node';
import { structuralSchema } from '#crds/generate/structural';
import { KIND_NAMES, type KindName } from '#crds/kinds/kind-names';
import { OBJECTS } from '#crds/kinds/schemas';
import { RECORDED_ONLY } from '#crds/parts/recorded-only';
import { goldenOutcome, type GoldenInput } from '#operator/golden-case';
import type { Manifest } from '#operator/snapshot';
import { intervalOf } from '#operator/kubernetes/runtimes/runtimes';
import { changeAt, readAt } from './testdata/change-at.ts';
import { snapshotsOfFields } from './testdata/snapshots-of-fields.ts';

type Path = readonly (string | number)[];

const kinds = Object.keys(KIND_NAMES) as KindName[];
const specs = new Map(kinds.map((kind) => [kind, structuralSchema(OBJECTS[kind]).properties?.spec ?? {}]));
const nodes = new Map(kinds.map((kind) => [kind, new Map(nodesOf(specs.get(kind) ?? {}, 'spec'))]));

/** Yields the written leaves of a value: their path in the schema and in the value. */
function* written(value: unknown, node: SchemaNode, path: string, at: Path): Generator<[string, Path]> {
  if (isLeaf(node)) {
    yield [path, at];
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) yield* written(item, node.items ?? {}, `${path}[]`, [...at, index]);
    return;
  }
  for (const [name, inner] of Object.entries(value)) {
    const child = node.properties?.[name];
    const { additionalProperties: values } = node;
    if (child !== undefined) yield* written(inner, child, `${path}.${name}`, [...at, name]);
    else if (typeof values === 'object') yield* written(inner, values, `${path}{}`, [...at, name]);
  }
}

/** Returns other values that the leaf accepts. */
function otherValues(value: unknown, node: SchemaNode | undefined): unknown[] {
  if (node?.enum) return node.enum.filter((one) => one !== value);
  if (typeof value === 'boolean') return [!value];
  if (typeof value === 'number') return [value + 1, value - 1, value * 2];
  if (typeof value !== 'string') return [];
  const texts = [
    `${value}x`,
    value.replace(/\d+/, (digits) => String(Number(digits) + 1)),
    value.replace(/[a-z]/, 'q'),
  ];
  return texts.filter((text) => text !== value);
}

/** Returns what the plan runs, without conditions. */
function runsBy(input: GoldenInput): string {
  const { action, rendered, children } = goldenOutcome(input);
  return JSON.stringify({ action, rendered, children });
}

function accepts(kind: KindName, resource: object): boolean {
  const { metadata } = resource as { metadata: object };
  const whole = { apiVersion: 'vmcp.dev/v1alpha1', ...resource, metadata: { namespace: 'default', ...metadata } };
  return OBJECTS[kind].safeParse(JSON.parse(JSON.stringify(whole))).success;
}

/** A leaf that a resource of a snapshot writes. */
interface Written {
  readonly kind: KindName;
  readonly snapshot: GoldenInput;
  readonly index: number;
  readonly at: Path;
  readonly node: SchemaNode | undefined;
}

const isChoice = (node: SchemaNode | undefined) => node?.enum !== undefined || node?.type === 'boolean';

/** Returns whether another value, or none, changes the plan. A choice also counts if its other values make the resource invalid. */
function takesEffect({ kind, snapshot, index, at, node }: Written, runs: () => string): boolean {
  const resource = snapshot.resources[index] ?? {};
  return [...otherValues(readAt(resource, at), node), undefined].some((other) => {
    const next = changeAt(resource, at, other) as GoldenInput['resources'][number];
    if (!accepts(kind, next)) return other !== undefined && isChoice(node) && accepts(kind, resource);
    const resources = snapshot.resources.map((one, which) => (which === index ? next : one));
    return runsBy({ ...snapshot, resources }) !== runs();
  });
}

/** Returns `<kind> <path>` of each leaf that takes effect in at least one snapshot. */
function findEffective(): Set<string> {
  const found = new Set<string>();
  for (const snapshot of snapshotsOfFields()) {
    let before: string | undefined;
    const runs = () => (before ??= runsBy(snapshot));
    for (const [index, resource] of snapshot.resources.entries()) {
      const kind = kinds.find((one) => one === resource.kind);
      if (kind === undefined) continue;
      const spec = (resource as { spec?: unknown }).spec ?? {};
      for (const [path, at] of written(spec, specs.get(kind) ?? {}, 'spec', ['spec'])) {
        if (found.has(`${kind} ${path}`)) continue;
        const node = nodes.get(kind)?.get(path);
        if (takesEffect({ kind, snapshot, index, at, node }, runs)) found.add(`${kind} ${path}`);
      }
    }
  }
  return found;
}

/** The operator reads this field, and the planner does not. The last test covers it. */
const OF_OPERATOR = ['VirtualMCPServer spec.config.operational.failureHandling.statusReportingInterval'];

const KUBERNETES = { introspectionUrl: 'https://a.example/introspect' };
const PROVIDER = { type: 'oidc', oidcConfig: { issuerUrl: 'https://a.example', clientId: 'a' } };
const LOGINS = { issuer: 'https://a.example', upstreamProviders: [{ name: 'a', ...PROVIDER }] };

/** Fields with only one value, or none, in each valid spec: the spec with another value. */
const REFUSED: Readonly<Record<string, object>> = {
  'VirtualMCPServer spec.incomingAuth.oidcConfig.kubernetes.introspectionUrl': {
    config: { groupRef: 'tools' },
    incomingAuth: { type: 'oidc', oidcConfig: { type: 'kubernetes', kubernetes: KUBERNETES } },
  },
  'MCPServer spec.oidcConfig.kubernetes.introspectionUrl': {
    image: 'a',
    oidcConfig: { type: 'kubernetes', kubernetes: KUBERNETES },
  },
  'MCPExternalAuthConfig spec.embeddedAuthServer.primaryUpstreamProvider': {
    type: 'embeddedAuthServer',
    embeddedAuthServer: { ...LOGINS, primaryUpstreamProvider: 'b' },
  },
  'MCPOIDCConfig spec.kubernetesServiceAccount.introspectionUrl': {
    type: 'kubernetesServiceAccount',
    kubernetesServiceAccount: KUBERNETES,
  },
};

const SECOND = 1_000;

describe('resource fields', () => {
  it('change the plan, or are listed as record-only', () => {
    const effective = findEffective();
    const fields = kinds.flatMap((kind) =>
      [...leavesOf(specs.get(kind) ?? {}, 'spec').keys()].map((path) => `${kind} ${path}`),
    );
    const others = [...OF_OPERATOR, ...Object.keys(REFUSED), ...Object.keys(RECORDED_ONLY)];
    expect(fields.filter((field) => !effective.has(field)).sort()).toEqual(others.sort());
  });

  it.each(Object.entries(REFUSED))('fail validation where they have no effect: %s', (field, spec) => {
    const [kind, path = ''] = field.split(' ');
    const name = path.split('.').at(-1) ?? '';
    const resource = { kind, apiVersion: 'vmcp.dev/v1alpha1', metadata: { name: 'a', namespace: 'default' }, spec };
    const read = OBJECTS[kind as KindName].safeParse(resource);
    expect(read.error?.issues.map((issue) => [...issue.path, issue.message].join(' ')).join()).toContain(name);
    const left = JSON.parse(JSON.stringify(resource, (key, value: unknown) => (key === name ? undefined : value)));
    expect(OBJECTS[kind as KindName].safeParse(left).success).toBe(true);
  });

  it('set how often the operator reads a status', () => {
    const server = (statusReportingInterval: string): Manifest => ({
      ...{ apiVersion: 'vmcp.dev/v1alpha1', kind: 'VirtualMCPServer', metadata: { name: 'a', namespace: 'default' } },
      spec: { config: { operational: { failureHandling: { statusReportingInterval } } } },
    });
    expect(intervalOf(server('7s'))).toBe(7 * SECOND);
    expect(intervalOf(server('2m'))).toBe(120 * SECOND);
  });
});
