import { beforeAll, expect, it } from '@jest/globals';
import { IMAGES } from './images.ts';
import { backend, condition, fake, group, server } from './stage.ts';
import { describeWithCluster } from './use-cluster.ts';
import { useStage } from './use-stage.ts';

/** Unknown fields that no list in the repository names: only the API server detects them. */
const MISSPELT = { affinity: { nodeAffinityz: {}, podAffinityz: {} } };
const podTemplateSpec = { spec: MISSPELT };

describeWithCluster('a podTemplateSpec with fields unknown to the API server', (cluster) => {
  const stage = useStage(cluster, 'template', '--stdio-attach');
  beforeAll(() =>
    stage.apply(
      group('tools'),
      backend('program', { ...fake('', 'backend'), podTemplateSpec }),
      backend('attached', { image: IMAGES.backends, transport: 'stdio', args: ['node'], podTemplateSpec }),
      server('demo', 'tools', { podTemplateSpec }),
    ),
  );

  it.each([
    ['VirtualMCPServer', 'demo', 'Deployment "vmcp-demo"'],
    ['MCPServer', 'program', 'Deployment "mcp-program"'],
    ['MCPServer', 'attached', 'StatefulSet "mcp-attached"'],
  ])('stalls the %s %s, and the condition names each field', async (kind, name, child) => {
    const status = await stage.status(kind, name, (seen) => condition(seen, 'Stalled') !== undefined);
    expect(condition(status, 'Stalled')).toMatchObject({ status: 'True', reason: 'InvalidPodTemplate' });
    const { message = '' } = condition(status, 'Ready') ?? {};
    const fields = 'podTemplateSpec.spec.affinity.nodeAffinityz, podTemplateSpec.spec.affinity.podAffinityz';
    expect(message).toBe(`the API server knows no such fields of ${child}: ${fields}: correct or remove them`);
  });

  it('takes effect as soon as it is corrected, and a later mistake leaves the pods as they are', async () => {
    await stage.patch('VirtualMCPServer', 'demo', {
      spec: { podTemplateSpec: { spec: { affinity: null, tolerations: [] } } },
    });
    await stage.ready('demo');
    const pods = await stage.list('Pod', 'app.kubernetes.io/instance=demo');
    await stage.patch('VirtualMCPServer', 'demo', { spec: { podTemplateSpec } });
    const status = await stage.status('VirtualMCPServer', 'demo', (seen) => condition(seen, 'Stalled') !== undefined);
    expect(status.phase).toBe('Degraded');
    const now = await stage.list('Pod', 'app.kubernetes.io/instance=demo');
    expect(now.map(({ metadata }) => metadata.uid)).toEqual(pods.map(({ metadata }) => metadata.uid));
    await stage.patch('VirtualMCPServer', 'demo', { spec: { podTemplateSpec: null } });
    await stage.ready('demo');
  });
});
