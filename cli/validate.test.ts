import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { locateState } from '#local/state-folder';
import { contextWith } from './testdata/context-with.ts';
import type { ClusterFacts } from '#operator/snapshot';
import { validate, type References } from './validate.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'vmcp-validate-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const group = (name: string, spec = '{}') =>
  `apiVersion: vmcp.dev/v1alpha1\nkind: MCPGroup\nmetadata: { name: ${name} }\nspec: ${spec}\n`;

interface Asked {
  readonly references?: References;
  readonly cluster?: ClusterFacts;
}

async function validated(paths: string[], input = '', { references = 'error', cluster }: Asked = {}) {
  const said = { out: '', err: '' };
  const stream = (which: 'out' | 'err') => ({ write: (text: string) => (said[which] += text) });
  const context = contextWith({
    state: locateState(join(folder, 'state')),
    input: Readable.from([input]),
    out: stream('out'),
    err: stream('err'),
  });
  return { code: await validate(paths, { output: 'table', references, cluster }, context), ...said };
}

describe('validate', () => {
  it('reads a file, a folder and standard input as one', async () => {
    const [file, other] = [join(folder, 'one.yml'), join(folder, 'more')];
    mkdirSync(other);
    writeFileSync(file, group('one'));
    writeFileSync(join(other, 'two.yaml'), group('two'));
    const { code, out } = await validated([file, other, '-'], group('three'));
    expect(out).toBe(`${file}, ${other}, -: 3 resources (vmcp.dev/v1alpha1), valid\n`);
    expect(code).toBe(0);
  });

  it('names standard input in a problem', async () => {
    const { code, err } = await validated(['-'], group('one', '{ descriptoin: x }'));
    expect(err).toContain('-:4: spec.descriptoin: unknown field `descriptoin`; did you mean `description`?');
    expect(code).not.toBe(0);
  });

  it('names the second program with the same mcpPort at its field, once', async () => {
    const server = group('v', '{ config: { groupRef: g }, incomingAuth: { type: anonymous } }');
    const program = (name: string) =>
      group(name, '\n  groupRef: g\n  command: [node]\n  transport: streamable-http\n  mcpPort: 4987');
    const text = [
      group('g'),
      server.replace('MCPGroup', 'VirtualMCPServer'),
      ...['a', 'b'].map((name) => program(name).replace('MCPGroup', 'MCPServer')),
    ];
    const { code, err } = await validated(['-'], text.join('---\n'));
    const why = 'MCPServer/b: PortInUse: mcpPort: port 4987 is in use by MCPServer "a" (mcpPort): write another port';
    expect(err.split('\n').filter((line) => line.includes('4987'))).toEqual([expect.stringMatching(/^-:\d+(:\d+)?: /)]);
    expect(err).toContain(`-:27: ${why}`);
    expect(code).toBe(1);
  });

  it('reports an unknown field beside the required one that it replaces, as a cluster would', async () => {
    const cluster: ClusterFacts = { mode: 'cluster', runtimeImage: 'runtime:1', allowHostPaths: false };
    const spec = '{ config: { groupReff: tools }, incomingAuth: { type: anonymous } }';
    const text = group('demo', spec).replace('MCPGroup', 'VirtualMCPServer');
    for (const options of [{}, { cluster }]) {
      const { err } = await validated(['-'], text, options);
      expect(err).toContain('spec.config.groupRef: required field is missing; write a string');
      expect(err).toContain('spec.config.groupReff: unknown field `groupReff`; did you mean `groupRef`?');
    }
  });

  it('reports the refusals of a cluster beside problems in another resource of the file', async () => {
    const cluster: ClusterFacts = { mode: 'cluster', runtimeImage: 'runtime:1', allowHostPaths: false };
    const open = group('demo', '{ config: { groupRef: tools } }').replace('MCPGroup', 'VirtualMCPServer');
    const { err } = await validated(['-'], `${group('one', '{ wrong: 1 }')}---\n${open}`, { cluster });
    expect(err.match(/unknown field `wrong`/g)).toHaveLength(1);
    expect(err).toContain('VirtualMCPServer/demo: InvalidSpec: VirtualMCPServer "demo": spec.incomingAuth: required');
  });

  it('reports the refusals of a cluster, and does not require Secrets outside the files', async () => {
    const cluster: ClusterFacts = { mode: 'cluster', runtimeImage: 'runtime:1', allowHostPaths: false };
    const resource = (kind: string, name: string, spec: string) =>
      `---\napiVersion: vmcp.dev/v1alpha1\nkind: ${kind}\nmetadata: { name: ${name} }\nspec: ${spec}\n`;
    const token = 'secrets: [{ name: api, key: token, targetEnvName: TOKEN }]';
    const text = [
      resource('MCPServer', 'local', '{ command: [node, server.js] }'),
      resource('MCPServer', 'well', `{ image: 'a:1', ${token} }`),
      resource(
        'VirtualMCPServer',
        'two',
        '{ config: { groupRef: tools }, incomingAuth: { type: anonymous }, replicas: 2 }',
      ),
      resource('MCPGroup', 'tools', '{}'),
    ].join('');
    const { code, out, err } = await validated(['-'], text, { cluster });
    expect(err).toMatch(/^-:\d+: MCPServer\/local: ImageNeeded: has only a command, which a cluster cannot start/m);
    expect(err).toMatch(/^-:\d+: VirtualMCPServer\/two: ReplicasNeedSharedState: /m);
    expect(err).not.toContain('MCPServer/well');
    expect(out).toContain('4 resources (vmcp.dev/v1alpha1), 2 problems');
    expect(code).not.toBe(0);
  });

  it('counts a file that is named twice once', async () => {
    const file = join(folder, 'one.yaml');
    writeFileSync(file, group('one'));
    expect((await validated([file, file, folder])).out).toContain('1 resources (vmcp.dev/v1alpha1), valid');
  });

  it('reports a skipped document, and remains valid', async () => {
    const text = `apiVersion: v1\nkind: Namespace\nmetadata: { name: team }\n---\n${group('one')}`;
    const { code, out, err } = await validated(['-'], text);
    expect(err).toBe('-:2: kind: `Namespace` is passed over, as vmcp does not read it (warning)\n');
    expect(out).toContain('1 resources (vmcp.dev/v1alpha1), valid');
    expect(code).toBe(0);
  });

  it.each([
    [
      'Secret',
      'externalAuthConfigRef: { name: key }',
      'type: bearerToken, bearerToken: { tokenSecretRef: { name: none, key: token } }',
    ],
    ['ConfigMap', 'caBundleRef: { name: none }', 'type: unauthenticated'],
  ])('warns of a missing %s with --references warn', async (kind, field, auth) => {
    const head = (of: string, name: string) =>
      `apiVersion: vmcp.dev/v1alpha1\nkind: ${of}\nmetadata: { name: ${name} }\nspec:\n`;
    const text = [
      group('team'),
      `${head('MCPServer', 'far')}  { groupRef: team, transport: streamable-http, remoteUrl: 'https://far.example/mcp', ${field} }\n`,
      `${head('MCPExternalAuthConfig', 'key')}  { ${auth} }\n`,
      `${head('VirtualMCPServer', 'all')}  { config: { groupRef: team }, incomingAuth: { type: anonymous } }\n`,
    ].join('---\n');
    const said = `names ${kind} "none", which does not exist`;
    const refused = await validated(['-'], text);
    expect(refused.err.split('\n').find((line) => line.includes(said))).not.toContain('(warning)');
    expect(refused.code).not.toBe(0);
    const warned = await validated(['-'], text, { references: 'warn' });
    expect(warned.err.split('\n').find((line) => line.includes(said))).toContain('(warning)');
    expect(warned.out).toContain(', valid\n');
    expect(warned.code).toBe(0);
  });

  it('keeps other problems where --references is warn', async () => {
    expect((await validated(['-'], group('one', '{ descriptoin: x }'), { references: 'warn' })).code).not.toBe(0);
  });

  it('rejects a path that does not exist', async () => {
    await expect(validated([join(folder, 'none.yaml')])).rejects.toThrow('cannot be read (ENOENT)');
  });
});
