import { Readable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { parse, stringify } from 'yaml';
import { locateState } from '#local/state-folder';
import { plan } from '#operator/plan/plan';
import { emptySnapshot } from '#operator/testdata/empty-snapshot';
import type { Manifest } from '#operator/snapshot';
import { contextWith } from './testdata/context-with.ts';
import { validate } from './validate.ts';

const API = { apiVersion: 'vmcp.dev/v1alpha1' };
const GROUP: Manifest = { ...API, kind: 'MCPGroup', metadata: { name: 'team', namespace: 'default' }, spec: {} };
const SERVER: Manifest = {
  ...API,
  kind: 'VirtualMCPServer',
  metadata: { name: 'demo', namespace: 'default' },
  spec: parse(`
    config: { groupRef: team }
    incomingAuth:
      type: oidc
      resourceUrl: https://mcp.example/mcp
      oidcConfig:
        type: inline
        inline:
          issuer: https://idp.example
          audience: a
          clientId: me
          clientSecretRef: { name: idp, key: secret }
  `) as Manifest['spec'],
};
/** Field, Secret and remedy. */
const SAID = 'incomingAuth.oidcConfig.inline.clientSecretRef names Secret "idp", which does not exist: create it';

describe('the missing Secret of an introspection client', () => {
  it('appears in the output of validate with field, Secret and remedy', async () => {
    let said = '';
    const context = contextWith({
      state: locateState('/nowhere'),
      input: Readable.from([[GROUP, SERVER].map((one) => stringify(one)).join('---\n')]),
      err: { write: (text: string) => (said += text) },
    });
    await validate(['-'], { output: 'table', references: 'error', cluster: undefined }, context);
    expect(said).toContain(`VirtualMCPServer/demo: SecretNotFound: ${SAID}`);
  });

  it.each(['local', 'cluster'] as const)(
    'appears in the status of the server with field, Secret and remedy (%s)',
    (mode) => {
      const snapshot = emptySnapshot({
        platform:
          mode === 'cluster'
            ? { mode, keySet: { keys: [] }, runtimeImage: 'vmcp', allowHostPaths: false }
            : {
                ...{ mode, directory: '/x', ports: { demo: { port: 1, privatePort: 2 } }, backendPorts: {} },
                ...{ uids: { demo: 'u' }, loginDirectory: '/x/logins' },
              },
        virtualMcpServers: { demo: SERVER },
        mcpGroups: { team: GROUP },
      });
      const { status } = plan(
        { kind: 'VirtualMCPServer', namespace: 'default', name: 'demo' },
        snapshot,
        '2026-01-01T00:00:00Z',
      );
      expect(status?.conditions).toContainEqual(
        expect.objectContaining({ status: 'False', reason: 'SecretNotFound', message: SAID }),
      );
    },
  );
});
