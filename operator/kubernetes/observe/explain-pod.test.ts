import { describe, expect, it } from '@jest/globals';
import { explainPod } from './explain-pod.ts';

const SECRET = 'hunter2-is-a-secret';

function pod(container: object, more: object = {}) {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'mcp-a-1-x' },
    spec: {
      containers: [{ name: 'mcp', image: 'registry.example/a:1', env: [{ name: 'TOKEN', value: SECRET }] }],
      initContainers: [{ name: 'pipes', image: 'vmcp-runtime:1' }],
    },
    status: {
      phase: 'Pending',
      conditions: [{ type: 'PodScheduled', status: 'True' }],
      containerStatuses: [{ name: 'mcp', ready: false, restartCount: 0, image: '', ...container }],
      ...more,
    },
  };
}

const waiting = (reason: string, message?: string) => ({
  state: { waiting: { reason, ...(message !== undefined && { message }) } },
});
const after = (exitCode: number, reason: string, message?: string) => ({
  terminated: { exitCode, reason, ...(message !== undefined && { message }) },
});

describe('a pod that does not start', () => {
  const IMAGE =
    'the image "registry.example/a:1" of container mcp cannot be pulled: correct its name, or give the credentials of its registry by imagePullSecrets; kubectl describe pod mcp-a-1-x has what the registry says.';

  it.each<[string, object, string]>([
    ['cannot have its image', waiting('ErrImagePull', 'rpc error: not found'), IMAGE],
    ['waits to try its image again', waiting('ImagePullBackOff', 'Back-off pulling image'), IMAGE],
    [
      'has an image of no name',
      waiting('InvalidImageName'),
      '"registry.example/a:1", the image of container mcp, is no name of an image: correct it.',
    ],
    [
      'names a Secret that is not there',
      waiting('CreateContainerConfigError', 'secret "x"\n not found'),
      'container mcp cannot be made (secret "x" not found): mend what it says; see kubectl describe pod mcp-a-1-x.',
    ],
    [
      'has a command that is not in its image',
      {
        ...waiting('CrashLoopBackOff'),
        restartCount: 3,
        lastState: after(128, 'StartError', 'exec: "nod": not found'),
      },
      'container mcp cannot be started (exec: "nod": not found): correct its command; see kubectl describe pod mcp-a-1-x.',
    ],
    [
      'ends again and again',
      { ...waiting('CrashLoopBackOff'), restartCount: 1, lastState: after(3, 'Error', SECRET) },
      'container mcp ended with exit code 3: see why in kubectl logs mcp-a-1-x -c mcp --previous.',
    ],
    [
      'runs for a moment between two ends',
      { state: { running: {} }, restartCount: 2, lastState: after(3, 'Error', SECRET) },
      'container mcp ended with exit code 3: see why in kubectl logs mcp-a-1-x -c mcp --previous.',
    ],
    [
      'has too little memory',
      { ...waiting('CrashLoopBackOff'), restartCount: 1, lastState: after(137, 'OOMKilled') },
      'container mcp took more memory than it may: write more in resources.limits, or see why in kubectl logs mcp-a-1-x -c mcp --previous.',
    ],
  ])('because it %s', (_what, container, message) => {
    expect(explainPod(pod(container))).toEqual({ reason: 'PodsFail', message });
  });

  it('because of a container that comes before the others', () => {
    const initContainerStatuses = [{ name: 'pipes', ready: false, restartCount: 0, ...waiting('ImagePullBackOff') }];
    expect(explainPod(pod(waiting('PodInitializing'), { initContainerStatuses }))?.message).toContain(
      '"vmcp-runtime:1" of container pipes',
    );
  });

  it('because no node takes it, in as many words as there is room for', () => {
    const message = `0/2 nodes are available: ${'Insufficient cpu. '.repeat(100)}`;
    const conditions = [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }];
    const problem = explainPod(pod({}, { conditions, containerStatuses: undefined }));
    expect(problem?.reason).toBe('PodsUnschedulable');
    expect(problem?.message).toMatch(
      /^no node takes pod mcp-a-1-x \(0\/2 nodes .*…\): lower what it requests, or add /,
    );
    expect(problem?.message.length).toBeLessThan(450);
  });
});

describe('a pod that is well, or on its way,', () => {
  it.each<[string, object]>([
    ['is being made', waiting('ContainerCreating')],
    ['has just begun', { state: { running: {} } }],
    ['ended once, and runs again', { state: { running: {} }, restartCount: 1, lastState: after(1, 'Error') }],
    ['ended often, long ago', { ready: true, state: { running: {} }, restartCount: 9, lastState: after(1, 'Error') }],
  ])('and %s is nothing to tell of', (_what, container) => {
    expect(explainPod(pod(container))).toBeUndefined();
  });
});
