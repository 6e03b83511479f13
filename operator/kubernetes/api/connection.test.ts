import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, loadKubeConfig } from './connection.ts';

const folder = mkdtempSync(join(tmpdir(), 'vmcp-connection-'));
const file = join(folder, 'kubeconfig');

function write(users: object = { token: 'a-token' }): void {
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'one', cluster: { server: 'https://127.0.0.1:1/' } }],
    users: [{ name: 'me', user: users }],
    contexts: [
      { name: 'first', context: { cluster: 'one', user: 'me', namespace: 'team' } },
      { name: 'second', context: { cluster: 'one', user: 'me' } },
      { name: 'broken', context: { cluster: 'missing', user: 'me' } },
    ],
    'current-context': 'first',
  };
  writeFileSync(file, JSON.stringify(kubeconfig));
}

describe('connect', () => {
  afterEach(() => {
    rmSync(file, { force: true });
  });

  it('uses the address, namespace and token of the kubeconfig', async () => {
    write();
    const connection = connect(loadKubeConfig({ kubeconfig: file }));
    expect([connection.server, connection.namespace]).toEqual(['https://127.0.0.1:1', 'team']);
    expect((await connection.authenticate()).headers).toEqual({ Authorization: 'Bearer a-token' });
    await connection.close();
  });

  it('reports a missing kubeconfig, whatever context is named', () => {
    const environment = jest.replaceProperty(process, 'env', { HOME: folder });
    try {
      expect(() => loadKubeConfig({})).toThrow('there is no kubeconfig');
      expect(() => loadKubeConfig({ context: 'nope' })).toThrow('set KUBECONFIG, or write --kubeconfig <file>');
    } finally {
      environment.restore();
    }
  });

  it('uses another context if one is named', () => {
    write();
    expect(connect(loadKubeConfig({ kubeconfig: file, context: 'second' })).namespace).toBeUndefined();
  });

  it('reuses its connections for all calls, also after it requests the token again', async () => {
    write();
    const connection = connect(loadKubeConfig({ kubeconfig: file }));
    const [first, second] = await Promise.all([connection.authenticate(), connection.authenticate()]);
    connection.forget();
    const third = await connection.authenticate();
    expect(second.dispatcher).toBe(first.dispatcher);
    expect(third.dispatcher).toBe(first.dispatcher);
    await connection.close();
  });

  it('names the flag and the remedy when the file or the context is wrong', () => {
    expect(() => loadKubeConfig({ kubeconfig: file })).toThrow(
      /^--kubeconfig .*kubeconfig: ENOENT.*: name a file that can be read/,
    );
    write();
    expect(() => loadKubeConfig({ kubeconfig: file, context: 'third' })).toThrow(
      '--context third: the kubeconfig has no such context: use one of first, second, broken',
    );
    expect(() => connect(loadKubeConfig({ kubeconfig: file, context: 'broken' }))).toThrow(
      'the kubeconfig\'s context "broken" names no cluster',
    );
  });
});
