import { describe, expect, it } from '@jest/globals';
import { plan } from '#operator/plan/plan';
import { buildSnapshot } from './build-snapshot.ts';
import { readFolderContent } from './manifest-folder.ts';

const api = (kind: string) => `${kind === 'Secret' ? 'v1' : 'vmcp.dev/v1alpha1'}\nkind: ${kind}`;
const resource = (kind: string, name: string, namespace: string, rest: string) =>
  `apiVersion: ${api(kind)}\nmetadata: {name: ${name}, namespace: ${namespace}}\n${rest}\n`;
const server = (namespace: string) =>
  resource(
    'VirtualMCPServer',
    'demo',
    namespace,
    'spec: {config: {groupRef: tools}, incomingAuth: {type: anonymous}, outgoingAuth: {source: discovered}}',
  );
const group = (namespace: string) => resource('MCPGroup', 'tools', namespace, 'spec: {}');
const backend = (namespace: string) =>
  resource(
    'MCPServer',
    'weather',
    namespace,
    'spec: {groupRef: tools, remoteUrl: "https://weather.example/mcp", externalAuthConfigRef: {name: key}}',
  );
const auth = (namespace: string) =>
  resource(
    'MCPExternalAuthConfig',
    'key',
    namespace,
    'spec: {type: headerInjection, headerInjection: {headerName: X-Key, valueSecretRef: {name: key, key: value}}}',
  );
const secret = (namespace: string) => resource('Secret', 'key', namespace, 'stringData: {value: x}');

type Programs = Parameters<typeof buildSnapshot>[2]['programs'];

/** Returns the plan of `ours/demo` in a folder with these resources. */
function planOurs(...documents: string[]) {
  return planWith(undefined, ...documents);
}

/** Returns the plan of `ours/demo` when programs were started on these ports. */
function planWith(programs: Programs, ...documents: string[]) {
  const folderContent = readFolderContent([{ file: 'a.yaml', text: documents.join('---\n') }]);
  expect(folderContent.problems).toEqual([]);
  const known = {
    allocations: { slots: { 'ours/demo': 0 }, privatePlaces: {}, backendPlaces: {}, uids: { 'ours/demo': 'u' } },
    portConflicts: new Map(),
    directory: '/srv/.vmcp',
    loginDirectory: '/srv/.vmcp/logins',
    containerEngine: undefined,
    hostAddress: undefined,
    limitsIgnored: undefined,
    envFiles: () => undefined,
    appendFlaw: () => undefined,
    digest: (_value: string, place: string) => place,
    generated: () => ({}),
    status: () => undefined,
    documents: {},
    observed: {},
    ...(programs && { programs }),
    runtimeFailures: [['demo', 'it exited with code 1: port 1 cannot be had']] as [string, string][],
  };
  const key = { kind: 'VirtualMCPServer', namespace: 'ours', name: 'demo' } as const;
  return plan(key, buildSnapshot(folderContent, 'ours', known), '2026-01-02T03:04:05Z');
}

const reasons = (outcome: ReturnType<typeof planOurs>) =>
  JSON.stringify(outcome.status).match(/"reason":"[^"]+"/g) ?? [];

describe('buildSnapshot', () => {
  it('plans a namespace from its own resources', () => {
    const { action, rendered } = planOurs(server('ours'), group('ours'), backend('ours'), auth('ours'), secret('ours'));
    expect(action).toBe('apply');
    expect(rendered?.document.backends.map(({ name }) => name)).toEqual(['weather']);
  });

  it.each([
    ['group', [server('ours'), group('theirs'), backend('ours')], 'GroupNotFound'],
    [
      'credential',
      [server('ours'), group('ours'), backend('ours'), auth('theirs'), secret('ours')],
      'AuthConfigNotFound',
    ],
    ['Secret', [server('ours'), group('ours'), backend('ours'), auth('ours'), secret('theirs')], 'SecretNotFound'],
  ])('refers to no %s of another namespace', (_what, documents, reason) => {
    expect(reasons(planOurs(...documents))).toContain(`"reason":"${reason}"`);
  });

  it('states why a runtime does not start', () => {
    const { status } = planOurs(server('ours'), group('ours'));
    expect(status?.conditions).toContainEqual(
      expect.objectContaining({
        type: 'Ready',
        status: 'False',
        reason: 'RuntimeFails',
        message: expect.stringMatching(/: it exited with code 1: port 1 cannot be had$/),
      }),
    );
  });

  it.each<[string, NonNullable<Programs>, string[] | undefined, string]>([
    ['was started on its port', [['weather', { port: 4988 }]], ['weather'], 'apply'],
    ['has lost its port', [['weather', { port: 4988, problem: { reason: 'PortInUse', message: '' } }]], [], 'apply'],
    ['was started on another port', [['weather', { port: 4989 }]], [], 'apply'],
    ['is not started yet', [], undefined, 'keep'],
  ])('calls a program only after it has its port: a program that %s', (_what, programs, called, action) => {
    const spec = 'spec: {groupRef: tools, command: [node], transport: streamable-http, mcpPort: 4988}';
    const outcome = planWith(programs, server('ours'), group('ours'), resource('MCPServer', 'weather', 'ours', spec));
    expect(outcome.action).toBe(action);
    expect(outcome.rendered?.document.backends.map(({ name }) => name)).toEqual(called);
  });

  it('serves no backend of another namespace whose group has the same name', () => {
    const outcome = planOurs(server('ours'), group('ours'), group('theirs'), backend('theirs'), auth('theirs'));
    expect(outcome.rendered?.document.backends).toEqual([]);
  });
});

it('accepts a server that is named like a property of every object', () => {
  const document = server('ours').replace('demo', 'constructor');
  const folderContent = readFolderContent([{ file: 'a.yaml', text: [document, group('ours')].join('---\n') }]);
  const known = {
    allocations: {
      slots: { 'ours/constructor': 0 },
      privatePlaces: {},
      backendPlaces: {},
      uids: { 'ours/constructor': 'u' },
    },
    portConflicts: new Map(),
    directory: '/srv/.vmcp',
    loginDirectory: '/srv/.vmcp/logins',
    containerEngine: undefined,
    hostAddress: undefined,
    limitsIgnored: undefined,
    envFiles: () => undefined,
    appendFlaw: () => undefined,
    digest: (_value: string, place: string) => place,
    generated: () => ({}),
    status: () => undefined,
    documents: {},
    observed: {},
  };
  const key = { kind: 'VirtualMCPServer', namespace: 'ours', name: 'constructor' } as const;
  const snapshot = buildSnapshot(folderContent, 'ours', known);
  expect(plan(key, snapshot, '2026-01-02T03:04:05Z')).toMatchObject({ key, action: 'apply' });
  for (const section of [
    snapshot.secrets,
    snapshot.configMaps,
    snapshot.mcpServers,
    snapshot.documents,
    snapshot.observed,
  ])
    expect(section.constructor).toBeUndefined();
});
