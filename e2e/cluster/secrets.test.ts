import { beforeAll, describe, expect, it } from '@jest/globals';
import { generateKeyPairSync } from 'node:crypto';
import { shortHash } from '../fakes/whoami/describe-caller.ts';
import { send } from '../gateway/session-client.ts';
import { eventually } from '../local/run-vmcp.ts';
import { startLoad } from './load.ts';
import { backend, condition, fake, group, secret, type Seen, server } from './stage.ts';
import { describeWithCluster } from './use-cluster.ts';
import { useStage } from './use-stage.ts';

const WHOAMI = 'whoami_whoami';
const FIRST = 'first-value-of-the-header';
const SECOND = 'second-value-of-the-header';

/** Serves answers of the length of its variable, so that the caller can tell its value. */
const SIZED = `
  process.argv.push('--port', '8080', '--name', 'sized', '--tools', '1', '--payload', process.env.SIZE);
  await import('/app/e2e/fakes/backend/main.ts');
`;

const signingKey = () =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

const headerOf = (answer: Record<string, unknown>) => (answer.headerHashes as Record<string, string>)['x-api-key'];

describeWithCluster('Secrets of a running server', (cluster) => {
  const stage = useStage(cluster, 'secrets');
  const podsOf = async (name: string) => {
    const pods = await stage.list('Pod', `app.kubernetes.io/name=vmcp-runtime,app.kubernetes.io/instance=${name}`);
    return pods.map(({ metadata }) => metadata.uid);
  };

  beforeAll(async () => {
    const header = { addHeadersFromSecret: { 'X-Api-Key': { name: 'api', key: 'key' } } };
    await stage.apply(
      secret('api', { key: FIRST, unused: 'never-copied' }),
      group('tools'),
      backend('whoami', { ...fake('tools', 'whoami'), headerForward: header }),
      backend('plain', fake('tools', 'backend', ['--name', 'plain', '--tools', '1'])),
      server('demo', 'tools'),
    );
    await stage.ready('demo');
  }, 120_000);

  it('reach the pod in one Secret per server, with the named keys and no other', async () => {
    const credentials = await stage.get('Secret', 'vmcp-demo-credentials');
    const files = Object.keys(credentials?.data ?? {});
    expect(files.filter((file) => /^api\.key-[0-9a-f]{16}$/.test(file))).toHaveLength(1);
    const others = files.filter((file) => !/^(api\.key|status-token|sealing)-[0-9a-f]{16}$/.test(file));
    expect(others).toEqual([expect.stringMatching(/^config\.[0-9a-f]{64}$/)]);
    const [pod] = await stage.list('Pod', 'app.kubernetes.io/name=vmcp-runtime');
    const text = JSON.stringify(pod?.spec);
    expect(text).toContain('"secretName":"vmcp-demo-credentials"');
    expect(text).not.toContain('secretKeyRef');
    expect(text).not.toContain('kube-api-access');
  });

  it('appear in no object but Secrets, in no event and in no log line', async () => {
    const kinds = ['VirtualMCPServer', 'MCPServer', 'ConfigMap', 'Deployment', 'Pod', 'Event', 'Service'];
    const all = (await Promise.all(kinds.map((kind) => stage.list(kind)))).flat();
    const seen = JSON.stringify(all) + stage.operator.output();
    for (const text of [FIRST, 'never-copied']) {
      expect(seen).not.toContain(text);
      expect(seen).not.toContain(Buffer.from(text).toString('base64'));
    }
  });

  it('include a token of the operator that /status requires, and probes and metrics do not', async () => {
    const [pod] = (await stage.list('Pod', 'app.kubernetes.io/name=vmcp-runtime')) as unknown as {
      status: { podIP: string };
    }[];
    const ask = (path: string, headers = {}) => send(`http://${pod?.status.podIP}:4484${path}`, 'GET', headers);
    const token = (await stage.get('Secret', 'vmcp-demo-sealing'))?.data?.['status-token'] ?? '';
    const authorization = `Bearer ${Buffer.from(token, 'base64').toString()}`;
    expect((await ask('/status')).status).toBe(401);
    expect((await ask('/status', { authorization: 'Bearer wrong' })).status).toBe(401);
    expect((await ask('/status', { authorization })).status).toBe(200);
    expect((await ask('/readyz')).status).toBe(200);
    expect((await ask('/metrics')).status).toBe(200);
  });

  it('rotate under load without a restart of the pod and without a failed call', async () => {
    const pods = await podsOf('demo');
    const load = await startLoad(await stage.endpoint('demo'), WHOAMI);
    await eventually(
      () => load.answers.length,
      (calls) => calls > 20,
    );
    const begun = performance.now();
    await stage.apply(secret('api', { key: SECOND, unused: 'never-copied' }));
    await eventually(
      () => load.answers.slice(-4).map(headerOf),
      (hashes) => hashes.every((hash) => hash === shortHash(SECOND)),
      20_000,
    );
    const took = performance.now() - begun;
    const calls = load.answers.length;
    await eventually(
      () => load.answers.length,
      (now) => now > calls + 20,
    );
    await load.stop();
    expect(load.failures).toEqual([]);
    expect(new Set(load.answers.map(headerOf))).toEqual(new Set([shortHash(FIRST), shortHash(SECOND)]));
    expect(took).toBeLessThan(10_000);
    expect(await podsOf('demo')).toEqual(pods);
  }, 60_000);

  it('drop the old value’s file once no pod reads it', async () => {
    const files = await eventually(
      async () => Object.values((await stage.get('Secret', 'vmcp-demo-credentials'))?.data ?? {}),
      (values) => !values.includes(Buffer.from(FIRST).toString('base64')),
    );
    expect(files).toContain(Buffer.from(SECOND).toString('base64'));
  });

  it('exclude a backend without its key, report it, and restore it with the key', async () => {
    await stage.patch('Secret', 'api', { data: { key: null } });
    const without = await stage.status(
      'VirtualMCPServer',
      'demo',
      (seen) => condition(seen, 'BackendsResolved')?.status === 'False' && condition(seen, 'Reconciling') === undefined,
    );
    expect(condition(without, 'BackendsResolved')).toMatchObject({ reason: 'SecretKeyNotFound' });
    expect(condition(without, 'BackendsResolved')?.message).toContain('Secret "api" has no key "key": add it');
    expect(JSON.stringify(without)).not.toContain('unused');
    expect(without.backends?.find(({ name }) => name === 'whoami')?.phase).toBe('Excluded');
    expect(without.phase).toBe('Degraded');
    await stage.apply(secret('api', { key: FIRST, unused: 'never-copied' }));
    await stage.ready('demo');
  }, 60_000);

  it('exclude a backend without its Secret, and keep serving the other', async () => {
    const load = await startLoad(await stage.endpoint('demo'), 'plain_tool_0', { sessions: 2 });
    await stage.remove('Secret', 'api');
    const without = await stage.status(
      'VirtualMCPServer',
      'demo',
      (seen) => condition(seen, 'BackendsResolved')?.reason === 'SecretNotFound',
    );
    expect(condition(without, 'BackendsResolved')?.message).toContain('Secret "api", which does not exist: create it');
    await stage.apply(secret('api', { key: SECOND }));
    await stage.ready('demo');
    await load.stop();
    expect(load.failures).toEqual([]);
    expect(load.answers.length).toBeGreaterThan(0);
  }, 60_000);

  it('return to the copy after an edit or deletion of it', async () => {
    const [file = ''] = Object.keys((await stage.get('Secret', 'vmcp-demo-credentials'))?.data ?? {}).filter((name) =>
      name.startsWith('api.'),
    );
    await stage.patch('Secret', 'vmcp-demo-credentials', {
      data: { [file]: Buffer.from('forged').toString('base64') },
    });
    await eventually(
      async () => (await stage.get('Secret', 'vmcp-demo-credentials'))?.data?.[file],
      (value) => value === Buffer.from(SECOND).toString('base64'),
    );
    await stage.remove('Secret', 'vmcp-demo-credentials');
    await eventually(
      async () => (await stage.get('Secret', 'vmcp-demo-credentials'))?.data?.[file],
      (value) => value === Buffer.from(SECOND).toString('base64'),
    );
    // A pod with the forged copy gets the right one from the operator, or at the next sync of its kubelet.
    await stage.ready('demo', 120_000);
  }, 180_000);

  it('replace an old /status token, and keep the previous one valid until the next replacement', async () => {
    const pods = await podsOf('demo');
    const tokens = async () => {
      const text = (await stage.get('Secret', 'vmcp-demo-sealing'))?.data?.['status-token'] ?? '';
      return Buffer.from(text, 'base64').toString().split('\n');
    };
    const [first = ''] = await tokens();
    const old = { annotations: { 'vmcp.dev/status-token-made': '2020-01-01T00:00:00.000Z' } };
    await stage.patch('Secret', 'vmcp-demo-sealing', { metadata: old });
    const [second = '', before] = await eventually(tokens, ([token]) => token !== first);
    expect(before).toBe(first);
    const [pod] = (await stage.list('Pod', 'app.kubernetes.io/instance=demo')) as unknown as {
      status: { podIP: string };
    }[];
    const ask = async (token: string) => {
      const headers = { authorization: `Bearer ${token}` };
      return (await send(`http://${pod?.status.podIP}:4484/status`, 'GET', headers)).status;
    };
    await eventually(
      () => ask(second),
      (status) => status === 200,
      20_000,
    );
    expect(await ask(first)).toBe(200);
    await stage.ready('demo');
    expect(await podsOf('demo')).toEqual(pods);
  }, 60_000);

  it('roll the pods of a program with a changed variable, and no others', async () => {
    const backendPods = async (name: string) => {
      const pods = await stage.list('Pod', `app.kubernetes.io/name=mcp-backend,app.kubernetes.io/instance=${name}`);
      return pods.map(({ metadata }) => metadata.uid);
    };
    const others = async () => (await Promise.all([podsOf('demo'), ...['whoami', 'plain'].map(backendPods)])).flat();
    await stage.apply(
      secret('sizes', { size: '300' }),
      backend('sized', {
        ...fake('tools', 'backend'),
        command: ['node', '--input-type=module', '-e', SIZED],
        secrets: [{ name: 'sizes', key: 'size', targetEnvName: 'SIZE' }],
      }),
    );
    const hasSized = ({ backends = [] }: Seen) =>
      backends.some(({ name, phase }) => name === 'sized' && phase === 'Ready');
    await stage.status('VirtualMCPServer', 'demo', hasSized, 90_000);
    const client = await stage.connect('demo');
    const size = async () => {
      const { answer } = await client.call('sized_tool_0', { text: 'x' });
      const [content] = (answer.result?.content ?? []) as { text?: string }[];
      return content?.text?.length;
    };
    await eventually(size, (length) => length === 300);
    const [before, kept] = [await backendPods('sized'), await others()];
    expect([before.length, kept.length]).toEqual([1, 3]);

    await stage.apply(secret('sizes', { size: '500' }));
    await eventually(size, (length) => length === 500, 90_000);
    const after = await eventually(
      () => backendPods('sized'),
      (pods) => pods.length === 1 && !before.includes(pods[0] ?? ''),
      90_000,
    );
    expect(after).toHaveLength(1);
    expect(await others()).toEqual(kept);
    await stage.remove('MCPServer', 'sized');
    await stage.ready('demo');
  }, 240_000);

  describe('of an embedded authorization server', () => {
    const KEYS = { name: 'keys', key: 'signing' };
    const endpointUrl = 'http://localhost:4483';
    beforeAll(async () => {
      await stage.apply(
        secret('keys', { signing: signingKey(), hmac: 'h'.repeat(32) }),
        secret('upstream', { secret: 'client-secret-one' }),
        server('login', 'tools', {
          incomingAuth: {
            type: 'oidc',
            resourceUrl: `${endpointUrl}/mcp`,
            oidcConfig: { type: 'inline', inline: { issuer: endpointUrl } },
          },
          authServerConfig: {
            issuer: endpointUrl,
            signingKeySecretRefs: [KEYS],
            hmacSecretRefs: [{ name: 'keys', key: 'hmac' }],
            upstreamProviders: [
              {
                name: 'company',
                type: 'oidc',
                oidcConfig: {
                  issuerUrl: 'https://idp.example',
                  clientId: 'vmcp',
                  clientSecretRef: { name: 'upstream', key: 'secret' },
                },
              },
            ],
          },
        }),
      );
      await stage.ready('login');
    }, 90_000);

    it('let the running pod publish a new signing key, without a failed request for its documents', async () => {
      const pods = await podsOf('login');
      const { url } = await stage.endpoint('login');
      const keys = () => send(new URL('/.well-known/jwks.json', url).href, 'GET', { host: 'localhost:4483' });
      const kidsOf = (text: string) => (JSON.parse(text) as { keys: { kid: string }[] }).keys.map(({ kid }) => kid);
      const before = kidsOf((await keys()).text);
      await stage.apply(secret('keys', { signing: signingKey(), hmac: 'h'.repeat(32) }));
      const statuses: number[] = [];
      const after = await eventually(
        async () => {
          const { status, text } = await keys();
          statuses.push(status);
          return kidsOf(text);
        },
        (kids) => !kids.some((kid) => before.includes(kid)),
        20_000,
      );
      expect(after).toHaveLength(before.length);
      expect(new Set(statuses)).toEqual(new Set([200]));
      expect(await podsOf('login')).toEqual(pods);
      await stage.ready('login');
    }, 60_000);

    it('bring a new client secret to the pod', async () => {
      await stage.apply(secret('upstream', { secret: 'client-secret-two' }));
      const two = Buffer.from('client-secret-two').toString('base64');
      const one = Buffer.from('client-secret-one').toString('base64');
      const values = await eventually(
        async () => Object.values((await stage.get('Secret', 'vmcp-login-credentials'))?.data ?? {}),
        (found) => found.includes(two) && !found.includes(one),
        20_000,
      );
      // The former value is deleted only after every pod has reported that it reads the new one.
      expect(values).not.toContain(one);
    }, 60_000);
  });
});
