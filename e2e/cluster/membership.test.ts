import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { followTools } from '../gateway/follow-tools.ts';
import type { OpenStream, SessionClient } from '../gateway/session-client.ts';
import { eventually } from '../local/run-vmcp.ts';
import { backend, fake, group, server } from './stage.ts';
import { describeWithCluster } from './use-cluster.ts';
import { useStage } from './use-stage.ts';

/** Until a pod of a new backend has started, and its tools are known. */
const SECONDS = 45_000;

describeWithCluster('one client that stays connected, while the group changes', (cluster) => {
  const stage = useStage(cluster, 'membership');
  let client: SessionClient;
  let stream: OpenStream;
  let knows: Awaited<ReturnType<typeof followTools>>;

  beforeAll(async () => {
    await stage.apply(
      group('tools'),
      group('attic'),
      backend('one', fake('tools', 'backend', ['--name', 'one', '--tools', '1'])),
      server('demo', 'tools'),
    );
    await stage.ready('demo');
    client = await stage.connect('demo');
    stream = await client.stream();
    knows = await followTools(stream, () => client.toolNames(), SECONDS);
  });
  afterAll(() => stream.close());

  /** Does something, and waits until the client, told so, sees these tools and no others. */
  async function sees(tools: string[], change: () => Promise<void>): Promise<void> {
    await change();
    await knows(...tools);
  }

  it('sees the first backend', async () => {
    expect(await client.toolNames()).toEqual(['one_tool_0']);
  });

  it('is told of a backend that is added, and can call it', async () => {
    await sees(['one_tool_0', 'two_tool_0'], () =>
      stage.apply(backend('two', fake('tools', 'backend', ['--name', 'two', '--tools', '1']))),
    );
    expect((await client.call('two_tool_0', { text: 'x' })).answer.result).toBeDefined();
  });

  it('is told when one moves to another group', async () => {
    await sees(['one_tool_0'], () => stage.patch('MCPServer', 'two', { spec: { groupRef: 'attic' } }));
    expect((await client.call('two_tool_0', { text: 'x' })).answer.error).toBeDefined();
  });

  it('and when it comes back', async () => {
    await sees(['one_tool_0', 'two_tool_0'], () => stage.patch('MCPServer', 'two', { spec: { groupRef: 'tools' } }));
  });

  it('is told when one is broken by an edit, while the others go on, and the status says what is wrong', async () => {
    await sees(['one_tool_0'], () =>
      stage.patch('MCPServer', 'two', {
        spec: { headerForward: { addHeadersFromSecret: { 'X-Key': { name: 'none', key: 'k' } } } },
      }),
    );
    expect((await client.call('one_tool_0', { text: 'x' })).answer.result).toBeDefined();
    const isExcluded = ({ name, phase }: { name: string; phase: string }) => name === 'two' && phase === 'Excluded';
    const { phase, backends } = await stage.status(
      'VirtualMCPServer',
      'demo',
      (status) => status.backends?.some(isExcluded) ?? false,
    );
    expect(phase).toBe('Degraded');
    expect(backends?.find(isExcluded)?.message).toContain('none');
  });

  it('and when it is healed', async () => {
    await sees(['one_tool_0', 'two_tool_0'], () => stage.patch('MCPServer', 'two', { spec: { headerForward: null } }));
  });

  it('is told when one is suspended, whose pods go', async () => {
    await sees(['one_tool_0'], () => stage.patch('MCPServer', 'two', { spec: { suspend: true } }));
    await eventually(
      () => stage.list('Pod', 'app.kubernetes.io/instance=two'),
      (pods) => pods.length === 0,
      SECONDS,
    );
  });

  it('is told when one is deleted, with all that was made for it', async () => {
    await sees(['one_tool_0', 'two_tool_0'], () => stage.patch('MCPServer', 'two', { spec: { suspend: false } }));
    await sees(['one_tool_0'], () => stage.remove('MCPServer', 'two'));
    await eventually(
      () => stage.get('Deployment', 'mcp-two'),
      (deployment) => deployment === undefined,
      SECONDS,
    );
  });

  it('was the same session all the time, with the same pod', async () => {
    expect((await client.call('one_tool_0', { text: 'x' })).status).toBe(200);
    const [pod, ...others] = await stage.list('Pod', 'app.kubernetes.io/name=vmcp-runtime');
    expect(others).toEqual([]);
    expect(pod?.metadata.generation ?? 1).toBe(1);
  });
});
