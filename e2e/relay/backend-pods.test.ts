import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { servePlain, type PlainBackend } from '../fakes/backend/serve-plain.ts';
import type { Intercept } from '../fakes/mcp/serve.ts';
import { SessionClient } from '../gateway/session-client.ts';
import { closeAll, closing, configTo, gatewayTo } from '../relay/gateway-to.ts';

afterEach(closeAll);

interface Pod extends PlainBackend {
  readonly address: string;
  /** Host header and session of each call. */
  readonly calls: { host: string | undefined; session: unknown }[];
}

/** Starts pods of one backend: the same port at different addresses. */
async function startPods(count: number): Promise<Pod[]> {
  const pods: Pod[] = [];
  for (let nr = 1; nr <= count; nr += 1) pods.push(await startPod(`127.0.0.${nr}`, pods[0]?.port));
  return pods;
}

async function startPod(address: string, port = 0): Promise<Pod> {
  const calls: Pod['calls'] = [];
  const intercept: Intercept = ({ headers }, _response, body) => {
    if (body.includes('tools/call')) calls.push({ host: headers.host, session: headers['mcp-session-id'] });
    return false;
  };
  const pod = await servePlain({ tools: 1, port, host: address, intercept });
  return closing({ ...pod, address, calls });
}

/** Starts a gateway in front of the pods. `names`: the current addresses behind the pods' host name. */
async function gatewayToPods(pods: readonly Pod[], names: { addresses: string[] }) {
  const [first] = pods;
  const backends = { one: { url: first!.url, pods_host: 'one-pods.team.svc' } };
  const lookUp = (host: string) => {
    expect(host).toBe('one-pods.team.svc');
    return names.addresses.length > 0 ? Promise.resolve(names.addresses) : Promise.reject(new Error('no such name'));
  };
  return gatewayTo(backends, {}, { lookUp });
}

const call = async (client: SessionClient) => (await client.call('one_tool_0', { text: 'x' })).answer;
const addressesOf = (pods: readonly Pod[]) => ({ addresses: pods.map(({ address }) => address) });

describe('a backend with several pods', () => {
  it('gets new sessions at its pods in turn, and each stays where it began', async () => {
    const pods = await startPods(3);
    const gateway = await gatewayToPods(pods, addressesOf(pods));
    const clients = [];
    for (let nr = 0; nr < 6; nr += 1) clients.push(await SessionClient.open(gateway.url));
    for (let turn = 0; turn < 4; turn += 1)
      for (const client of clients) expect((await call(client)).result).toBeDefined();
    const used = pods.map(({ calls }) => new Set(calls.map(({ session }) => session)).size);
    expect(used.reduce((sum, sessions) => sum + sessions)).toBe(6);
    expect(Math.min(...used)).toBeGreaterThan(0);
    // Host header and certificate checks use the Service's name.
    const { host } = new URL(pods[0]!.url);
    expect(new Set(pods.flatMap(({ calls }) => calls.map((one) => one.host)))).toEqual(new Set([host]));
  });

  it('loses no call with a pod: its sessions open again at another one', async () => {
    const pods = await startPods(3);
    const names = addressesOf(pods);
    const gateway = await gatewayToPods(pods, names);
    const clients = [];
    for (let nr = 0; nr < 6; nr += 1) clients.push(await SessionClient.open(gateway.url));
    // The host name still includes the pod.
    await pods[1]!.close();
    const before = pods.map(({ calls }) => calls.length);
    for (let turn = 0; turn < 3; turn += 1)
      for (const client of clients) expect((await call(client)).result).toBeDefined();
    names.addresses = names.addresses.filter((address) => address !== pods[1]!.address);
    for (const client of clients) expect((await call(client)).result).toBeDefined();
    expect(pods.map(({ calls }, nr) => calls.length - before[nr]!)[1]).toBe(0);
  });

  it('gets no data of a session at an address that another program has taken over', async () => {
    const pods = await startPods(2);
    const names = { addresses: [pods[1]!.address] };
    const gateway = await gatewayToPods(pods, names);
    const client = await SessionClient.open(gateway.url);
    await call(client);
    const before = pods[1]!.calls.length;
    expect(before).toBe(1);
    names.addresses = [pods[0]!.address];
    // The gateway looks the name up every 4 s.
    await sleep(4_500);
    expect((await call(client)).result).toBeDefined();
    expect(pods[1]!.calls).toHaveLength(before);
    expect(pods[0]!.calls).toHaveLength(1);
  });

  it('works by its URL without pod addresses, and ignores a short failure of name resolution', async () => {
    const pods = await startPods(2);
    const names = { addresses: [] as string[] };
    const gateway = await gatewayToPods(pods, names);
    const early = await SessionClient.open(gateway.url);
    expect((await call(early)).result).toBeDefined();
    expect(pods[0]!.calls).toHaveLength(1);
    names.addresses = [pods[1]!.address];
    const client = await SessionClient.open(gateway.url);
    expect((await call(client)).result).toBeDefined();
    names.addresses = [];
    await sleep(4_500);
    expect((await call(client)).result).toBeDefined();
    expect(pods[1]!.calls).toHaveLength(2);
  });

  it('gets several pods at run time', async () => {
    const pods = await startPods(2);
    const gateway = await gatewayTo(
      { one: pods[0]!.url },
      {},
      { lookUp: () => Promise.resolve(addressesOf(pods).addresses) },
    );
    const client = await SessionClient.open(gateway.url);
    await call(client);
    await gateway.reconfigure(configTo({ one: { url: pods[0]!.url, pods_host: 'one-pods.team.svc' } }));
    const others = [await SessionClient.open(gateway.url), await SessionClient.open(gateway.url)];
    for (const one of [client, ...others]) expect((await call(one)).result).toBeDefined();
    expect(pods[1]!.calls.length).toBeGreaterThan(0);
  });
});
