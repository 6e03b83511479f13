import { afterEach, describe, expect, it } from '@jest/globals';
import { protectedGateway } from '../attacks/protected-gateway.ts';
import type { Behaviour } from '../fakes/backend/behaviours.ts';
import { serveMisbehaving } from '../fakes/backend/serve-misbehaving.ts';
import { servePlain } from '../fakes/backend/serve-plain.ts';
import { serveTokens } from '../fakes/token-service.ts';
import { sendModern, SessionClient } from '../gateway/session-client.ts';
import { closeAll, closing } from './gateway-to.ts';

afterEach(closeAll);

/** Starts a gateway whose backend `a` fails to list, for each caller anew; its backend `b` works. */
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
      // Only a hanging backend needs a short deadline.
      limits: { list_deadline: behaviour === 'hang' ? '1s' : '30s' },
      ...(policies && { authz: { policies: [...policies] } }),
    },
  });
  return { at, bad };
}

describe.each(['with sessions', 'without sessions'])('a caller without a former list, %s', (era) => {
  const call = async ({ at }: Awaited<ReturnType<typeof failing>>, name: string) => {
    const bearer = await at.bearer();
    if (era === 'without sessions') return (await sendModern(at.gateway.url, 'tools/call', { name }, bearer)).answer;
    return (await (await SessionClient.open(at.gateway.url, bearer)).call(name, {})).answer;
  };

  it.each<[Behaviour, string]>([
    ['hang', 'timeout'],
    ['diesBeforeAnswer', 'reset'],
  ])("gets the backend's failure (%s), not an unknown tool", async (behaviour, reason) => {
    const failed = await failing(behaviour);
    const { error } = await call(failed, 'a_tool_0');
    expect(error).toMatchObject({ code: -32603, data: { backend: 'a', reason } });
    // The second call gets the known failure at once.
    expect((await call(failed, 'a_tool_0')).error?.data).toEqual({ backend: 'a', reason });
    expect((await call(failed, 'b_no_such')).error?.code).toBe(-32602);
    failed.bad.behaveLike(undefined);
  });

  it('gets no information about a backend whose tools policies hide', async () => {
    const failed = await failing('hang', ['permit(principal, action, resource in Backend::"b");']);
    expect((await call(failed, 'a_tool_0')).error).toMatchObject({ code: -32602 });
  });
});
