import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { servePlain } from '../fakes/backend/serve-plain.ts';
import { serveSts, type FakeSts } from '../fakes/aws/serve-sts.ts';
import { whyNotSigned } from '../fakes/aws/verify-signature.ts';
import { SessionClient } from '../gateway/session-client.ts';
import { closeAll, closing } from '../relay/gateway-to.ts';
import { arrange } from './arrangement.ts';
import { toolNames } from './call-tool.ts';
import { claimsOf } from './oauth-client.ts';
import type { ProviderSpec } from './providers.ts';

const OKTA: ProviderSpec = { name: 'okta', kind: 'odd', options: { oidc: true, refresh: 'rotates' } };
const ROLE = 'arn:aws:iam::123456789012:role/reader';

let sts: FakeSts;
beforeEach(async () => {
  sts = closing(await serveSts());
  process.env.AWS_ENDPOINT_URL_STS = sts.url;
});
afterEach(async () => {
  delete process.env.AWS_ENDPOINT_URL_STS;
  await closeAll();
});

/** Starts a backend that requires signatures like an AWS service: unsigned requests get 403. */
async function start() {
  const problems: string[] = [];
  const backend = closing(
    await servePlain({
      tools: 2,
      intercept: (request, response, body) => {
        const reasons = [...sts.issued.values()].map((credentials) => whyNotSigned(request, body, credentials));
        if (reasons.includes(undefined)) return false;
        if (request.headers.authorization !== undefined) problems.push(reasons.join());
        response.writeHead(403, { 'content-type': 'application/json' }).end('{"message":"Forbidden"}');
        return true;
      },
    }),
  );
  const auth = { type: 'aws_sts', region: 'eu-west-1', service: 'execute-api', fallback_role_arn: ROLE } as const;
  const url = `${backend.url}?stage=a%20b&x=1`;
  const backends = [{ name: 'cloud', transport: 'streamable-http' as const, url, auth }];
  const setup = closing(await arrange({ providers: [OKTA], backends }));
  return { setup, backend, problems };
}

describe('a backend with AWS signatures', () => {
  it('gets each request signed, with a role assumed by the caller’s own token', async () => {
    const { setup, problems } = await start();
    const { access_token: token } = await (await setup.client()).login({ user: 'alice' });
    const session = await SessionClient.open(setup.resource, { authorization: `Bearer ${token}` });
    expect((await session.toolNames()).sort()).toEqual(['cloud_tool_0', 'cloud_tool_1', 'okta_whoami']);
    const { answer } = await session.call('cloud_tool_1', { text: 'Ångström — 日本', count: 100_000 });
    expect(answer.result).toMatchObject({ content: expect.anything() });
    expect(problems).toEqual([]);
    expect(sts.asked).toHaveLength(1);
    expect(Object.fromEntries(sts.asked[0]!)).toMatchObject({
      Action: 'AssumeRoleWithWebIdentity',
      RoleArn: ROLE,
      RoleSessionName: claimsOf(token).sub,
      WebIdentityToken: token,
    });
  });

  it('gets unsigned probes, and its 403 counts as a healthy answer', async () => {
    const { setup } = await start();
    expect(setup.gateway.runtime.gateway.services.backends.get('cloud')?.health).toMatchObject({
      phase: 'ready',
      tools: null,
    });
    expect(sts.asked).toHaveLength(0);
  });

  it('sees a separate session name for each caller', async () => {
    const { setup } = await start();
    const client = await setup.client();
    for (const user of ['alice', 'bob']) {
      const { access_token: token } = await client.login({ user });
      expect(await toolNames(setup.resource, token)).toContain('cloud_tool_0');
    }
    expect(new Set(sts.asked.map((form) => form.get('RoleSessionName'))).size).toBe(2);
  });
});
