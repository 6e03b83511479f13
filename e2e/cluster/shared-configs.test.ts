import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { shortHash } from '../fakes/whoami/describe-caller.ts';
import { followTools } from '../gateway/follow-tools.ts';
import { type OpenStream, send, type SessionClient } from '../gateway/session-client.ts';
import { eventually } from '../local/run-vmcp.ts';
import { tokenOf } from './accounts.ts';
import type { Written } from './send-manifests.ts';
import { backend, condition, fake, group, secret, type Seen, server } from './stage.ts';
import { describeWithCluster } from './use-cluster.ts';
import { useStage } from './use-stage.ts';

const shared = (kind: string, name: string, spec: object): Written => ({
  apiVersion: 'vmcp.dev/v1alpha1',
  kind,
  metadata: { name },
  spec,
});
const keyAs = (headerName: string) =>
  shared('MCPExternalAuthConfig', 'key', {
    type: 'headerInjection',
    headerInjection: { headerName, valueSecretRef: { name: 'api', key: 'key' } },
  });
const key = keyAs('X-Key');
const issuer = shared('MCPOIDCConfig', 'issuer', { type: 'inline', inline: { issuer: 'https://login.example' } });
const oidcConfigRef = { name: 'issuer', audience: 'tools' };
/** Returns an MCPOIDCConfig for the tokens that the cluster issues to its service accounts. */
const accounts = (serviceAccount?: string) =>
  shared('MCPOIDCConfig', 'accounts', {
    type: 'kubernetesServiceAccount',
    kubernetesServiceAccount: { ...(serviceAccount !== undefined && { serviceAccount }) },
  });
const EVERYBODY = 'permit(principal, action, resource);';
/** Returns a ConfigMap of policies that several servers can share. */
const rules = (...policies: string[]): Written & { data: object } => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'rules' },
  data: { 'authz.json': JSON.stringify({ policies: [EVERYBODY, ...policies] }) },
});
/** A remote backend. proxyPort or oidcConfigRef add an endpoint of its own, whose pods the tests do not need. */
const remote = { remoteUrl: 'https://mcp.example/mcp', replicas: 0 };

describeWithCluster('a shared configuration', (cluster) => {
  const stage = useStage(cluster, 'shared');
  const resourceUrl = 'https://gateway.example/mcp';
  /** Returns the pods of a server, and the restart counts of their containers. */
  const runtimePods = async (name: string) => {
    const pods = await stage.list('Pod', `app.kubernetes.io/name=vmcp-runtime,app.kubernetes.io/instance=${name}`);
    return pods.map(({ metadata, status }) => {
      const { containerStatuses = [] } = status as { containerStatuses?: { restartCount: number }[] };
      return [metadata.uid, ...containerStatuses.map(({ restartCount }) => restartCount)];
    });
  };

  beforeAll(async () => {
    await stage.apply(
      secret('api', { key: 'value' }),
      key,
      issuer,
      accounts('default'),
      rules(),
      group('tools'),
      backend('plain', fake('tools', 'backend', ['--name', 'plain', '--tools', '1'])),
      backend('keyed', { ...fake('tools', 'whoami'), externalAuthConfigRef: { name: 'key' } }),
      backend('alone', { ...remote, proxyPort: 9000, externalAuthConfigRef: { name: 'key' } }),
      backend('guarded', { ...remote, oidcConfigRef }),
      server('demo', 'tools', { incomingAuth: { type: 'oidc', resourceUrl, oidcConfigRef } }),
      server('edited', 'tools', {
        incomingAuth: {
          type: 'oidc',
          oidcConfigRef: { name: 'accounts', audience: 'tools' },
          authzConfig: { type: 'configMap', configMap: { name: 'rules' } },
        },
      }),
    );
    await stage.ready('demo', 90_000);
    await stage.ready('edited', 90_000);
  }, 180_000);

  describe('that is edited while a client has a session in a running pod', () => {
    let client: SessionClient;
    let stream: OpenStream;
    let pods: unknown[];
    const bearer = async (name: string) =>
      `Bearer ${await tokenOf(cluster, { namespace: stage.namespace.name, name }, 'tools')}`;
    const LIMIT = 30_000;

    beforeAll(async () => {
      await stage.apply({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'late' } });
      pods = await runtimePods('edited');
      client = await stage.connect('edited', { authorization: await bearer('default') });
      stream = await client.stream();
    }, 60_000);
    afterAll(() => stream.close());

    /** Verifies that the first session is still open in the same process. */
    const isSame = async () => {
      expect([(await client.request('ping')).status, stream.isOpen()]).toEqual([200, true]);
      expect(pods).toEqual([[expect.any(String), 0]]);
      expect(await runtimePods('edited')).toEqual(pods);
    };

    it('admits the new callers and refuses the former ones, with MCPOIDCConfig', async () => {
      const authorization = await bearer('late');
      const comes = () =>
        stage.connect('edited', { authorization }).then(
          () => 'served',
          (error: unknown) => String(error),
        );
      expect(await comes()).toContain('initialize: 401');
      await stage.apply(accounts());
      await eventually(comes, (how) => how === 'served', LIMIT);
      await isSame();
      const late = await (await stage.connect('edited', { authorization })).stream();
      await stage.apply(accounts('default'));
      await eventually(comes, (how) => how.includes('initialize: 401'), LIMIT);
      // The former caller gets no more messages on its open streams either.
      await eventually(
        () => late.isOpen(),
        (isOpen) => !isOpen,
        LIMIT,
      );
      await isSame();
    }, 90_000);

    it('adds the new credential to calls, with MCPExternalAuthConfig', async () => {
      const hashes = async () => {
        const { answer } = await client.call('keyed_whoami', {});
        return (answer.result?.structuredContent as { headerHashes: object } | undefined)?.headerHashes;
      };
      const hash = shortHash('value');
      expect(await hashes()).toMatchObject({ 'x-key': hash });
      await stage.apply(keyAs('X-Other-Key'));
      const now = await eventually(hashes, (seen) => seen !== undefined && 'x-other-key' in seen, LIMIT);
      expect(now).toMatchObject({ 'x-other-key': hash });
      expect(now).not.toHaveProperty('x-key');
      await stage.apply(key);
      await eventually(hashes, (seen) => seen !== undefined && 'x-key' in seen, LIMIT);
      await isSame();
    }, 90_000);

    it('decides the next call by new policies in a ConfigMap, returns their reason, and notifies clients of hidden tools', async () => {
      const say = (text: string) => client.call('plain_tool_0', { text });
      const knows = await followTools(stream, () => client.toolNames(), LIMIT);
      await knows('keyed_whoami', 'plain_tool_0');
      expect((await say('aloud')).answer.result).toBeDefined();
      await stage.apply(
        rules(
          'forbid(principal, action == Action::"call_tool", resource == Tool::"keyed_whoami");',
          `@id("nothing-aloud") @advice("Write it down.")
           forbid(principal, action == Action::"call_tool", resource == Tool::"plain_tool_0")
           when { context has arg_text && context.arg_text == "aloud" };`,
        ),
      );
      await knows('plain_tool_0');
      expect((await say('aloud')).answer.error).toMatchObject({
        code: 403,
        message: 'Denied by policy nothing-aloud: Write it down.',
        data: { policy: { id: 'nothing-aloud', advice: 'Write it down.' } },
      });
      expect((await client.call('keyed_whoami', {})).answer.error?.code).toBe(-32602);
      expect((await say('quietly')).answer.result).toBeDefined();

      await stage.apply(rules());
      await knows('keyed_whoami', 'plain_tool_0');
      expect((await say('aloud')).answer.result).toBeDefined();
      await isSame();
    }, 90_000);
  });

  describe('that is deleted while it is in use', () => {
    const reasonOf = (type: string) => (seen: Seen) => condition(seen, type)?.reason;
    const says = (kind: string, name: string, type: string, reason: string) =>
      stage.status(kind, name, (seen) => reasonOf(type)(seen) === reason);
    const messageOf = async (kind: string, name: string, type: string, reason: string) =>
      condition(await says(kind, name, type, reason), type)?.message;
    const saysNoMore = (kind: string, name: string, type: string, reason: string) =>
      stage.status(kind, name, (seen) => reasonOf(type)(seen) !== reason);

    it('appears as missing in each MCPServer and VirtualMCPServer with its credentials, until it exists again', async () => {
      const missing = 'MCPExternalAuthConfig "key"';
      await stage.remove('MCPExternalAuthConfig', 'key');
      for (const [kind, name, type] of [
        ['VirtualMCPServer', 'demo', 'BackendsResolved'],
        ['MCPServer', 'keyed', 'NoCredentials'],
        ['MCPServer', 'alone', 'Ready'],
      ] as const)
        expect([name, await messageOf(kind, name, type, 'AuthConfigNotFound')]).toEqual([
          name,
          expect.stringContaining(missing),
        ]);
      const demo = (await stage.get('VirtualMCPServer', 'demo'))?.status;
      expect(demo?.backends?.find(({ name }) => name === 'keyed')?.phase).toBe('Excluded');
      expect((await stage.get('MCPServer', 'plain'))?.status?.conditions?.map(({ type }) => type)).toEqual(['Ready']);

      await stage.apply(key);
      await stage.ready('demo');
      await saysNoMore('MCPServer', 'keyed', 'NoCredentials', 'AuthConfigNotFound');
      await saysNoMore('MCPServer', 'alone', 'Ready', 'AuthConfigNotFound');
    }, 120_000);

    it('appears as missing in each MCPServer and VirtualMCPServer with its callers, which serve as before', async () => {
      const pods = await runtimePods('demo');
      const place = await stage.endpoint('demo');
      await stage.remove('MCPOIDCConfig', 'issuer');
      for (const [kind, name] of [
        ['VirtualMCPServer', 'demo'],
        ['MCPServer', 'guarded'],
      ] as const)
        expect([name, await messageOf(kind, name, 'Ready', 'OidcConfigNotFound')]).toEqual([
          name,
          expect.stringContaining('MCPOIDCConfig "issuer", which does not exist: create it'),
        ]);
      expect((await stage.get('VirtualMCPServer', 'demo'))?.status?.phase).toBe('Degraded');
      // A caller without a token is still refused.
      expect((await send(place.url, 'POST', place.headers, '{}')).status).toBe(401);

      await stage.apply(issuer);
      await stage.ready('demo');
      await saysNoMore('MCPServer', 'guarded', 'Ready', 'OidcConfigNotFound');
      expect(await runtimePods('demo')).toEqual(pods);
    }, 120_000);
  });
});
