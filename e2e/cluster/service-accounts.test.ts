import { beforeAll, describe, expect, it } from '@jest/globals';
import { KUBERNETES_AUDIENCE } from '#crds/parts/defaults';
import { send } from '../gateway/session-client.ts';
import { tokenOf } from './accounts.ts';
import { type Ask, askFromPod } from './ask-from-pod.ts';
import { IMAGES } from './images.ts';
import type { Written } from './send-manifests.ts';
import { backend, condition, fake, group, server } from './stage.ts';
import { describeWithCluster } from './use-cluster.ts';
import { useStage } from './use-stage.ts';

const AUDIENCE = 'vmcp-callers';
const ELSEWHERE = 'somebody-else';
const ACCOUNTS = ['caller', 'other'] as const;

type Account = (typeof ACCOUNTS)[number];

/** Returns a pod with a token for each audience in a volume: `/tokens/<audience>`. */
function podOf(account: Account): Written {
  const sources = [AUDIENCE, KUBERNETES_AUDIENCE, ELSEWHERE].map((audience) => ({
    serviceAccountToken: { audience, path: audience, expirationSeconds: 3600 },
  }));
  const container = {
    name: 'client',
    image: IMAGES.backends,
    command: ['node', '-e', 'setInterval(() => undefined, 60_000)'],
    volumeMounts: [{ name: 'tokens', mountPath: '/tokens', readOnly: true }],
  };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: account },
    spec: {
      serviceAccountName: account,
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 0,
      containers: [container],
      volumes: [{ name: 'tokens', projected: { sources } }],
    },
  };
}

describeWithCluster('incomingAuth of type kubernetes', (cluster) => {
  const stage = useStage(cluster, 'accounts');
  const subjectOf = (account: Account) => `system:serviceaccount:${stage.namespace.name}:${account}`;

  beforeAll(async () => {
    const oidcConfig = { type: 'kubernetes', kubernetes: { audience: AUDIENCE, serviceAccount: 'caller' } };
    for (const name of ACCOUNTS) {
      await stage.apply({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } }, podOf(name));
    }
    const policies = [
      'permit(principal, action, resource);',
      `@id("others-whisper")
       @advice("Ask as the account caller.")
       forbid(principal == Client::"${subjectOf('other')}", action == Action::"call_tool", resource)
       when { context has arg_loudly };`,
    ];
    await stage.apply(
      group('tools'),
      backend('whoami', fake('tools', 'whoami')),
      server('demo', 'tools', { incomingAuth: { type: 'oidc', oidcConfig } }),
      server('policed', 'tools', {
        incomingAuth: {
          type: 'oidc',
          oidcConfig: { type: 'kubernetes' },
          authzConfig: { type: 'inline', inline: { policies } },
        },
      }),
    );
    await stage.ready('demo');
    await stage.ready('policed');
    const wait = ['wait', '--for=condition=Ready', '--timeout=55s', ...ACCOUNTS.map((name) => `pod/${name}`)];
    const { code, stderr } = await cluster.kubectl(['-n', stage.namespace.name, ...wait]);
    if (code !== 0) throw new Error(stderr);
  }, 150_000);

  const tokenFor = (account: Account, audience: string) =>
    tokenOf(cluster, { namespace: stage.namespace.name, name: account }, audience);

  async function statusWith(token: string): Promise<number> {
    const { url, headers } = await stage.endpoint('demo');
    const call = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
    return (await send(url, 'POST', { ...headers, authorization: `Bearer ${token}` }, call)).status;
  }

  it('admits the named account, by the issuer and keys that the operator reads from its own API server', async () => {
    const authorization = `Bearer ${await tokenFor('caller', AUDIENCE)}`;
    const client = await stage.connect('demo', { authorization });
    expect(await client.toolNames()).toEqual(['whoami_whoami']);
    const text = (await stage.get('ConfigMap', 'vmcp-demo-v0.1.0'))?.data?.['run-config.yaml'] ?? '';
    expect(text).toMatch(/jwks:\n {4}keys:/);
    expect(text).toContain(`required_subject: ${subjectOf('caller')}`);
  });

  it('refuses another audience, another account, and a request without a token', async () => {
    expect(await statusWith(await tokenFor('caller', ELSEWHERE))).toBe(401);
    expect(await statusWith(await tokenFor('other', AUDIENCE))).toBe(401);
    expect(await statusWith('none')).toBe(401);
  });

  it('starts no pod if the key set needs a token that nothing provides, and reports it in the status', async () => {
    const jwksAuthTokenPath = '/var/run/secrets/keys/token';
    const inline = { issuer: 'https://login.example', jwksUrl: 'https://login.example/keys', jwksAuthTokenPath };
    const incomingAuth = { type: 'oidc', oidcConfig: { type: 'inline', inline } };
    await stage.apply(server('tokened', 'tools', { incomingAuth }));
    const status = await stage.status('VirtualMCPServer', 'tokened', ({ phase }) => phase === 'Failed', 60_000);
    expect(condition(status, 'Ready')?.reason).toBe('PodsFail');
    expect(condition(status, 'KeySetNeedsToken')).toMatchObject({
      reason: 'NotMounted',
      message: expect.stringContaining(`${jwksAuthTokenPath} into the pods`),
    });
    await stage.remove('VirtualMCPServer', 'tokened');
  }, 90_000);

  describe('for another pod, by the token in its volume,', () => {
    const call = (args: object = {}): Ask => ['tools/call', { name: 'whoami_whoami', arguments: args }];
    const askAs = (account: Account, name: 'demo' | 'policed', audience: string, ...asks: Ask[]) =>
      askFromPod(stage, `pod/${account}`, {
        url: `http://vmcp-${name}:4483/mcp`,
        bearer: { file: `/tokens/${audience}` },
        asks,
      });
    /** The backend answers, and receives no token of the caller. */
    const served = { result: { structuredContent: { subject: null } } };

    it('admits the named account', async () => {
      expect(await askAs('caller', 'demo', AUDIENCE, call())).toMatchObject([served]);
    }, 90_000);

    it('refuses a token for another audience, and another account', async () => {
      await expect(askAs('caller', 'demo', ELSEWHERE)).rejects.toThrow('initialize: 401');
      await expect(askAs('caller', 'demo', KUBERNETES_AUDIENCE)).rejects.toThrow('initialize: 401');
      await expect(askAs('other', 'demo', AUDIENCE)).rejects.toThrow('initialize: 401');
    }, 90_000);

    it('uses the default audience if none is written, and applies policies to accounts', async () => {
      const asks = [call(), call({ loudly: true })];
      expect(await askAs('caller', 'policed', KUBERNETES_AUDIENCE, ...asks)).toMatchObject([served, served]);
      const policy = { id: 'others-whisper', advice: 'Ask as the account caller.' };
      expect(await askAs('other', 'policed', KUBERNETES_AUDIENCE, ...asks)).toMatchObject([
        served,
        { error: { code: 403, data: { policy } } },
      ]);
      await expect(askAs('other', 'policed', AUDIENCE)).rejects.toThrow('initialize: 401');
    }, 90_000);
  });
});
