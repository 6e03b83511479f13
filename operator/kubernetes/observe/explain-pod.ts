import type { PodProblem } from '#operator/world';
import type { KubeObject } from '../api/object.ts';

/** As much of what a kubelet or a scheduler says as stands in a message. */
const LONGEST = 300;

interface Terminated {
  exitCode?: number;
  reason?: string;
  message?: string;
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
  pod: string;
  name: string;
  image: string;
  status: ContainerStatus;
}

function oneLine(text: string | undefined): string {
  const line = (text ?? '').replaceAll(/\s+/g, ' ').trim();
  return line.length > LONGEST ? `${line.slice(0, LONGEST - 1).toWellFormed()}…` : line;
}

/** A kubelet tells failure and waiting by turns: they are told alike, as each change would be a write. */
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

/** What a program leaves as its last words may be anything; only what a kubelet says of a program that never began is told. */
function ended({ pod, name, status }: Container): string {
  const { exitCode = 0, reason, message } = status.lastState?.terminated ?? status.state?.terminated ?? {};
  if (reason === 'StartError' || reason === 'ContainerCannotRun')
    return `container ${name} cannot be started (${oneLine(message)}): correct its command; see kubectl describe pod ${pod}.`;
  if (reason === 'OOMKilled')
    return `container ${name} took more memory than it may: write more in resources.limits, or see why in kubectl logs ${pod} -c ${name} --previous.`;
  return `container ${name} ended with exit code ${exitCode}: see why in kubectl logs ${pod} -c ${name} --previous.`;
}

/** Why a container waits to what is told of it. */
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

/** Ended at least so often: between two ends it runs for a moment. */
const AGAIN = 2;

function explainContainer(container: Container): string | undefined {
  const { ready = false, restartCount = 0, state, lastState } = container.status;
  const explain = WAITING[state?.waiting?.reason ?? ''];
  if (explain) return explain(container);
  const ends = !ready && restartCount >= AGAIN && lastState?.terminated !== undefined;
  return ends ? ended(container) : undefined;
}

/** Why a pod does not start, with the remedy; undefined while it is well, or on its way. No value of a Secret is in it. */
export function explainPod(object: KubeObject): PodProblem | undefined {
  const { metadata, spec = {}, status = {} } = object as KubeObject & PodFields;
  const unscheduled = status.conditions?.find(
    ({ type, status: holds, reason }) => type === 'PodScheduled' && holds === 'False' && reason === 'Unschedulable',
  );
  if (unscheduled) {
    const message = `no node takes pod ${metadata.name} (${oneLine(unscheduled.message)}): lower what it requests, or add a node.`;
    return { reason: 'PodsUnschedulable', message };
  }
  const images = new Map(
    [...(spec.initContainers ?? []), ...(spec.containers ?? [])].map(({ name, image = '' }) => [name, image]),
  );
  for (const one of [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])]) {
    const container = { pod: metadata.name, name: one.name, image: images.get(one.name) ?? '', status: one };
    const message = explainContainer(container);
    if (message !== undefined) return { reason: 'PodsFail', message };
  }
  return undefined;
}
