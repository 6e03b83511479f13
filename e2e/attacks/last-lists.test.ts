import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { arrange, type ArrangementOptions } from '../authserver/arrangement.ts';
import type { ProviderSpec } from '../authserver/providers.ts';
import { sendModern, SessionClient } from '../gateway/session-client.ts';
import type { ServedGateway } from '../gateway/serve-gateway.ts';
import { until } from '../gateway/until.ts';
import { closeAll, closing, gatewayTo } from '../relay/gateway-to.ts';
import type { Page } from '../robot/page.ts';
import { Robot } from '../robot/robot.ts';
import { startSdkServer, type SdkServer } from '../sdk-servers/start-sdk-server.ts';

/** With these limits, a list waits for a hanging backend only as long as the last list is valid. */
const PATIENT = {
  limits: { list_deadline: '1h', connect_timeout: '1h' },
  operational: { timeouts: { default: '1h' } },
};
const OKTA: ProviderSpec = { name: 'okta', kind: 'odd', options: { oidc: true, refresh: 'rotates', expiresIn: 3_600 } };
const GITHUB: ProviderSpec = { name: 'github', kind: 'odd', options: { refresh: 'none' }, required: false };

const stopped = new Set<SdkServer>();

afterEach(async () => {
  for (const server of stopped) process.kill(server.pid, 'SIGCONT');
  stopped.clear();
  await closeAll();
});

async function start(): Promise<SdkServer> {
  const server = await startSdkServer('new');
  closing({
    close: () => {
      if (stopped.delete(server)) process.kill(server.pid, 'SIGCONT');
      return server.stop();
    },
  });
  return server;
}

/** Stops the server's process: the kernel still accepts connections, but the server does not answer. */
function hang(server: SdkServer): void {
  process.kill(server.pid, 'SIGSTOP');
  stopped.add(server);
}

/** Expires the backend's list as a list-changed notification does. */
function expire({ runtime }: ServedGateway, backend: string): void {
  runtime.gateway.services.listChangedNotifier.listChanged(backend, ['tools']);
}

const REVISIONS = {
  '2025-11-25': async (url: string, headers = {}) => (await SessionClient.open(url, headers)).toolNames(),
  '2026-07-28': async (url: string, headers = {}) => {
    const { answer } = await sendModern(url, 'tools/list', {}, headers);
    return ((answer.result?.tools ?? []) as { name: string }[]).map(({ name }) => name);
  },
};
const ERAS = Object.keys(REVISIONS) as (keyof typeof REVISIONS)[];

describe.each(ERAS)('the last list of a hanging backend, for a client of %s', (era) => {
  const list = REVISIONS[era];

  it('disappears when the file with its credential changes', async () => {
    const [good, bad] = [await start(), await start()];
    const header_forward = { add_header_files: { 'x-key': 'key' } };
    const backends = { good: good.url, bad: { url: bad.url, header_forward } };
    const gateway = await gatewayTo(backends, PATIENT, { files: { key: 'one', other: 'one' } });
    expect(await list(gateway.url)).toContain('bad_echo');
    hang(bad);
    expire(gateway, 'bad');
    expect(await list(gateway.url)).toContain('bad_echo');
    await writeFile(join(gateway.folder, 'key'), 'two');
    await until('the changed file', () => gateway.log().includes('files changed'));
    const names = await list(gateway.url);
    expect(names).toContain('good_echo');
    expect(names).not.toContain('bad_echo');
  });

  it('appears for its user only, and disappears when that user unlinks the provider', async () => {
    const own = await start();
    const setup = await arrangeBefore(own);
    const { gateway } = setup;
    const [alice, bob, carol] = [await setup.user('alice'), await setup.user('bob'), await setup.user('carol')];
    for (const { bearer } of [alice, bob]) expect(await list(setup.resource, bearer)).toContain('own_echo');
    hang(own);
    expire(gateway, 'own');
    for (const { bearer } of [alice, bob]) expect(await list(setup.resource, bearer)).toContain('own_echo');
    expect(await list(setup.resource, carol.bearer)).not.toContain('own_echo');
    await unlink(setup.origin, alice.robot);
    const after = await list(setup.resource, alice.bearer);
    expect(after).toContain('connect_github');
    expect(after).not.toContain('own_echo');
    expect(await list(setup.resource, bob.bearer)).toContain('own_echo');
  });
});

/** Arranges users in front of a backend that takes the user's own GitHub token. */
async function arrangeBefore({ url }: SdkServer) {
  const options: ArrangementOptions = {
    providers: [OKTA, GITHUB],
    config: PATIENT,
    backends: [
      { name: 'own', transport: 'streamable-http', url, auth: { type: 'upstream_inject', provider_name: 'github' } },
    ],
  };
  const setup = closing(await arrange(options));
  const client = await setup.client();
  return {
    ...setup,
    user: async (user: string) => {
      const robot = new Robot();
      const { access_token: token } = await client.login({ user }, { robot });
      return { robot, bearer: { authorization: `Bearer ${token}` } };
    },
  };
}

/** Unlinks GitHub at the connections page, which asks for confirmation. */
async function unlink(origin: string, robot: Robot): Promise<void> {
  const has = (value: string) => (form: Page['forms'][number]) => form.fields.some((field) => field.value === value);
  const page = await robot.open(`${origin}/connections`);
  const form = page.forms.find((one) => has('unlink')(one) && has('github')(one));
  if (form === undefined) throw new Error(`no way to unlink: ${page.text}`);
  await robot.submit(await robot.submit(page, { form }));
}
