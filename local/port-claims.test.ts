import { describe, expect, it } from '@jest/globals';
import { readFolderContent } from './manifest-folder.ts';
import { findPortConflicts, portClaims, type PortHolder } from './port-claims.ts';

const resource = (kind: string, name: string, spec: string, namespace = 'default') =>
  `apiVersion: vmcp.dev/v1alpha1\nkind: ${kind}\nmetadata: {name: ${name}, namespace: ${namespace}}\nspec: ${spec}\n`;
const server = (name: string, more: string) =>
  resource('VirtualMCPServer', name, `{config: {groupRef: g}, incomingAuth: {type: anonymous}${more}}`);
const atUrl = (name: string, port: number) =>
  resource(
    'VirtualMCPServer',
    name,
    `{config: {groupRef: g}, incomingAuth: {type: anonymous, resourceUrl: 'http://127.0.0.1:${port}/mcp'}}`,
  );
const program = (name: string, port: number, more = '', namespace = 'default') =>
  resource('MCPServer', name, `{command: [node], transport: streamable-http, mcpPort: ${port}${more}}`, namespace);
const proxy = (name: string, port: number) => resource('MCPServer', name, `{command: [node], proxyPort: ${port}}`);

function conflicts(documents: string[], running: PortHolder[] = []) {
  const { manifests, problems } = readFolderContent([{ file: 'a.yaml', text: documents.join('---\n') }]);
  expect(problems).toEqual([]);
  const found = findPortConflicts(portClaims(manifests), running);
  return Object.fromEntries(
    [...found].flatMap(([, { runtimes, programs }]) => [...Object.entries(runtimes), ...Object.entries(programs)]),
  );
}

describe('findPortConflicts', () => {
  it.each([
    ['two listen.port', [server('v', ', listen: {port: 4990}'), server('w', ', listen: {port: 4990}')], 'listen.port'],
    ['two resourceUrl', [atUrl('v', 4990), atUrl('w', 4990)], 'incomingAuth.resourceUrl'],
  ])('refuses the second of %s at its field', (_what, documents, field) => {
    expect(conflicts(documents)).toEqual({
      w: expect.stringMatching(`^${field}: port 4990 is in use by VirtualMCPServer "v" .*: write another port$`),
    });
  });

  it('refuses a proxyPort that is the listen.port of a server', () => {
    expect(conflicts([server('v', ', listen: {port: 4990}'), proxy('a', 4990)])).toEqual({
      'MCPServer/a': 'proxyPort: port 4990 is in use by VirtualMCPServer "v" (listen.port): write another port',
    });
  });

  it('refuses the second program with the same mcpPort, also in another namespace', () => {
    expect(conflicts([program('a', 4987), program('b', 4987), program('c', 4987, '', 'other')])).toEqual({
      b: 'mcpPort: port 4987 is in use by MCPServer "a" (mcpPort): write another port',
      c: 'mcpPort: port 4987 is in use by MCPServer "a" of namespace default (mcpPort): write another port',
    });
  });

  it('leaves a port to the process that runs on it', () => {
    const running: PortHolder = { owner: 'VirtualMCPServer/default/w', role: 'runtime', port: 4483 };
    const documents = [server('v', ', listen: {port: 4483}'), server('w', '')];
    expect(conflicts(documents, [running])).toEqual({
      v: 'listen.port: port 4483 is in use by VirtualMCPServer "w" (its endpoint): write another port',
    });
    expect(conflicts(documents)).toEqual({});
  });

  it('counts no program that is stopped, remote or on stdio', () => {
    const remote = resource('MCPServer', 'c', `{remoteUrl: 'https://a.example/mcp', mcpPort: 4987}`);
    const stdio = resource('MCPServer', 'd', '{command: [node], mcpPort: 4987}');
    expect(conflicts([program('a', 4987, ', suspend: true'), remote, stdio, program('b', 4987)])).toEqual({});
  });
});
