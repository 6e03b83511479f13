import type { PodProblem } from '#operator/snapshot';
import type { KubeObject } from '../api/object.ts';

/** Most characters of a kubelet's or scheduler's message. */
const LONGEST = 300;

interface Terminated {
  exitCode?: number;
  reason?: string;
  message?: string;
  /** RFC 3339. */
  finishedAt?: string | null;
}

interface ContainerStatus {
  name: string;
  ready?: boolean;
  restartCount?: number;
  state?: { waiting?: { reason?: string; message?: string }; terminated?: Terminated };
  lastState?: { terminated?: Terminated };
}

interface PodFields {
  spec?: { containers?: { name: string; image?: string }[]; initContainers?: { name: string; image?: string }[] };
  status?: {
    conditions?: { type: string; status: string; reason?: string; message?: string }[];
    initContainerStatuses?: ContainerStatus[];
    containerStatuses?: ContainerStatus[];
  };
}

interface Container {
  /** The pod as an argument of kubectl. */
  pod: string;
  name: string;
  image: string;
  status: ContainerStatus;
}

function oneLine(text: string | undefined): string {
  const line = (text ?? '').replaceAll(/\s+/g, ' ').trim();
  return line.length > LONGEST ? `${line.slice(0, LONGEST - 1).toWellFormed()}…` : line;
}

/** Returns a scheduler's reasons in a fixed order, without numbers of nodes, as each change is a status write. Omits preemption. */
function reasonsOf(text = ''): string {
  const [said = ''] = text.split(/ (?:no new claims to deallocate, )?preemption: /);
  const reasons = said.replace(/^\d+\/\d+ nodes are available: /, '').replace(/\.$/, '');
  const kinds = reasons.split(/, (?=\d+ )/).map((reason) => reason.replace(/^\d+ /, ''));
  return oneLine([...new Set(kinds)].sort().join(', '));
}

const REMEDIES: readonly (readonly [RegExp, string])[] = [
  [/Insufficient (?!pods)/, 'lower what it requests, or add a node'],
  [/Too many pods|Insufficient pods/, 'add a node'],
  [/untolerated taint/, 'write a toleration in podTemplateSpec.spec.tolerations, or add a node without the taint'],
  [
    /(?<!volume )node affinity|node selector|nodeSelector/,
    'correct nodeSelector or affinity in podTemplateSpec, or label a node',
  ],
  [/pod (anti-?)?affinity|topology spread/i, 'loosen podTemplateSpec.spec.affinity or topologySpreadConstraints'],
  [/PersistentVolumeClaim|persistentvolume/i, 'create the PersistentVolumeClaim, or wait until it is bound'],
  [/volume node affinity/, 'let it run on the nodes that its volume can be reached from'],
  [/unschedulable/, 'make a node schedulable again (kubectl uncordon), or add one'],
];

function remedyForNodes(reasons: string): string {
  const found = REMEDIES.flatMap(([cause, remedy]) => (cause.test(reasons) ? [remedy] : []));
  return found.length > 0 ? found.join('; ') : 'see kubectl describe nodes';
}

/** Describes a failed pull. A kubelet alternates between failure and back-off; one text for both avoids status writes. */
function unpulled({ pod, name, image }: Container): string {
  return `the image "${image}" of container ${name} cannot be pulled: correct its name, or give the credentials of its registry by imagePullSecrets; kubectl describe pod ${pod} has what the registry says.`;
}

function misnamed({ name, image }: Container): string {
  return `"${image}", the image of container ${name}, is no name of an image: correct it.`;
}

function unmade({ pod, name, status }: Container): string {
  const said = oneLine(status.state?.waiting?.message);
  return `container ${name} cannot be made${said === '' ? '' : ` (${said})`}: mend what it says; see kubectl describe pod ${pod}.`;
}

/** Quotes only the kubelet's message for a program that did not start, as a program's own last output is untrusted. */
function ended({ pod, name, status }: Container): string {
  const { exitCode = 0, reason, message } = status.lastState?.terminated ?? status.state?.terminated ?? {};
  if (reason === 'StartError' || reason === 'ContainerCannotRun')
    return `container ${name} cannot be started (${oneLine(message)}): correct its command; see kubectl describe pod ${pod}.`;
  if (reason === 'OOMKilled')
    return `container ${name} took more memory than it may: write more in resources.limits, or see why in kubectl logs ${pod} -c ${name} --previous.`;
  return `container ${name} ended with exit code ${exitCode}: see why in kubectl logs ${pod} -c ${name} --previous.`;
}

const WAITING: Record<string, (container: Container) => string> = {
  ErrImagePull: unpulled,
  ImagePullBackOff: unpulled,
  ErrImageNeverPull: unpulled,
  RegistryUnavailable: unpulled,
  InvalidImageName: misnamed,
  CreateContainerConfigError: unmade,
  CreateContainerError: unmade,
  RunContainerError: ended,
  CrashLoopBackOff: ended,
};

/** Least restarts of a failing container, which may run at the moment between two failures. */
const AGAIN = 2;
/** Milliseconds in which a failure is recent. A kubelet backs off for 5 minutes at most, and resets it after a run of 10. */
const LATELY = 15 * 60_000;

function endsAgain({ ready = false, restartCount = 0, lastState }: ContainerStatus, now: number): boolean {
  const endedAt = Date.parse(lastState?.terminated?.finishedAt ?? '');
  return !ready && restartCount >= AGAIN && now - endedAt < LATELY;
}

function explainContainer(container: Container, now: number): string | undefined {
  const explain = WAITING[container.status.state?.waiting?.reason ?? ''];
  if (explain) return explain(container);
  return endsAgain(container.status, now) ? ended(container) : undefined;
}

const shownPod = ({ namespace = 'default', name }: KubeObject['metadata']): string => `-n ${namespace} ${name}`;

/** Returns why a pod does not start, with the remedy and no value of a Secret. Ignores old failures. `now`: milliseconds since 1970. */
export function explainPod(object: KubeObject, now: number): PodProblem | undefined {
  const { metadata, spec = {}, status = {} } = object as KubeObject & PodFields;
  const unscheduled = status.conditions?.find(
    ({ type, status: holds, reason }) => type === 'PodScheduled' && holds === 'False' && reason === 'Unschedulable',
  );
  if (unscheduled) {
    const reasons = reasonsOf(unscheduled.message);
    const message = `no node takes pod ${metadata.name} (${reasons}): ${remedyForNodes(reasons)}.`;
    return { reason: 'PodsUnschedulable', message };
  }
  const pod = shownPod(metadata);
  const images = new Map(
    [...(spec.initContainers ?? []), ...(spec.containers ?? [])].map(({ name, image = '' }) => [name, image]),
  );
  for (const one of [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])]) {
    const container = { pod, name: one.name, image: images.get(one.name) ?? '', status: one };
    const message = explainContainer(container, now);
    if (message !== undefined) return { reason: 'PodsFail', message };
  }
  return undefined;
}
