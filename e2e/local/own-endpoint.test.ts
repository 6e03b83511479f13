import { createHmac } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { RunConfig } from '#crds/run-config/run-config';
import { codeOf } from '#lib/files/write-file';
import { isPortFree } from '#local/check-port';
import { fetchToken } from '../fakes/identity-provider/fetch-token.ts';
import { serveIdentityProvider, type IdentityProvider } from '../fakes/identity-provider/serve.ts';
import { GATEWAY_CLIENT } from '../fakes/identity-provider/users.ts';
import { serveCollector } from '../fakes/otlp/serve-collector.ts';
import { allow, deny, serveWebhook } from '../fakes/webhook/serve-webhook.ts';
import { shortHash } from '../fakes/whoami/describe-caller.ts';
import { findFreePort } from '../gateway/find-free-port.ts';
import { callTool, connect } from './call-tool.ts';
import { secret } from './manifests.ts';
import { eventually, makeWorkplace, ROOT, WHOAMI, type Workplace } from './run-vmcp.ts';

const API = 'apiVersion: vmcp.dev/v1alpha1';
const CLOCK = join(ROOT, 'e2e', 'local', 'testdata', 'clock.ts');

let place: Workplace;
let issuer: IdentityProvider;
let port: number;
let program: number;
let origin: string;
const endpoint = () => `${origin}/team-a/mcp`;

/** An MCPServer with its own authentication of clients and its own policies, in front of an HTTP program. */
const inside = (more = '') => `${API}
kind: MCPServer
metadata: {name: inside}
spec:
  command: [node, ${WHOAMI}, --port, '${program}']
  transport: streamable-http
  mcpPort: ${program}
  proxyPort: ${port}
  endpointPrefix: /team-a
  toolsOverride: {whoami: {name: who}}
  oidcConfig: {type: inline, inline: {issuer: '${issuer.issuer}', audience: inside, jwksAllowPrivateIP: true}}
  authzConfig: {type: inline, inline: {policies: ['permit(principal == Client::"alice", action, resource);']}}
  audit: {enabled: true, logFile: ${place.path}/audit.jsonl}
${more}`;

beforeAll(async () => {
  place = makeWorkplace();
  issuer = await serveIdentityProvider();
  [port, program] = [await findFreePort(), await findFreePort()];
  origin = `http://127.0.0.1:${port}`;
  place.manifest('inside.yaml', inside());
  const { code, stdout, stderr } = await place.run(['up', 'manifests', '--detach']);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toContain(`MCPServer/inside  Ready  ${endpoint()}`);
  // The status is read repeatedly, as `up` waits only some seconds for the count of tools.
  const status = async () => (await place.run(['status'])).stdout;
  await eventually(status, (shown) => shown.includes(`MCPServer/inside  Ready  ${endpoint()}  1 tools`));
});
afterAll(async () => {
  await place.close();
  await issuer.close();
});

const tokenOf = (user: string) => fetchToken(issuer.issuer, user, 'inside');

describe('a single MCPServer on one machine', () => {
  it('serves its program under its own tool names to the users that its policies admit', async () => {
    const client = await connect(endpoint(), await tokenOf('alice'));
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['who']);
    await client.close();
    expect(await callTool(endpoint(), 'who', await tokenOf('alice'))).toMatchObject({ tokenHash: null });
  });

  it('hides its tools from other users, and asks for a token at the path of its prefix', async () => {
    const client = await connect(endpoint(), await tokenOf('bob'));
    expect((await client.listTools()).tools).toEqual([]);
    await client.close();
    const { status, headers } = await fetch(endpoint(), { method: 'POST' });
    const metadata = `${origin}/.well-known/oauth-protected-resource/team-a/mcp`;
    expect([status, headers.get('www-authenticate')]).toEqual([401, expect.stringContaining(metadata)]);
    expect(await (await fetch(metadata)).json()).toMatchObject({ authorization_servers: [issuer.issuer] });
  });

  it('writes its own audit log, and appears under its own name', async () => {
    await eventually(
      () => (existsSync(join(place.path, 'audit.jsonl')) ? place.read('audit.jsonl') : ''),
      (lines) => lines.includes('mcp_tool_call'),
    );
    const { stdout } = await place.run(['audit', '--tool', 'who', '--user', 'alice', '-o', 'json']);
    expect(JSON.parse(stdout)).toMatchObject({ outcome: 'success', target: { name: 'who', backend: 'inside' } });
    const status = JSON.parse((await place.run(['status', 'MCPServer/inside', '-o', 'json'])).stdout) as object;
    expect(status).toMatchObject({
      kind: 'MCPServer',
      name: 'inside',
      endpoint: endpoint(),
      phase: 'Ready',
      backends: [{ name: 'inside', phase: 'Ready', tools: 1 }],
    });
  });

  it('sends its traces to its own collector, and serves metrics if configured', async () => {
    const collector = await serveCollector();
    try {
      const telemetry = `tracingEnabled: true, endpoint: '${collector.url}', insecure: true, samplingRate: '1'`;
      const more = (metrics: boolean) =>
        inside(`  telemetry: {${telemetry}, serviceName: own, enablePrometheusMetricsPath: ${metrics}}\n`);
      place.manifest('inside.yaml', more(true));
      const spans = async () => {
        await callTool(endpoint(), 'who', await tokenOf('alice'));
        return collector.spans.filter(({ name }) => name === 'tools/call who');
      };
      const [span] = await eventually(spans, ({ length }) => length > 0);
      expect([span?.resource['service.name'], span?.attributes['vmcp.backend']]).toEqual(['own', 'inside']);
      const folder = join(place.path, '.vmcp');
      const file = readdirSync(folder, { recursive: true }).find((name) =>
        /inside.*run-config.yaml$/.test(String(name)),
      );
      const { listen } = RunConfig.parse(parse(readFileSync(join(folder, String(file)), 'utf8')));
      const metrics = async () => {
        const answer = await fetch(`http://127.0.0.1:${listen.private_port}/metrics`);
        return [answer.status, /^vmcp_requests_total\{method="tools\/call",.*\} [1-9]/m.test(await answer.text())];
      };
      expect(await metrics()).toEqual([200, true]);
      place.manifest('inside.yaml', more(false));
      await eventually(metrics, ([status]) => status === 404);
    } finally {
      place.manifest('inside.yaml', inside());
      await collector.close();
    }
  });

  it('sends the configured token and headers if it is remote, and no other endpoint does', async () => {
    const own = await findFreePort();
    place.manifest(
      'far.yaml',
      `${API}
kind: MCPServer
metadata: {name: far}
spec:
  remoteUrl: http://127.0.0.1:${program}/mcp
  proxyPort: ${own}
  remoteAuth: {bearerTokenSecretRef: {name: far, key: token}}
  headerForward:
    addPlaintextHeaders: {X-Plain: open}
    addHeadersFromSecret: {X-Key: {name: far, key: header}}
---
apiVersion: v1
kind: Secret
metadata: {name: far}
stringData: {token: the-token, header: the-header}
`,
    );
    const far = () => callTool(`http://127.0.0.1:${own}/mcp`, 'whoami').catch(() => undefined);
    expect(await eventually(far, (caller) => caller !== undefined)).toMatchObject({
      tokenHash: shortHash('the-token'),
      headerHashes: { 'x-plain': shortHash('open'), 'x-key': shortHash('the-header') },
    });
    expect(await callTool(endpoint(), 'who', await tokenOf('alice'))).toMatchObject({
      tokenHash: null,
      headerHashes: {},
    });
    place.manifest('far.yaml', undefined);
    await place.statusThat(({ processes }) => !processes.some(({ name }) => name.includes('far')));
  });

  it('exchanges each caller’s token for one of its program, and sends no other after a refusal', async () => {
    const exchange = (key: string) =>
      secret('exchange', key) +
      `---
${API}
kind: MCPExternalAuthConfig
metadata: {name: exchange}
spec:
  type: tokenExchange
  tokenExchange:
    tokenUrl: ${issuer.tokenUrl}
    clientId: ${GATEWAY_CLIENT.id}
    clientSecretRef: {name: exchange, key: value}
    audience: program
    scopes: [mcp]
  allowedServers: [inside]
`;
    place.manifest('exchange.yaml', exchange(GATEWAY_CLIENT.secret));
    place.manifest('inside.yaml', inside('  externalAuthConfigRef: {name: exchange}\n'));
    const sent = await tokenOf('alice');
    const call = () => callTool(endpoint(), 'who', sent).catch((problem: unknown) => ({ problem: String(problem) }));
    const seen = await eventually(call, (caller) => 'audience' in caller && caller.tokenHash !== null);
    expect(seen).toMatchObject({ subject: 'alice', issuer: issuer.issuer, audience: ['program'], scopes: ['mcp'] });
    expect(seen).not.toMatchObject({ tokenHash: shortHash(sent) });
    await expect(callTool(endpoint(), 'who', await tokenOf('bob'))).rejects.toThrow();
    place.manifest('exchange.yaml', exchange('another-secret'));
    // Exchanged tokens stay valid until they expire, so this needs a new token of the caller.
    const fresh = async () => callTool(endpoint(), 'who', await tokenOf('alice')).then(() => '', String);
    const refusal = await eventually(fresh, (said) => said !== '');
    expect(refusal).not.toContain('another-secret');
    place.manifest('inside.yaml', inside());
    place.manifest('exchange.yaml', undefined);
    await eventually(call, (caller) => 'tokenHash' in caller && caller.tokenHash === null);
  });

  it('asks its webhooks, with signed requests, and refuses the calls that they refuse', async () => {
    const hook = await serveWebhook(deny);
    const key = 'what-both-know';
    try {
      place.manifest('sign.yaml', secret('sign', key));
      const validating = `[{name: dlp, url: '${hook.url}', timeout: 10s, hmacSecretRef: {name: sign, key: value}}]`;
      place.manifest('inside.yaml', inside(`  webhooks: {validating: ${validating}}\n`));
      const call = async () => callTool(endpoint(), 'who', await tokenOf('alice')).then(() => 'passed', String);
      const refused = await eventually(call, (said) => said !== 'passed');
      expect(refused).toContain('Denied by webhook dlp: Cards do not leave the house');
      const [asked] = hook.asked;
      expect(asked?.question).toMatchObject({
        principal: { subject: 'alice' },
        workload: 'inside',
        request: { method: 'tools/call', tool: 'who', original_name: 'whoami' },
      });
      const signed = `${String(asked?.headers['x-vmcp-timestamp'])}.${asked?.text ?? ''}`;
      const digest = createHmac('sha256', key).update(signed).digest('hex');
      expect(asked?.headers['x-vmcp-signature']).toBe(`sha256=${digest}`);
      hook.decide = allow;
      expect(await call()).toBe('passed');
      // A missing webhook refuses, too.
      await hook.close();
      expect(await call()).toContain('dlp');
    } finally {
      place.manifest('inside.yaml', inside());
      place.manifest('sign.yaml', undefined);
      await hook.close();
    }
    await eventually(
      async () => callTool(endpoint(), 'who', await tokenOf('alice')).then(() => 'passed', String),
      (said) => said === 'passed',
    );
  });

  it('limits the calls of each user once configured, with a message that clients show', async () => {
    place.manifest('inside.yaml', inside('  rateLimiting: {rules: [{requests: 1, per: 1h, scope: user}]}\n'));
    const call = async () => callTool(endpoint(), 'who', await tokenOf('alice')).then(() => 'passed', String);
    await eventually(call, (seen) => /Too many requests: try again in \d+ s/.test(seen));
    place.manifest('inside.yaml', inside());
    await eventually(call, (seen) => seen === 'passed');
  });

  it('changes without a restart', async () => {
    const before = (await place.status()).processes;
    place.manifest('inside.yaml', inside('  toolsFilter: [nothing]\n'));
    const names = async () => {
      const client = await connect(endpoint(), await tokenOf('alice'));
      const { tools } = await client.listTools();
      await client.close();
      return tools.length;
    };
    await eventually(names, (count) => count === 0);
    const pids = (processes: typeof before) => processes.map(({ name, identity }) => `${name} ${identity?.pid ?? ''}`);
    expect(pids((await place.status()).processes).sort()).toEqual(pids(before).sort());
  });

  it('reports a missing program', async () => {
    place.manifest('inside.yaml', inside().replace(`'${program}'`, "'1'"));
    const { backends } = await place.statusThat(({ phase }) => phase === 'Degraded');
    expect(backends).toMatchObject([{ name: 'inside', phase: 'Unavailable' }]);
    place.manifest('inside.yaml', inside());
    await place.statusThat(({ phase }) => phase === 'Ready');
  });

  it('ends when it is stopped, and returns when it is not', async () => {
    place.manifest('inside.yaml', inside('  suspend: true\n'));
    for (const each of [port, program]) {
      await eventually(
        () => isPortFree('127.0.0.1', each),
        (free) => free,
      );
    }
    const { code } = await eventually(
      () => place.run(['status']),
      ({ stdout }) => stdout.includes('Suspended'),
    );
    expect(code).toBe(0);
    place.manifest('inside.yaml', inside());
    await place.statusThat(({ phase }) => phase === 'Ready');
  });

  it('keeps serving after an edit that cannot be served, and names its own fields', async () => {
    place.manifest('inside.yaml', inside().replace('oidcConfig: {type: inline', 'oidcConfig: {type: configMap'));
    const { conditions } = await place.statusThat(({ phase }) => phase === 'Degraded');
    expect(conditions.find(({ type }) => type === 'Stalled')?.message).toContain('oidcConfig');
    expect(await callTool(endpoint(), 'who', await tokenOf('alice'))).toMatchObject({ tokenHash: null });
    place.manifest('inside.yaml', inside());
    await place.statusThat(({ phase }) => phase === 'Ready');
  });

  it('restarts with its program on request', async () => {
    const started = async () => {
      try {
        return (await callTool(endpoint(), 'started', await tokenOf('alice'))).at;
      } catch {
        // The endpoint is between two processes.
        return undefined;
      }
    };
    const clock = (at: string) =>
      inside()
        .replace('metadata: {name: inside}', `metadata: {name: inside, annotations: {vmcp.dev/restarted-at: '${at}'}}`)
        .replace(/command: .*\n.*\n.*\n/, `command: [node, ${CLOCK}]\n`);
    place.manifest('inside.yaml', clock('2026-01-01T00:00:00Z'));
    const first = await eventually(started, (at) => at !== undefined);
    place.manifest('inside.yaml', clock('2026-01-01T00:00:01Z'));
    expect(await eventually(started, (at) => at !== undefined && at !== first)).toEqual(expect.any(Number));
  });

  it('leaves nothing when it is deleted', async () => {
    place.manifest('inside.yaml', undefined);
    await eventually(
      () => isPortFree('127.0.0.1', port),
      (free) => free,
    );
    const left = () => {
      try {
        return readdirSync(join(place.path, '.vmcp'), { recursive: true }).map(String);
      } catch (problem) {
        // A folder was deleted during the walk.
        if (codeOf(problem) === 'ENOENT') return undefined;
        throw problem;
      }
    };
    const isLeft = (file: string) => /inside.*(run-config|sealing|status-token)/.test(file);
    await eventually(left, (files) => files !== undefined && !files.some(isLeft));
  });
});
