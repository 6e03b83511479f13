import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { closeAll, closing } from '../relay/gateway-to.ts';
import { Robot } from '../robot/robot.ts';
import { arrange, type ArrangementOptions } from './arrangement.ts';
import { callWhoami } from './call-tool.ts';
import { claimsOf, tokensOf } from './oauth-client.ts';
import type { ProviderSpec } from './providers.ts';
import { setWallClock } from './wall-clock.ts';

const OKTA: ProviderSpec = { name: 'okta', kind: 'odd', options: { oidc: true, refresh: 'rotates', expiresIn: 3_600 } };
const HOUR = 3_600_000;

afterEach(async () => {
  jest.restoreAllMocks();
  await closeAll();
});

const start = async (options: ArrangementOptions) => closing(await arrange(options));

describe('a refresh long after the last answer of the primary provider', () => {
  it("asks the provider again, and updates the user's data", async () => {
    const time = setWallClock();
    const options = { oidc: true, refresh: 'rotates', expiresIn: 3_600, claims: { title: 'clerk' } } as const;
    const claims: Record<string, unknown> = options.claims;
    const setup = await start({ providers: [{ ...OKTA, options: { ...options, claims } }] });
    const client = await setup.client();
    let tokens = await client.login({ user: 'alice' });
    tokens = tokensOf(await client.refresh(tokens.refresh_token));
    const asked = () => setup.providers.okta?.odd?.of('/userinfo').length ?? 0;
    const before = asked();
    claims.name = 'Alice Newname';
    time.forward(1.1 * HOUR);
    tokens = tokensOf(await client.refresh(tokens.refresh_token));
    expect(asked()).toBeGreaterThan(before);
    expect(claimsOf(tokens.access_token).name).toBe('Alice Newname');
  });

  it('asks a real provider by a refresh if its access token does not give access to user-info', async () => {
    const time = setWallClock();
    const setup = await start({ providers: [{ name: 'okta', kind: 'real' }] });
    const client = await setup.client();
    const tokens = await client.login({ user: 'alice' });
    time.forward(1.1 * HOUR);
    const { status } = await client.refresh(tokens.refresh_token);
    expect(status).toBe(200);
  });

  it('ends the session and the browser login with invalid_grant if the provider answers invalid_grant', async () => {
    const time = setWallClock();
    const setup = await start({ providers: [OKTA] });
    const [client, robot] = [await setup.client(), new Robot()];
    const tokens = await client.login({ user: 'alice' }, { robot });
    setup.providers.okta?.odd?.revoke('alice');
    time.forward(1.1 * HOUR);
    const refused = await client.refresh(tokens.refresh_token);
    expect({ status: refused.status, error: refused.body.error }).toEqual({ status: 400, error: 'invalid_grant' });
    expect((await callWhoami(setup.resource, tokens.access_token, 'okta')).status).toBe(401);
    const page = await robot.open(client.begin().url);
    expect(page.text).not.toContain('alice N.');
  });

  it('succeeds without the provider until 24 h after its last answer; then it gets 503, and no user is logged out', async () => {
    const time = setWallClock();
    const setup = await start({ providers: [OKTA] });
    const client = await setup.client();
    let tokens = await client.login({ user: 'alice' });
    const { odd } = setup.providers.okta!;
    odd?.setFault('token', 'fail');
    time.forward(2 * HOUR);
    tokens = tokensOf(await client.refresh(tokens.refresh_token));
    time.forward(20 * HOUR);
    tokens = tokensOf(await client.refresh(tokens.refresh_token));
    time.forward(3 * HOUR);
    const late = await client.refresh(tokens.refresh_token);
    expect({ status: late.status, error: late.body.error }).toEqual({ status: 503, error: 'temporarily_unavailable' });
    expect(late.headers.get('retry-after')).toMatch(/^\d+$/);
    odd?.setFault('token', undefined);
    expect((await client.refresh(tokens.refresh_token)).status).toBe(200);
  });

  it('does not wait long for a hanging provider', async () => {
    const time = setWallClock();
    const setup = await start({ providers: [OKTA] });
    const client = await setup.client();
    const tokens = await client.login({ user: 'alice' });
    setup.providers.okta?.odd?.setFault('token', 'hang');
    time.forward(1.1 * HOUR);
    const started = performance.now();
    expect((await client.refresh(tokens.refresh_token)).status).toBe(200);
    expect(performance.now() - started).toBeLessThan(8_000);
  });
});

describe('a browser login', () => {
  it('ends after 12 hours: the primary provider is asked again', async () => {
    const time = setWallClock();
    const setup = await start({ providers: [OKTA, { name: 'github', kind: 'odd', options: { refresh: 'none' } }] });
    const [client, robot] = [await setup.client(), new Robot()];
    await client.login({ user: 'alice' }, { robot });
    const visits = () => ['okta', 'github'].map((name) => setup.providers[name]?.odd?.of('/authorize').length);
    const before = visits();
    time.forward(11.9 * HOUR);
    await client.login({ user: 'alice' }, { robot });
    expect(visits()).toEqual(before);
    time.forward(0.2 * HOUR);
    await client.login({ user: 'alice' }, { robot });
    expect(visits()[0]).toBeGreaterThan(before[0] ?? 0);
    expect(visits()[1]).toBe(before[1]);
  });
});

describe('a login', () => {
  it('ends if it is not refreshed for its lifespan', async () => {
    const time = setWallClock();
    const setup = await start({ providers: [OKTA] });
    const client = await setup.client();
    const tokens = await client.login({ user: 'alice' });
    time.forward(168 * HOUR + 1_000);
    const refused = await client.refresh(tokens.refresh_token);
    expect({ status: refused.status, error: refused.body.error }).toEqual({ status: 400, error: 'invalid_grant' });
  });

  it('extends with use, and ends after 30 days in any case', async () => {
    const time = setWallClock();
    const setup = await start({ providers: [OKTA] });
    const client = await setup.client();
    let tokens = await client.login({ user: 'alice' });
    for (let day = 6; day < 30; day += 6) {
      time.forward(6 * 24 * HOUR);
      tokens = tokensOf(await client.refresh(tokens.refresh_token));
    }
    time.forward(6 * 24 * HOUR);
    expect((await client.refresh(tokens.refresh_token)).status).toBe(400);
  });
});
