import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { followTools } from '../gateway/follow-tools.ts';
import type { OpenStream, SessionClient } from '../gateway/session-client.ts';
import { eventually } from '../local/run-vmcp.ts';
import { backend, fake, group, server } from './stage.ts';
import { describeWithCluster } from './use-cluster.ts';
import { useStage } from './use-stage.ts';

/** Limit until a pod of a new backend has started, and its tools are known. */
const SECONDS = 45_000;

describeWithCluster('a connected client, while its group changes,', (cluster) => {
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

  /** Makes a change, and waits until the client, after a notification, sees exactly these tools. */
  async function sees(tools: string[], change: () => Promise<void>): Promise<void> {
    await change();
    await knows(...tools);
  }

  it('sees the first backend', async () => {
    expect(await client.toolNames()).toEqual(['one_tool_0']);
  });

  it('receives the tools of an added backend, and can call it', async () => {
    await sees(['one_tool_0', 'two_tool_0'], () =>
      stage.apply(backend('two', fake('tools', 'backend', ['--name', 'two', '--tools', '1']))),
    );
    expect((await client.call('two_tool_0', { text: 'x' })).answer.result).toBeDefined();
  });

  it('loses the tools of a backend that moves to another group', async () => {
    await sees(['one_tool_0'], () => stage.patch('MCPServer', 'two', { spec: { groupRef: 'attic' } }));
    expect((await client.call('two_tool_0', { text: 'x' })).answer.error).toBeDefined();
  });

  it('receives them again when it returns', async () => {
    await sees(['one_tool_0', 'two_tool_0'], () => stage.patch('MCPServer', 'two', { spec: { groupRef: 'tools' } }));
  });

  it('loses the tools of a backend that an edit breaks, while the others go on, and the status names the problem', async () => {
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

  it('receives them again when it is fixed', async () => {
    await sees(['one_tool_0', 'two_tool_0'], () => stage.patch('MCPServer', 'two', { spec: { headerForward: null } }));
  });

  it('loses the tools of a suspended backend, whose pods end', async () => {
    await sees(['one_tool_0'], () => stage.patch('MCPServer', 'two', { spec: { suspend: true } }));
    await eventually(
      () => stage.list('Pod', 'app.kubernetes.io/instance=two'),
      (pods) => pods.length === 0,
      SECONDS,
    );
  });

  it('loses the tools of a deleted backend, with all its objects', async () => {
    await sees(['one_tool_0', 'two_tool_0'], () => stage.patch('MCPServer', 'two', { spec: { suspend: false } }));
    await sees(['one_tool_0'], () => stage.remove('MCPServer', 'two'));
    await eventually(
      () => stage.get('Deployment', 'mcp-two'),
      (deployment) => deployment === undefined,
      SECONDS,
    );
  });

  it('keeps the same session with the same pod throughout', async () => {
    expect((await client.call('one_tool_0', { text: 'x' })).status).toBe(200);
    const [pod, ...others] = await stage.list('Pod', 'app.kubernetes.io/name=vmcp-runtime');
    expect(others).toEqual([]);
    expect(pod?.metadata.generation ?? 1).toBe(1);
  });
});
