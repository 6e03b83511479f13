import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { locateState } from '#operator/local/state-folder';
import { checkFolder } from './check-folder.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'vmcp-left-out-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const kind = (name: string, of: string, spec: string) => `apiVersion: vmcp.dev/v1alpha1
kind: ${of}
metadata:
  name: ${name}
spec:
${spec}`;
const SERVER = [
  kind('demo', 'VirtualMCPServer', '  config: { groupRef: tools }\n  incomingAuth: { type: anonymous }'),
  kind('tools', 'MCPGroup', '  description: all'),
].join('\n---\n');
const backend = (name: string, auth: string) =>
  kind(
    name,
    'MCPServer',
    `  groupRef: tools\n  remoteUrl: https://${name}.example/mcp\n  externalAuthConfigRef: { name: ${auth} }`,
  );
const auth = (name: string, more = '') =>
  kind(
    name,
    'MCPExternalAuthConfig',
    `  type: headerInjection\n  headerInjection:\n    headerName: X-Key\n    valueSecretRef: { name: keys, key: ${name} }${more}`,
  );
const SECRET = 'apiVersion: v1\nkind: Secret\nmetadata: { name: keys }\nstringData: { good: x }';

/** What is wrong in these files, as `file:line path: message`. */
async function problemsOf(files: Record<string, string>): Promise<string[]> {
  for (const [name, text] of Object.entries({ 'server.yaml': SERVER, ...files }))
    writeFileSync(join(folder, name), text);
  const context = { state: locateState(join(folder, 'state')), containerEngine: undefined, environment: {} };
  const { problems } = await checkFolder(folder, context as Parameters<typeof checkFolder>[1]);
  return problems.map(({ file, line, path, message }) => `${file.split('/').at(-1) ?? ''}:${line} ${path}: ${message}`);
}

describe('what keeps a backend from being served', () => {
  it('is told once where a Secret has not got the key, at the credential', async () => {
    const files = { 'backends.yaml': backend('one', 'gone'), 'auth.yaml': auth('gone'), 'secret.yaml': SECRET };
    expect(await problemsOf(files)).toEqual([
      expect.stringMatching(/^auth\.yaml:9 MCPExternalAuthConfig\/gone: SecretKeyNotFound: .*"gone"/),
    ]);
  });

  it('is told at the credential that is not for that backend, beside what else is wrong in its file', async () => {
    const wrong = `${auth('good', '\n  allowedServers: [other]')}\n---\n${auth('typo').replace('headerName', 'headrName')}`;
    const files = { 'backends.yaml': `${backend('one', 'good')}\n---\n${backend('two', 'typo')}`, 'auth.yaml': wrong };
    const problems = await problemsOf({ ...files, 'secret.yaml': SECRET });
    expect(problems).toContainEqual(
      expect.stringMatching(
        /^auth\.yaml:2? ?.*MCPExternalAuthConfig\/good: is not for this server: .* \(so demo leaves one out\)$/,
      ),
    );
    expect(problems.filter((problem) => problem.includes('headrName'))).toHaveLength(1);
    expect(problems.every((problem) => problem.startsWith('auth.yaml:'))).toBe(true);
  });

  it('is told once where it lacks a secret of its own, with the line of that', async () => {
    const secrets = '  secrets:\n    - { name: keys, key: gone, targetEnvName: KEY }';
    const text = `apiVersion: vmcp.dev/v1alpha1\nkind: MCPServer\nmetadata: { name: one }\nspec:\n  groupRef: tools\n  command: [one]\n${secrets}`;
    expect(await problemsOf({ 'backends.yaml': text, 'secret.yaml': SECRET })).toEqual([
      expect.stringMatching(/^backends\.yaml:7 MCPServer\/one: SecretKeyNotFound: secrets: .*"gone"/),
    ]);
  });

  it('is told at the backend where the fault is its own', async () => {
    const [one, ...more] = await problemsOf({ 'backends.yaml': backend('one', 'nowhere') });
    expect(one).toMatch(/^backends\.yaml:8 MCPServer\/one: MCPExternalAuthConfig "nowhere" does not exist/);
    expect(more).toEqual([]);
  });
});
