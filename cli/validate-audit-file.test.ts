import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import { locateState } from '#local/state-folder';
import { contextWith } from './testdata/context-with.ts';
import { validate } from './validate.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'vmcp-validate-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A server whose `spec` begins at line 6. */
const manifest = (fields: object) =>
  stringify({
    apiVersion: 'vmcp.dev/v1alpha1',
    kind: 'VirtualMCPServer',
    metadata: { name: 'demo' },
    spec: { incomingAuth: { type: 'anonymous' }, ...fields },
  }) + '---\n{ apiVersion: vmcp.dev/v1alpha1, kind: MCPGroup, metadata: { name: team }, spec: {} }\n';

async function problemsOf(fields: object): Promise<string[]> {
  let said = '';
  const file = join(folder, 'server.yaml');
  writeFileSync(file, manifest(fields));
  const context = contextWith({
    state: locateState(join(folder, 'state')),
    err: { write: (more: string) => (said += more) },
  });
  await validate([folder], { output: 'table', references: 'error' }, context);
  return said.split('\n').flatMap((line) => (line.startsWith(file) ? [line.slice(file.length + 1)] : []));
}

const config = { groupRef: 'team' };

describe('validate', () => {
  it('reports an audit log without folder with line, field and remedy', async () => {
    const logFile = join(folder, 'none', 'audit.log');
    expect(await problemsOf({ config, audit: { enabled: true, logFile } })).toContain(
      `12: VirtualMCPServer/demo: AuditFileNotWritable: audit.logFile: ${logFile} cannot be written, as its folder does not exist: create the folder, or name another file`,
    );
    const inConfig = await problemsOf({ config: { ...config, audit: { enabled: true, logFile } } });
    expect(inConfig).toContainEqual(expect.stringMatching(/^12: .*AuditFileNotWritable: config\.audit\.logFile: /));
  });

  it('reads a relative path from the folder of its manifest', async () => {
    const audit = { enabled: true, logFile: 'logs/audit.log' };
    expect((await problemsOf({ config, audit })).join()).toContain('AuditFileNotWritable');
    mkdirSync(join(folder, 'logs'));
    expect((await problemsOf({ config, audit })).join()).not.toContain('AuditFileNotWritable');
  });

  it('ignores the path of a log that is switched off', async () => {
    const audit = { enabled: false, logFile: join(folder, 'none', 'audit.log') };
    expect((await problemsOf({ config, audit })).join()).not.toContain('AuditFileNotWritable');
  });
});
