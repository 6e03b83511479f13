import { afterEach, expect, it } from '@jest/globals';
import { RuntimeStatus } from '#crds/run-config/runtime-status';
import { protectedGateway } from '../attacks/protected-gateway.ts';
import { servePlain } from '../fakes/backend/serve-plain.ts';
import { serveTokens } from '../fakes/token-service.ts';
import { SessionClient } from '../gateway/session-client.ts';
import { eventually } from '../local/run-vmcp.ts';
import { closeAll, closing } from './gateway-to.ts';

afterEach(closeAll);

it('the status counts the tools that all callers get, whichever caller listed last', async () => {
  const [mine, all] = [closing(await servePlain({ tools: 2 })), closing(await servePlain({ tools: 3 }))];
  const { url: token_url } = closing(await serveTokens());
  const auth = {
    type: 'token_exchange' as const,
    token_url,
    client_id: 'vmcp',
    client_secret_file: 'secret',
    audience: 'a',
  };
  const at = await protectedGateway({
    files: { secret: 'cl1ent-s3cret' },
    config: {
      backends: [
        { name: 'mine', transport: 'streamable-http', url: mine.url, auth },
        { name: 'all', transport: 'streamable-http', url: all.url },
      ],
    },
  });
  const status = async () => {
    const answer = await fetch(`http://127.0.0.1:${at.gateway.runtime.address.privatePort}/status`);
    return RuntimeStatus.parse(await answer.json());
  };
  await eventually(status, ({ tools }) => tools === 3);
  const client = await SessionClient.open(at.gateway.url, await at.bearer());
  expect(await client.toolNames()).toHaveLength(5);
  const { tools, backends } = await status();
  expect(tools).toBe(3);
  expect(Object.fromEntries(backends.map(({ name, tools: count }) => [name, count]))).toEqual({ mine: 2, all: 3 });
});
