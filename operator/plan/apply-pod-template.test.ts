import { describe, expect, it } from '@jest/globals';
import { applyPodTemplate } from '#operator/plan/apply-pod-template';
import { RESTRICTED, RESTRICTED_POD } from '#operator/plan/pod-security';
import type { ClusterFacts, Manifest, World } from '#operator/world';

const cluster: ClusterFacts = {
  mode: 'cluster',
  runtimeImage: 'vmcp-runtime:1',
  allowHostPaths: false,
  operatorNamespace: 'vmcp-system',
};

const rendered = {
  metadata: { labels: { app: 'demo' } },
  spec: {
    serviceAccountName: 'vmcp-demo',
    automountServiceAccountToken: false,
    securityContext: RESTRICTED_POD,
    containers: [
      {
        name: 'vmcp',
        image: 'vmcp-runtime:1',
        args: ['--config', 'x'],
        securityContext: RESTRICTED,
        volumeMounts: [{ name: 'config', mountPath: '/etc/vmcp/config' }],
      },
    ],
    volumes: [
      { name: 'config', configMap: { name: 'c' } },
      { name: 'credentials', secret: { secretName: 'vmcp-demo-credentials' } },
    ],
  },
};

interface Setting {
  namespace?: string;
  facts?: Partial<ClusterFacts>;
  /** Other fields of the resource. */
  spec?: object;
}

function apply(template: object, { namespace = 'team', facts, spec = {} }: Setting = {}): typeof rendered {
  const manifest: Manifest = {
    apiVersion: 'vmcp.dev/v1alpha1',
    kind: 'VirtualMCPServer',
    metadata: { name: 'demo', namespace },
    spec: { ...spec, podTemplateSpec: template },
  };
  const world = { namespace } as World;
  return applyPodTemplate(rendered, { manifest, template, ours: ['vmcp'] }, { ...cluster, ...facts }, world);
}

const pod = (spec: object) => ({ spec });
const own = (fields: object) => pod({ containers: [{ name: 'vmcp', ...fields }] });
const context = (fields: object) => own({ securityContext: fields });
const EXEC = { postStart: { exec: { command: ['sh'] } } };
const volume = (fields: object) => pod({ volumes: [{ name: 'v', ...fields }] });
const side = (fields: object = {}) =>
  pod({ containers: [{ name: 'side', image: 'x', securityContext: RESTRICTED, ...fields }] });

describe('a pod template', () => {
  it.each<[string, object, Setting?]>([
    ['where pods run', pod({ nodeSelector: { a: 'b' }, tolerations: [{ operator: 'Exists' }] })],
    ['a variable of the container', own({ env: [{ name: 'TZ', value: 'UTC' }] })],
    ['how much memory Node may take', own({ env: [{ name: 'NODE_OPTIONS', value: '--max-old-space-size=900' }] })],
    ['after how long a pod is asked', own({ livenessProbe: { periodSeconds: 20 } })],
    ['what a sidecar runs', side({ env: [{ name: 'NODE_OPTIONS', value: '--inspect' }], lifecycle: EXEC })],
    ['the account, in another namespace', pod({ serviceAccountName: 'mine' })],
    ['a sidecar', side()],
    [
      'a port below 1024',
      side({ securityContext: { ...RESTRICTED, capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] } } }),
    ],
    ['folders that end with the pod', volume({ emptyDir: {} })],
    [
      'a Secret that spec names',
      volume({ secret: { secretName: 's' } }),
      { spec: { tls: { secretRef: { name: 's' } } } },
    ],
    [
      'a Secret of a header that spec names',
      own({ envFrom: [{ secretRef: { name: 's' } }] }),
      { spec: { headerForward: { addHeadersFromSecret: { 'X-Key': { name: 's', key: 'k' } } } } },
    ],
    [
      'a folder of the node that is allowed',
      volume({ hostPath: { path: '/data' } }),
      { facts: { allowHostPaths: true } },
    ],
    ['privileges that are allowed', context({ privileged: true }), { facts: { allowHostPaths: true } }],
  ])('may say %s', (...[, template, setting]) => {
    expect(apply(template, setting)).not.toEqual(rendered);
  });

  it.each<[object, string, Setting?]>([
    [pod({ hostNetwork: true }), 'podTemplateSpec.spec.hostNetwork: remove it'],
    [pod({ hostPID: true }), 'spec.hostPID'],
    [pod({ hostIPC: true }), 'spec.hostIPC'],
    [pod({ securityContext: { runAsUser: 0 } }), 'spec.securityContext.runAsUser: root'],
    [pod({ securityContext: { seccompProfile: { type: 'Unconfined' } } }), 'spec.securityContext.seccompProfile'],
    [pod({ securityContext: { sysctls: [{ name: 'kernel.msgmax', value: '1' }] } }), 'sysctls[kernel.msgmax]'],
    [pod({ securityContext: { seLinuxOptions: { type: 'spc_t' } } }), 'seLinuxOptions.type'],
    [pod({ securityContext: { windowsOptions: { hostProcess: true } } }), 'windowsOptions.hostProcess'],
    [
      context({ privileged: true }),
      'spec.containers[vmcp].securityContext.privileged: remove it, or run the operator with --allow-host-paths',
    ],
    [context({ allowPrivilegeEscalation: true }), 'allowPrivilegeEscalation: write false'],
    [context({ capabilities: { add: ['SYS_ADMIN'] } }), 'capabilities.add: remove SYS_ADMIN'],
    [context({ capabilities: { drop: null } }), 'capabilities.drop: write [ALL]'],
    [context({ runAsNonRoot: false }), 'runAsNonRoot'],
    [context({ procMount: 'Unmasked' }), 'procMount'],
    [context({ appArmorProfile: { type: 'Unconfined' } }), 'appArmorProfile'],
    [own({ ports: [{ containerPort: 1, hostPort: 1 }] }), 'remove hostPort'],
    [own({ livenessProbe: { httpGet: { host: '169.254.169.254', port: 80 } } }), 'livenessProbe: remove host'],
    [
      side({ securityContext: { privileged: false } }),
      'spec.containers[side].securityContext.allowPrivilegeEscalation',
    ],
    [
      pod({ initContainers: [{ name: 'init', image: 'x' }] }),
      'spec.initContainers[init].securityContext.allowPrivilegeEscalation',
    ],
    [volume({ hostPath: { path: '/' } }), 'spec.volumes[v].hostPath: write one of'],
    [volume({ nfs: { server: 'x', path: '/' } }), 'spec.volumes[v].nfs', { facts: { allowHostPaths: true } }],
    [
      { metadata: { annotations: { 'container.apparmor.security.beta.kubernetes.io/vmcp': 'unconfined' } } },
      'metadata.annotations[container.apparmor.security.beta.kubernetes.io/vmcp]',
    ],
  ])('may not leave the Restricted standard: %j', (...[template, message, setting]) => {
    expect(() => apply(template, setting)).toThrow(message);
  });

  it.each<[object, string, Setting?]>([
    [own({ image: 'evil' }), 'podTemplateSpec.spec.containers[vmcp].image: is not to be changed: remove it'],
    [own({ command: ['sh'] }), 'containers[vmcp].command: is not to be changed'],
    [own({ args: ['--other'] }), 'containers[vmcp].args: is not to be changed'],
    [own({ volumeMounts: [{ name: 'config', mountPath: '/x' }] }), 'containers[vmcp].volumeMounts'],
    [own({ lifecycle: EXEC }), 'containers[vmcp].postStart.exec: runs in a container of ours: remove it'],
    [own({ startupProbe: { exec: { command: ['sh'] } } }), 'containers[vmcp].startupProbe.exec'],
    [own({ env: [{ name: 'NODE_OPTIONS', value: '--inspect=0.0.0.0' }] }), 'containers[vmcp].env[NODE_OPTIONS]: may'],
    [
      own({
        env: [{ name: 'NODE_OPTIONS', valueFrom: { configMapKeyRef: { name: 'c', key: 'k' } } }],
      }),
      'containers[vmcp].env[NODE_OPTIONS]',
    ],
    [own({ env: [{ name: 'NODE_TLS_REJECT_UNAUTHORIZED', value: '0' }] }), 'env[NODE_TLS_REJECT_UNAUTHORIZED]'],
    [own({ env: [{ name: 'LD_PRELOAD', value: '/x.so' }] }), 'env[LD_PRELOAD]'],
    [own({ envFrom: [{ configMapRef: { name: 'c' } }] }), 'containers[vmcp].envFrom[0].configMapRef: may'],
    [pod({ shareProcessNamespace: true }), 'spec.shareProcessNamespace: lets containers read each other'],
    [own({ $patch: 'delete' }), 'spec.containers[vmcp]: is a container of ours: keep it'],
    [pod({ volumes: [{ name: 'config', configMap: { name: 'other' } }] }), 'spec.volumes[config]: is a volume of ours'],
    [pod({ volumes: [{ name: 'config', $patch: 'delete' }] }), 'spec.volumes[config]: is a volume of ours: keep it'],
    [pod({ automountServiceAccountToken: true }), 'spec.automountServiceAccountToken: no token is mounted'],
    [pod({ automountServiceAccountToken: null }), 'spec.automountServiceAccountToken: no token is mounted'],
    [
      volume({ projected: { sources: [{ serviceAccountToken: { path: 't' } }] } }),
      'spec.volumes[v].projected.serviceAccountToken: no token is mounted',
    ],
    [volume({ secret: { secretName: 'others' } }), 'Secret "others" is not named by the fields of spec'],
    [
      volume({ secret: { secretName: 'others' } }),
      'Secret "others" is not named',
      { spec: { outgoingAuth: { backends: { secretRef: { externalAuthConfigRef: { name: 'others' } } } } } },
    ],
    [
      volume({ secret: { secretName: 'others' } }),
      'Secret "others" is not named',
      { spec: { config: { aggregation: { tools: [{ overrides: { get_secret: { name: 'others' } } }] } } } },
    ],
    [
      volume({ secret: { secretName: 'others' } }),
      'Secret "others" is not named',
      { spec: { toolsOverride: { secretRef: { name: 'others' } } } },
    ],
    [volume({ projected: { sources: [{ secret: { name: 'others' } }] } }), 'Secret "others" is not named'],
    [volume({ csi: { driver: 'd', nodePublishSecretRef: { name: 'others' } } }), 'Secret "others" is not named'],
    [own({ envFrom: [{ secretRef: { name: 'others' } }] }), 'containers[vmcp].envFrom[0]: Secret "others"'],
    [
      own({ env: [{ name: 'X', valueFrom: { secretKeyRef: { name: 'others', key: 'k' } } }] }),
      'containers[vmcp].env[X]: Secret "others"',
    ],
    [
      volume({ secret: { secretName: 'pull' } }),
      'Secret "pull" is not named',
      { spec: { imagePullSecrets: [{ name: 'pull' }] } },
    ],
    [
      side({ volumeMounts: [{ name: 'credentials', mountPath: '/c' }] }),
      'spec.containers[side].volumeMounts[credentials]: is a volume of ours',
    ],
    [{ metadata: { labels: { app: 'other' } } }, 'metadata.labels[app]: selects the pods'],
    [pod({ serviceAccountName: 'vmcp' }), 'spec.serviceAccountName: no service account', { namespace: 'vmcp-system' }],
    [pod({ serviceAccount: 'vmcp' }), 'spec.serviceAccountName: no service account', { namespace: 'vmcp-system' }],
  ])('gives no more than the other fields: %j', (...[template, message, setting]) => {
    expect(() => apply(template, setting)).toThrow(message);
  });

  it('names several problems, and how many more there are', () => {
    const volumes = Array.from({ length: 12 }, (_, index) => ({ name: `v${index}`, hostPath: { path: '/' } }));
    expect(() => apply(pod({ volumes }))).toThrow('and 2 more');
  });
});
