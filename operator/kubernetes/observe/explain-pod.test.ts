import { describe, expect, it } from '@jest/globals';
import { explainPod } from './explain-pod.ts';

const SECRET = 'hunter2-is-a-secret';
const NOW = '2026-01-31T00:00:00Z';
const MINUTES_AGO = '2026-01-30T23:55:00Z';
const WEEKS_AGO = '2026-01-10T00:00:00Z';

function pod(container: object, more: object = {}) {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'mcp-a-1-x', namespace: 'team-a' },
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
  terminated: { exitCode, reason, finishedAt: MINUTES_AGO, ...(message !== undefined && { message }) },
});
const explain = (object: ReturnType<typeof pod>) => explainPod(object, Date.parse(NOW));
/** Explains a pod that carries this message of the scheduler. */
const unscheduled = (message: string) =>
  explain(
    pod(
      {},
      {
        conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }],
        containerStatuses: undefined,
      },
    ),
  );

describe('explainPod', () => {
  const IMAGE =
    'the image "registry.example/a:1" of container mcp cannot be pulled: correct its name, or give the credentials of its registry by imagePullSecrets; kubectl describe pod -n team-a mcp-a-1-x has what the registry says.';

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
      'container mcp cannot be made (secret "x" not found): mend what it says; see kubectl describe pod -n team-a mcp-a-1-x.',
    ],
    [
      'has a command that is not in its image',
      {
        ...waiting('CrashLoopBackOff'),
        restartCount: 3,
        lastState: after(128, 'StartError', 'exec: "nod": not found'),
      },
      'container mcp cannot be started (exec: "nod": not found): correct its command; see kubectl describe pod -n team-a mcp-a-1-x.',
    ],
    [
      'ends again and again',
      { ...waiting('CrashLoopBackOff'), restartCount: 1, lastState: after(3, 'Error', SECRET) },
      'container mcp ended with exit code 3: see why in kubectl logs -n team-a mcp-a-1-x -c mcp --previous.',
    ],
    [
      'runs for a moment between two ends',
      { state: { running: {} }, restartCount: 2, lastState: after(3, 'Error', SECRET) },
      'container mcp ended with exit code 3: see why in kubectl logs -n team-a mcp-a-1-x -c mcp --previous.',
    ],
    [
      'has too little memory',
      { ...waiting('CrashLoopBackOff'), restartCount: 1, lastState: after(137, 'OOMKilled') },
      'container mcp took more memory than it may: write more in resources.limits, or see why in kubectl logs -n team-a mcp-a-1-x -c mcp --previous.',
    ],
  ])('explains the container that %s', (_what, container, message) => {
    expect(explain(pod(container))).toEqual({ reason: 'PodsFail', message });
  });

  it('explains a failing init container', () => {
    const initContainerStatuses = [{ name: 'pipes', ready: false, restartCount: 0, ...waiting('ImagePullBackOff') }];
    expect(explain(pod(waiting('PodInitializing'), { initContainerStatuses }))?.message).toContain(
      '"vmcp-runtime:1" of container pipes',
    );
  });

  it('explains an unschedulable pod, with a shortened message', () => {
    const problem = unscheduled(`0/2 nodes are available: 2 ${'Insufficient cpu. '.repeat(100)}`);
    expect(problem?.reason).toBe('PodsUnschedulable');
    expect(problem?.message).toMatch(
      /^no node takes pod mcp-a-1-x \(Insufficient cpu\. .*…\): lower what it requests, or add /,
    );
    expect(problem?.message.length).toBeLessThan(450);
  });

  it.each([
    [
      '0/3 nodes are available: 1 node(s) had untolerated taint {a: b}, 2 Insufficient memory. preemption: 0/3 nodes are available: 1 Preemption is not helpful for scheduling, 2 No preemption victims found for incoming pod.',
    ],
    [
      '0/12 nodes are available: 11 Insufficient memory, 1 node(s) had untolerated taint {a: b}. no new claims to deallocate, preemption: 0/12 nodes are available: 12 No preemption victims found for incoming pod.',
    ],
    ['0/2 nodes are available: 1 Insufficient memory, 1 node(s) had untolerated taint {a: b}.'],
  ])('explains an unschedulable pod in the same words for any number of nodes: %s', (message) => {
    expect(unscheduled(message)?.message).toBe(
      'no node takes pod mcp-a-1-x (Insufficient memory, node(s) had untolerated taint {a: b}): lower what it requests, or add a node; write a toleration in podTemplateSpec.spec.tolerations, or add a node without the taint.',
    );
  });

  it.each([
    ['2 Insufficient cpu', 'lower what it requests, or add a node'],
    ['2 Too many pods', 'add a node'],
    ['2 node(s) had untolerated taint {a: b}', 'write a toleration in podTemplateSpec.spec.tolerations'],
    ["2 node(s) didn't match Pod's node affinity/selector", 'correct nodeSelector or affinity in podTemplateSpec'],
    ["2 node(s) didn't match pod anti-affinity rules", 'loosen podTemplateSpec.spec.affinity'],
    ['persistentvolumeclaim "a" not found', 'create the PersistentVolumeClaim'],
    ['pod has unbound immediate PersistentVolumeClaims', 'create the PersistentVolumeClaim, or wait until it is bound'],
    ['2 node(s) had volume node affinity conflict', 'let it run on the nodes that its volume can be reached from'],
    ['2 node(s) were unschedulable', 'make a node schedulable again (kubectl uncordon)'],
    ['2 something of tomorrow', 'see kubectl describe nodes'],
  ])('maps "%s" to a remedy: %s', (cause, remedy) => {
    const message = unscheduled(`0/2 nodes are available: ${cause}.`)?.message ?? '';
    const told = message.slice(message.indexOf('): ') + 3);
    expect(told.startsWith(remedy)).toBe(true);
    expect(told).not.toContain(remedy.startsWith('lower') ? 'toleration' : 'lower what');
  });

  it('quotes a scheduler message of another form', () => {
    const said = (message: string) => /\((.*)\)/.exec(unscheduled(message)?.message ?? '')?.[1];
    expect(said('no nodes available to schedule pods')).toBe('no nodes available to schedule pods');
    expect(said('0/1 nodes are available: persistentvolumeclaim "a, b" not found.')).toBe(
      'persistentvolumeclaim "a, b" not found',
    );
  });
});

describe('explainPod for a healthy or starting pod', () => {
  it.each<[string, object]>([
    ['is being made', waiting('ContainerCreating')],
    ['has just begun', { state: { running: {} } }],
    ['ended once, and runs again', { state: { running: {} }, restartCount: 1, lastState: after(1, 'Error') }],
    [
      'ended often, and is ready',
      { ready: true, state: { running: {} }, restartCount: 9, lastState: after(1, 'Error') },
    ],
    [
      'ended often, weeks ago, and is not ready now',
      {
        state: { running: { startedAt: WEEKS_AGO } },
        restartCount: 9,
        lastState: { terminated: { exitCode: 1, reason: 'Error', finishedAt: WEEKS_AGO } },
      },
    ],
    [
      'ended often, nobody knows when,',
      {
        state: { running: {} },
        restartCount: 9,
        lastState: { terminated: { exitCode: 255, reason: 'Unknown', finishedAt: null } },
      },
    ],
  ])('returns undefined if it %s', (_what, container) => {
    expect(explain(pod(container))).toBeUndefined();
  });
});
