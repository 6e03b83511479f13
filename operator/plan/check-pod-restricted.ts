import type { PodContainer, PodTemplate, PodVolume, SecurityContext } from '#crds/parts/pod-template';

/** A forbidden part of a pod template: its path and the remedy. */
export interface PodProblem {
  path: string;
  message: string;
  /** The administrator of the operator can allow it. */
  hostAccess?: boolean;
}

// The Restricted pod security standard, control by control, in the order of the Kubernetes documentation.

const VOLUME_TYPES = [
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'persistentVolumeClaim',
  'projected',
  'secret',
  'image',
];
const SYSCTLS = [
  'kernel.shm_rmid_forced',
  'net.ipv4.ip_local_port_range',
  'net.ipv4.ip_unprivileged_port_start',
  'net.ipv4.tcp_syncookies',
  'net.ipv4.ping_group_range',
  'net.ipv4.ip_local_reserved_ports',
  'net.ipv4.tcp_keepalive_time',
  'net.ipv4.tcp_fin_timeout',
  'net.ipv4.tcp_keepalive_intvl',
  'net.ipv4.tcp_keepalive_probes',
  'net.ipv4.tcp_rmem',
  'net.ipv4.tcp_wmem',
];
const SELINUX_TYPES = ['', 'container_t', 'container_init_t', 'container_kvm_t', 'container_engine_t'];
const PROFILES = ['RuntimeDefault', 'Localhost'];

function contextProblems(context: SecurityContext, path: string): PodProblem[] {
  const { seLinuxOptions: selinux = {} } = context;
  const checks: [boolean, string, string][] = [
    [context.runAsUser === 0, 'runAsUser', 'root: write another user'],
    [context.runAsNonRoot === false, 'runAsNonRoot', 'write true'],
    [!among(context.seccompProfile?.type, PROFILES), 'seccompProfile', 'write type RuntimeDefault or Localhost'],
    [!among(context.appArmorProfile?.type, PROFILES), 'appArmorProfile', 'write type RuntimeDefault or Localhost'],
    [!SELINUX_TYPES.includes(selinux.type ?? ''), 'seLinuxOptions.type', 'write container_t, or remove it'],
    [(selinux.user ?? '') !== '', 'seLinuxOptions.user', 'remove it'],
    [(selinux.role ?? '') !== '', 'seLinuxOptions.role', 'remove it'],
    [context.windowsOptions?.hostProcess === true, 'windowsOptions.hostProcess', 'remove it'],
  ];
  return checks.flatMap(([bad, field, remedy]) => (bad ? [{ path: `${path}.${field}`, message: remedy }] : []));
}

const among = (value: string | undefined, known: string[]) => value === undefined || known.includes(value);

function capabilityProblems({ capabilities }: SecurityContext, path: string): PodProblem[] {
  const added = (capabilities?.add ?? []).filter((name) => name !== 'NET_BIND_SERVICE');
  return [
    ...(added.length > 0 ? [{ path: `${path}.capabilities.add`, message: `remove ${added.join(', ')}` }] : []),
    ...(capabilities?.drop?.includes('ALL') ? [] : [{ path: `${path}.capabilities.drop`, message: 'write [ALL]' }]),
  ];
}

/** Rejects probes and hooks with a host of their own. The kubelet makes these calls, so they would reach the network of the node. */
function handlerProblems(container: PodContainer, path: string): PodProblem[] {
  const { livenessProbe, readinessProbe, startupProbe, lifecycle } = container;
  const handlers = { livenessProbe, readinessProbe, startupProbe, ...lifecycle };
  return Object.entries(handlers).flatMap(([name, handler]) => {
    const there = [handler?.httpGet, handler?.tcpSocket].some((target) => (target?.host ?? '') !== '');
    return there ? [{ path: `${path}.${name}`, message: 'remove host' }] : [];
  });
}

/** Reports settings that a container, or its pod, must have because its image is not trusted. */
function unsaid(context: SecurityContext, pod: SecurityContext, path: string): PodProblem[] {
  const checks: [unknown, string, string][] = [
    [context.allowPrivilegeEscalation === false, 'allowPrivilegeEscalation', 'write false'],
    [context.runAsNonRoot ?? pod.runAsNonRoot, 'runAsNonRoot', 'write true'],
    [context.seccompProfile?.type ?? pod.seccompProfile?.type, 'seccompProfile', 'write type RuntimeDefault'],
  ];
  return checks.flatMap(([said, field, message]) => (said ? [] : [{ path: `${path}.${field}`, message }]));
}

function containerProblems(container: PodContainer, path: string, pod: SecurityContext): PodProblem[] {
  const context = container.securityContext ?? {};
  const here = `${path}.securityContext`;
  if (context.privileged) {
    return [{ path: `${here}.privileged`, message: 'remove it', hostAccess: true }];
  }
  const hostPorts = (container.ports ?? []).some(({ hostPort }) => hostPort !== undefined && hostPort !== 0);
  return [
    ...(hostPorts ? [{ path: `${path}.ports`, message: 'remove hostPort' }] : []),
    ...handlerProblems(container, path),
    ...contextProblems(context, here),
    ...(among(context.procMount, ['Default']) ? [] : [{ path: `${here}.procMount`, message: 'remove it' }]),
    ...capabilityProblems(context, here),
    ...unsaid(context, pod, here),
  ];
}

function volumeProblems(volume: PodVolume): PodProblem[] {
  const foreign = Object.keys(volume).filter((type) => type !== 'name' && !VOLUME_TYPES.includes(type));
  return foreign.map((type) => ({
    path: `spec.volumes[${volume.name}].${type}`,
    message: `write one of ${VOLUME_TYPES.join(', ')}`,
    hostAccess: type === 'hostPath',
  }));
}

export function containersOf({ spec }: PodTemplate): { container: PodContainer; path: string }[] {
  const under = (field: string, list: PodContainer[] = []) =>
    list.map((container) => ({ container, path: `spec.${field}[${container.name}]` }));
  return [...under('initContainers', spec.initContainers), ...under('containers', spec.containers)];
}

const APP_ARMOR = 'container.apparmor.security.beta.kubernetes.io/';

/** Checks the older spelling of an AppArmor profile. */
function annotationProblems({ metadata }: PodTemplate): PodProblem[] {
  return Object.entries(metadata?.annotations ?? {}).flatMap(([name, value]) =>
    name.startsWith(APP_ARMOR) && value !== '' && value !== 'runtime/default' && !value.startsWith('localhost/')
      ? [{ path: `metadata.annotations[${name}]`, message: 'write runtime/default, or remove it' }]
      : [],
  );
}

export function findRestrictedProblems(template: PodTemplate): PodProblem[] {
  const { spec } = template;
  const context = spec.securityContext ?? {};
  const host = (['hostNetwork', 'hostPID', 'hostIPC'] as const).filter((field) => spec[field]);
  const sysctls = (context.sysctls ?? []).filter(({ name }) => !SYSCTLS.includes(name));
  return [
    ...annotationProblems(template),
    ...host.map((field) => ({ path: `spec.${field}`, message: 'remove it' })),
    ...contextProblems(context, 'spec.securityContext'),
    ...sysctls.map(({ name }) => ({ path: `spec.securityContext.sysctls[${name}]`, message: 'remove it' })),
    ...(spec.volumes ?? []).flatMap(volumeProblems),
    ...containersOf(template).flatMap(({ container, path }) => containerProblems(container, path, context)),
  ];
}
