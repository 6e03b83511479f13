import { afterEach, describe, expect, it } from '@jest/globals';
import { protectedGateway } from '../attacks/protected-gateway.ts';
import type { Behaviour } from '../fakes/backend/behaviours.ts';
import { serveMisbehaving } from '../fakes/backend/serve-misbehaving.ts';
import { servePlain } from '../fakes/backend/serve-plain.ts';
import { serveTokens } from '../fakes/token-service.ts';
import { sendStateless, SessionClient } from '../gateway/session-client.ts';
import { closeAll, closing } from './gateway-to.ts';

afterEach(closeAll);

/** Backend `a` lists for each caller anew, and does not manage to; `b` is well. */
async function failing(behaviour: Behaviour, policies?: readonly string[]) {
  const [bad, well] = [
    closing(await serveMisbehaving(behaviour, { methods: ['tools/list'] })),
    closing(await servePlain()),
  ];
  const { url: token_url } = closing(await serveTokens());
  const auth = { type: 'token_exchange' as const, token_url, client_id: 'vmcp', client_secret_file: 'secret' };
  const at = await protectedGateway({
    files: { secret: 'cl1ent-s3cret' },
    config: {
      backends: [
        { name: 'a', transport: 'streamable-http', url: bad.url, auth: { ...auth, audience: 'a' } },
        { name: 'b', transport: 'streamable-http', url: well.url },
      ],
      // Only who hangs is not waited for.
      limits: { list_deadline: behaviour === 'hang' ? '1s' : '30s' },
      ...(policies && { authz: { policies: [...policies] } }),
    },
  });
  return { at, bad };
}

describe.each(['with sessions', 'without sessions'])('a caller who never listed, %s', (era) => {
  const call = async ({ at }: Awaited<ReturnType<typeof failing>>, name: string) => {
    const bearer = await at.bearer();
    if (era === 'without sessions') return (await sendStateless(at.gateway.url, 'tools/call', { name }, bearer)).answer;
    return (await (await SessionClient.open(at.gateway.url, bearer)).call(name, {})).answer;
  };

  it.each<[Behaviour, string]>([
    ['hang', 'timeout'],
    ['diesBeforeAnswer', 'reset'],
  ])('is told of a backend that fails (%s), not that there is no such tool', async (behaviour, reason) => {
    const failed = await failing(behaviour);
    const { error } = await call(failed, 'a_tool_0');
    expect(error).toMatchObject({ code: -32603, data: { backend: 'a', reason } });
    // Again at once, from what is known now.
    expect((await call(failed, 'a_tool_0')).error?.data).toEqual({ backend: 'a', reason });
    expect((await call(failed, 'b_no_such')).error?.code).toBe(-32602);
    failed.bad.behaveLike(undefined);
  });

  it('learns nothing of a backend whose tools policies hide', async () => {
    const failed = await failing('hang', ['permit(principal, action, resource in Backend::"b");']);
    expect((await call(failed, 'a_tool_0')).error).toMatchObject({ code: -32602 });
  });
});
