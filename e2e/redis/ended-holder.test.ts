import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { serveLegacy, type LegacyServer, type RunTool } from '../bridges/serve-legacy.ts';
import { sendModern } from '../gateway/session-client.ts';
import { startGateway, type Gateway, type GatewayOptions } from '../gateway/start-gateway.ts';
import { until } from '../gateway/until.ts';
import { closeAll, closing, configTo } from '../relay/gateway-to.ts';
import { describeWithRedis } from './redis-programs.ts';
import { sharedIn } from './replicas.ts';
import { startRedis } from './start-redis.ts';

afterEach(closeAll);

const _meta = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } } };
const accepted = { action: 'accept', content: { name: 'Ada' } };
const question = { message: 'Name?' };
const text = (value: unknown) => ({ content: [{ type: 'text', text: JSON.stringify(value) }] });
const LOST = { error: { code: -32603, data: { reason: 'call_lost' } } };

/** Number of answers that reached the backend. */
let answers = 0;

const tools: Record<string, RunTool> = {
  ask: async ({ ask }) => text((await ask('elicitation/create', question)).result),
  /** Does not end after the answer. */
  ask_and_hang: async ({ ask }) => {
    await ask('elicitation/create', question);
    answers += 1;
    return undefined;
  },
};

/** Calls a tool at one replica. */
const call = async (at: Gateway | undefined, name: string, more: Record<string, unknown> = {}) =>
  (await sendModern(at?.url ?? '', 'tools/call', { name: `a_${name}`, arguments: {}, ...more, _meta })).answer;

/** Parks a call at one replica, and returns the members of its retry. */
async function park(at: Gateway | undefined, name = 'ask') {
  const answer = await call(at, name);
  expect(answer).toMatchObject({ result: { requestState: expect.any(String) } });
  const requestState = answer.result?.requestState;
  return { requestState, inputResponses: { 'elicitation-1': accepted } };
}

for (const count of [2, 3])
  describeWithRedis(`${count} replicas with calls that wait for input`, () => testReplicas(count));

function testReplicas(count: number): void {
  let backend: LegacyServer;
  let replicas: Gateway[];
  let start: (options?: GatewayOptions) => Promise<Gateway>;

  beforeEach(async () => {
    answers = 0;
    const redis = await startRedis();
    closing({ close: () => redis.stop() });
    backend = closing(await serveLegacy({ tools }));
    const { settings, files } = sharedIn({ addr: redis.address });
    const folder = await mkdtemp(join(tmpdir(), 'vmcp-ended-'));
    closing({ close: () => rm(folder, { recursive: true, force: true }) });
    const sealing = join(folder, 'sealing');
    await writeFile(sealing, files.sealing ?? '');
    const config = configTo({ a: backend.url }, { ...settings, sealing_secret_files: [sealing] });
    start = async (options) => {
      const gateway = await startGateway(config, options);
      closing({ close: () => gateway.stop() });
      await until('the tools of the backend', async () => {
        const { result } = (await sendModern(gateway.url, 'tools/list')).answer;
        return Array.isArray(result?.tools) && result.tools.length > 0;
      });
      return gateway;
    };
    replicas = await Promise.all(Array.from({ length: count }, () => start({ drain: 8 })));
  }, 60_000);

  it('lose the call of a killed one with one clear error, and never run it again', async () => {
    const [holder, other] = replicas;
    const retry = await park(holder);
    process.kill(holder?.pid ?? 0, 'SIGKILL');
    await holder?.ended;
    for (const at of [other, replicas.at(-1), other]) expect(await call(at, 'ask', retry)).toMatchObject(LOST);
    expect(backend.count('tools/call')).toBe(1);
    const again = await park(other);
    expect((await call(other, 'ask', again)).result).toMatchObject(text(accepted));
    expect(backend.count('tools/call')).toBe(2);
  }, 60_000);

  it('restart one after the other, and each waits for its calls', async () => {
    const retries: Awaited<ReturnType<typeof park>>[] = [];
    for (const at of replicas) retries.push(await park(at));
    for (const [nr, retry] of retries.entries()) {
      const ending = replicas[nr];
      process.kill(ending?.pid ?? 0, 'SIGTERM');
      await sleep(500);
      expect((await call(replicas[(nr + 1) % count], 'ask', retry)).result).toMatchObject(text(accepted));
      expect(await ending?.ended).toBe(0);
      replicas[nr] = await start({ drain: 8 });
    }
    expect(backend.count('tools/call')).toBe(count);
  }, 120_000);

  // The number of replicas does not matter here.
  if (count > 2) return;

  it('lose it also if the killed one had resumed it', async () => {
    const [holder, other] = replicas;
    const retry = await park(holder, 'ask_and_hang');
    const waiting = call(other, 'ask_and_hang', retry);
    await until('the answer at the backend', () => answers === 1);
    process.kill(holder?.pid ?? 0, 'SIGKILL');
    expect(await waiting).toMatchObject(LOST);
    expect(backend.count('tools/call')).toBe(1);
  }, 60_000);

  it('end without a call whose client does not come within the grace time', async () => {
    const short = await start({ drain: 1 });
    const retry = await park(short);
    process.kill(short.pid, 'SIGTERM');
    expect(await short.ended).toBe(0);
    expect(await call(replicas[0], 'ask', retry)).toMatchObject(LOST);
    // The backend has got the end of the session.
    expect([...backend.sessions.values()].filter(({ calls }) => calls > 0)).toEqual([]);
    expect(backend.count('tools/call')).toBe(1);
  }, 60_000);
}
