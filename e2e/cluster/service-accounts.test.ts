import { beforeAll, expect, it } from '@jest/globals';
import { send } from '../gateway/session-client.ts';
import { backend, fake, group, server } from './stage.ts';
import { describeWithCluster } from './use-cluster.ts';
import { useStage } from './use-stage.ts';

const AUDIENCE = 'vmcp-callers';

describeWithCluster('incomingAuth of type kubernetes', (cluster) => {
  const stage = useStage(cluster, 'accounts');

  beforeAll(async () => {
    const oidcConfig = { type: 'kubernetes', kubernetes: { audience: AUDIENCE, serviceAccount: 'caller' } };
    for (const name of ['caller', 'other']) {
      await stage.apply({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } });
    }
    await stage.apply(
      group('tools'),
      backend('whoami', fake('tools', 'whoami')),
      server('demo', 'tools', { incomingAuth: { type: 'oidc', oidcConfig } }),
    );
    await stage.ready('demo');
  });

  /** What a pod of this account would find in its projected volume. */
  async function tokenOf(account: string, audience: string): Promise<string> {
    const path = `/api/v1/namespaces/${stage.namespace.name}/serviceaccounts/${account}/token`;
    const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { audiences: [audience] } };
    const { body } = await cluster.ask('POST', path, request);
    return (body as { status: { token: string } }).status.token;
  }

  async function statusWith(token: string): Promise<number> {
    const { url, headers } = await stage.endpoint('demo');
    const call = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
    return (await send(url, 'POST', { ...headers, authorization: `Bearer ${token}` }, call)).status;
  }

  it('lets in the account that is named, by issuer and keys that the operator read from its own API server', async () => {
    const authorization = `Bearer ${await tokenOf('caller', AUDIENCE)}`;
    const client = await stage.connect('demo', { authorization });
    expect(await client.toolNames()).toEqual(['whoami_whoami']);
    const text = (await stage.get('ConfigMap', 'vmcp-demo-v0.1.0'))?.data?.['run-config.yaml'] ?? '';
    expect(text).toMatch(/jwks:\n {4}keys:/);
    expect(text).toContain(`required_subject: system:serviceaccount:${stage.namespace.name}:caller`);
  });

  it('refuses another audience, another account and no token at all', async () => {
    expect(await statusWith(await tokenOf('caller', 'somebody-else'))).toBe(401);
    expect(await statusWith(await tokenOf('other', AUDIENCE))).toBe(401);
    expect(await statusWith('none')).toBe(401);
  });
});
