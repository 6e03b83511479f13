import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parse, stringify } from 'yaml';
import { Status } from '#crds/kinds/status';
import { RunConfig } from '#crds/run-config/run-config';
import { emptySnapshot } from '#operator/testdata/empty-snapshot';
import { goldenOutput } from '#operator/golden-case';
import { FileList } from '#operator/plan/file-list';
import type { Outcome } from '#operator/plan/outcome';
import { plan } from '#operator/plan/plan';
import type { Manifest, Snapshot } from '#operator/snapshot';
import { AUTHORITY } from './testdata/authority.ts';

const folder = join(import.meta.dirname, 'testdata');
const input = (name: string) => readFileSync(join(folder, `${name}.in.yaml`), 'utf8');
const outcomeOf = (text: string) => parse(goldenOutput(text)) as Outcome;

function freeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    Object.values(value).forEach(freeze);
  }
  return value;
}

const snapshot = emptySnapshot({
  platform: {
    mode: 'local',
    directory: '/x',
    ports: { demo: { port: 1, privatePort: 2 } },
    backendPorts: {},
    uids: { demo: 'u' },
    loginDirectory: '/x/logins',
  },
  virtualMcpServers: {
    demo: {
      apiVersion: 'other.group/v1alpha1',
      kind: 'VirtualMCPServer',
      metadata: { name: 'demo', namespace: 'default' },
      spec: { config: { groupRef: 'tools' }, incomingAuth: { type: 'anonymous' } },
    },
  },
  mcpGroups: {
    tools: { apiVersion: 'other.group/v1alpha1', kind: 'MCPGroup', metadata: { name: 'tools', namespace: 'default' } },
  },
});

describe('plan', () => {
  it('leaves its input unchanged and is deterministic', () => {
    freeze(snapshot);
    const key = { kind: 'VirtualMCPServer', namespace: 'default', name: 'demo' } as const;
    const once = plan(key, snapshot, '2026-01-02T03:04:05Z');
    expect(plan(key, snapshot, '2026-01-02T03:04:05Z')).toEqual(once);
    expect(once.action).toBe('apply');
  });

  it('accepts resources of any API group', () => {
    const key = { kind: 'MCPGroup', namespace: 'default', name: 'tools' } as const;
    expect(plan(key, snapshot, '2026-01-02T03:04:05Z').status?.phase).toBe('Ready');
  });

  it('returns the same status when only the time differs', () => {
    for (const file of readdirSync(folder).filter((name) =>
      /^(status|group|outgoing|auth-config|backend-s).*\.in\.yaml$/.test(name),
    )) {
      const text = readFileSync(join(folder, file), 'utf8');
      const first = outcomeOf(text).status;
      if (!first) continue;
      const next = parse(text) as {
        key: string;
        now: string;
        resources: { kind: string; metadata: { name: string }; status?: unknown }[];
      };
      const [kind, , name] = next.key.split('/');
      const own = next.resources.find((resource) => resource.kind === kind && resource.metadata.name === name);
      if (own) own.status = first;
      next.now = '2027-01-01T00:00:00Z';
      expect([file, outcomeOf(stringify(next)).status]).toEqual([file, first]);
    }
  });
});

describe('document files', () => {
  const files = (digest: string) =>
    new FileList({ ...snapshot, secrets: { 'api.v1': { key: digest } } }, { secret: '/s', config: '/c' });
  const reference = { name: 'api.v1', key: 'key' };

  it('get a new name when the content changes', () => {
    const before = files('aaaaaaaaaaaaaaaaaaaa').secret(reference, 'x');
    expect(before).toBe('/s/api.v1.key-aaaaaaaaaaaaaaaa');
    expect(files('bbbbbbbbbbbbbbbbbbbb').secret(reference, 'x')).not.toBe(before);
  });

  it('keep within the length of a file name, however long the names of Secret and key are', () => {
    const long = 'k'.repeat(253);
    const list = new FileList(
      { ...snapshot, secrets: { [long]: { [long]: 'a'.repeat(64) } } },
      { secret: '/s', config: '/c' },
    );
    const [file = ''] = [list.secret({ name: long, key: long }, 'x')].map((path) => path.slice(3));
    expect(file.length).toBeLessThanOrEqual(253);
  });

  it('exclude those of a failed part', () => {
    const whole = files('aaaaaaaaaaaaaaaaaaaa');
    const failed = whole.part();
    failed.secret(reference, 'x');
    expect(whole.secretFiles).toEqual({});
    whole.add(failed);
    expect(Object.keys(whole.secretFiles)).toHaveLength(1);
  });
});

describe('status', () => {
  it('reports Stalled with the largest parts and keeps running objects when no ConfigMap can hold the document', () => {
    const whole = parse(input('cluster-server')) as {
      resources: { kind: string; metadata: { generation?: number }; data?: Record<string, string> }[];
    };
    const authorities = whole.resources.find(({ kind }) => kind === 'ConfigMap')!;
    authorities.data = { 'ca.crt': AUTHORITY.padEnd(1_000_000, 'y') };
    const { action, children, rendered, status } = outcomeOf(stringify(whole));
    expect([action, children, rendered]).toEqual(['keep', [], undefined]);
    const said = Object.fromEntries(status!.conditions.map((condition) => [condition.type, condition]));
    const message =
      /^the run configuration takes 1\d{3} kB and a ConfigMap holds 1000: shorten or divide the largest parts: \S+ \(1000 kB\), /;
    const why = { reason: 'RunConfigurationTooLarge', message: expect.stringMatching(message) };
    expect(said.Stalled).toMatchObject({ status: 'True', ...why, observedGeneration: 3 });
    expect(said.Ready).toMatchObject({ status: 'False', reason: why.reason });
  });

  it('shortens texts to the limits of the resource', () => {
    const whole = parse(input('status-degraded')) as { observed: { demo: { warnings: string[] } } };
    whole.observed.demo.warnings = ['x'.repeat(50_000)];
    const text = stringify(whole).replace('connection refused', 'y'.repeat(5_000));
    const status = Status.parse(outcomeOf(text).status);
    expect(status.backends?.map(({ message }) => message.length)).toEqual([0, 4_096]);
    expect(status.conditions.find(({ message }) => message.includes('xxx'))?.message).toMatch(/x…$/);
  });

  it('lists the first thousand backends and counts all, served or not', () => {
    const mcpServers: Snapshot['mcpServers'] = {};
    for (let at = 0; at <= 1000; at++) {
      const spec = { groupRef: 'tools', remoteUrl: `https://b${at}.example/mcp`, suspend: at === 1000 };
      const metadata = { name: `b${at}`, namespace: 'default' };
      mcpServers[metadata.name] = { apiVersion: 'vmcp.dev/v1alpha1', kind: 'MCPServer', metadata, spec };
    }
    const key = { kind: 'VirtualMCPServer', namespace: 'default', name: 'demo' } as const;
    const { status } = plan(key, { ...snapshot, mcpServers }, '2030-01-02T03:04:05Z');
    const taken = Status.parse(status);
    expect(taken.backends).toHaveLength(1000);
    expect(taken.backendCount).toBe(1001);
  });

  it('lists a hundred referrers and servers and counts all', () => {
    const many = (kind: Manifest['kind'], spec: object): Record<string, Manifest> =>
      Object.fromEntries(
        Array.from({ length: 120 }, (_, at) => {
          const metadata = { name: `n${at}`, namespace: 'default' };
          return [metadata.name, { apiVersion: 'vmcp.dev/v1alpha1', kind, metadata, spec }];
        }),
      );
    const incomingAuth = { type: 'oidc', oidcConfigRef: { name: 'shared', audience: 'a' } };
    const crowd = {
      ...snapshot,
      virtualMcpServers: many('VirtualMCPServer', { config: { groupRef: 'tools' }, incomingAuth }),
      mcpServers: many('MCPServer', { groupRef: 'tools', externalAuthConfigRef: { name: 'shared' } }),
      mcpExternalAuthConfigs: many('MCPExternalAuthConfig', { type: 'unauthenticated' }),
      mcpOidcConfigs: many('MCPOIDCConfig', { type: 'inline', inline: { issuer: 'https://login.example' } }),
    };
    crowd.mcpExternalAuthConfigs.shared = crowd.mcpExternalAuthConfigs.n0!;
    crowd.mcpOidcConfigs.shared = crowd.mcpOidcConfigs.n0!;
    const said = (kind: Manifest['kind'], name: string) =>
      Status.parse(plan({ kind, namespace: 'default', name }, crowd, '2030-01-02T03:04:05Z').status);
    const resources = [
      ['MCPGroup', 'tools'],
      ['MCPServer', 'n7'],
      ['MCPExternalAuthConfig', 'shared'],
      ['MCPOIDCConfig', 'shared'],
    ] as const;
    const found = resources.map(([kind, name]) => said(kind, name));
    expect(found.map(({ referencedBy, referenceCount }) => [referencedBy?.length, referenceCount])).toEqual(
      Array(4).fill([100, 120]),
    );
    expect([found[0]?.servers?.length, found[0]?.serverCount]).toEqual([100, 120]);
  });
});

describe('required keys', () => {
  it('exclude the secrets of backends that are left out', () => {
    const { rendered } = outcomeOf(input('outgoing-allowed-servers'));
    expect(Object.values(rendered?.secretFiles ?? {})).toEqual([{ secret: 'api', key: 'key' }]);
  });
});

describe('an inherited property name', () => {
  it.each(['toString', 'constructor', '__proto__'])('finds no key in a Secret without %s', (key) => {
    const text = input('outgoing-ref-missing').replace('name: api, key: key', `name: api, key: ${key}`);
    const { status } = outcomeOf(text);
    const message = expect.stringContaining(`Secret "api" has no key "${key}"`);
    expect(status?.backends).toContainEqual(expect.objectContaining({ name: 'keyless', phase: 'Excluded', message }));
  });

  it('gives a backend with such a name the default', () => {
    const text = input('outgoing-inline-default').replace('name: unlisted', 'name: constructor');
    const { backends } = RunConfig.parse(outcomeOf(text).rendered?.document);
    expect(backends.find(({ name }) => name === 'constructor')?.auth.type).toBe('header_injection');
  });

  it('finds no key in a ConfigMap', () => {
    const text = input('outgoing-inline').replace(
      'caBundleRef: { name: corporate-ca }',
      'caBundleRef: { name: corporate-ca, key: valueOf }',
    );
    expect(stringify(outcomeOf(text).status)).toContain('ConfigMap "corporate-ca" has no key "valueOf"');
  });
});

/** Replaces one value at a path. */
function mutated(value: unknown, path: readonly number[], replacement: unknown): unknown {
  const [step, ...rest] = path;
  if (step === undefined || typeof value !== 'object' || value === null) return replacement;
  const keys = Object.keys(value);
  const key = keys[step % Math.max(keys.length, 1)];
  if (key === undefined) return replacement;
  const inside: unknown = Reflect.get(value, key);
  const next = mutated(inside, rest, replacement);
  if (Array.isArray(value)) return value.map((one: unknown, index) => (String(index) === key ? next : one));
  return { ...value, [key]: next };
}

describe('plan of arbitrary resources', () => {
  it('returns an outcome, never throws, and renders a document that the runtime reads', () => {
    const names = [
      'everything-configured',
      'backend-settings',
      'outgoing-inline',
      'oidc-inline-full',
      'cluster-server',
      'oidc-ref',
    ];
    const junk = fc.oneof(
      fc.jsonValue({ maxDepth: 2 }),
      fc.constantFrom('http://[::bad/', 'https://a:99999/', '-1s', '\u0000'),
    );
    const property = fc.property(
      fc.constantFrom(...names),
      fc.nat(),
      fc.array(fc.nat(), { maxLength: 6 }),
      junk,
      (name, which, path, replacement) => {
        const whole = parse(input(name)) as { resources: { spec?: unknown }[] };
        const resource = whole.resources[which % whole.resources.length];
        if (resource) resource.spec = mutated(resource.spec, path, replacement);
        const { rendered, status } = outcomeOf(stringify(whole));
        Status.parse(status);
        if (rendered) RunConfig.parse(rendered.document);
      },
    );
    fc.assert(property, { numRuns: 60, seed: 1 });
  });
});
