import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { checkThereIsAServer } from './up.ts';

const NAMESPACE = 'apiVersion: v1\nkind: Namespace\nmetadata: { name: team }\n';
const SERVER =
  'apiVersion: vmcp.dev/v1alpha1\nkind: VirtualMCPServer\nmetadata: { name: demo }\n' +
  'spec: { config: { groupRef: tools }, incomingAuth: { type: anonymous } }\n';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'vmcp-up-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('checkThereIsAServer', () => {
  it('reports a skipped document', () => {
    writeFileSync(join(folder, 'all.yaml'), `${NAMESPACE}---\n${SERVER}`);
    const said: string[] = [];
    checkThereIsAServer(folder, { err: { write: (text) => said.push(text) } });
    expect(said).toEqual([
      `${join(folder, 'all.yaml')}:2: kind: \`Namespace\` is passed over, as vmcp does not read it\n`,
    ]);
  });

  it('rejects a folder with skipped documents only', () => {
    writeFileSync(join(folder, 'all.yaml'), NAMESPACE);
    const err = { write: () => undefined };
    expect(() => checkThereIsAServer(folder, { err })).toThrow('holds no VirtualMCPServer');
  });
});
