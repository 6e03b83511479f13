import { describe, expect, it } from '@jest/globals';
import { applyPodTemplate } from '#operator/plan/apply-pod-template';
import { RESTRICTED, RESTRICTED_POD } from './object-parts.ts';
import type { ClusterFacts, Manifest } from '#operator/snapshot';

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
  /** The pod runs the tenant's own program: vmcp does not own container `vmcp`, and other containers are allowed. */
  program?: true;
}

const NAMED = { name: 'demo', namespace: 'team' };

function apply(template: object, { namespace = 'team', facts, spec = {}, program }: Setting = {}): typeof rendered {
  const manifest: Manifest = {
    apiVersion: 'vmcp.dev/v1alpha1',
    kind: 'VirtualMCPServer',
    metadata: { name: 'demo', namespace },
    spec: { ...spec, podTemplateSpec: template },
  };
  const ownContainers = program ?? false;
  const ours = program ? [] : ['vmcp'];
  return applyPodTemplate(rendered, { manifest, template, ours, ownContainers }, { ...cluster, ...facts });
}

const pod = (spec: object) => ({ spec });
const own = (fields: object) => pod({ containers: [{ name: 'vmcp', ...fields }] });
const context = (fields: object) => own({ securityContext: fields });
const EXEC = { postStart: { exec: { command: ['sh'] } } };
const volume = (fields: object) => pod({ volumes: [{ name: 'v', ...fields }] });
const claim = (volumeClaimTemplate: object) => volume({ ephemeral: { volumeClaimTemplate } });
const side = (fields: object = {}) =>
  pod({ containers: [{ name: 'side', image: 'x', securityContext: RESTRICTED, ...fields }] });

describe('applyPodTemplate', () => {
  it.each<[string, object, Setting?]>([
    ['where pods run', pod({ nodeSelector: { a: 'b' }, tolerations: [{ operator: 'Exists' }] })],
    ['which pods matter more', pod({ priorityClassName: 'high' })],
    ['how pods are spread', pod({ affinity: {}, topologySpreadConstraints: [{ topologyKey: 'rack', maxSkew: 1 }] })],
    ['another class of runtime', pod({ runtimeClassName: 'gvisor' })],
    ['Secrets for pulling images, which admission asks about', pod({ imagePullSecrets: [{ name: 'registry' }] })],
    ['how long a pod has to end', pod({ terminationGracePeriodSeconds: 60 })],
    ['another user', pod({ securityContext: { runAsUser: 1001, fsGroup: 1001 } })],
    ['labels', { metadata: { labels: { team: 'a' } } }],
    ['a usual annotation', { metadata: { annotations: { 'prometheus.io/scrape': 'true' } } }],
    [
      'an annotation that the operator allows',
      { metadata: { annotations: { 'a.example/b': 'c' } } },
      { facts: { podAnnotations: ['a.example/*'] } },
    ],
    ['how much the container takes', own({ resources: { limits: { memory: '1Gi' } } })],
    ['a variable of the container', own({ env: [{ name: 'TZ', value: 'UTC' }] })],
    ['how much memory Node may take', own({ env: [{ name: 'NODE_OPTIONS', value: '--max-old-space-size=900' }] })],
    ['after how long a pod is asked', own({ livenessProbe: { periodSeconds: 20 } })],
    [
      'what a sidecar runs',
      side({ env: [{ name: 'NODE_OPTIONS', value: '--inspect' }], lifecycle: EXEC }),
      { program: true },
    ],
    ['what a program of the writer runs', own({ image: 'other', command: ['sh'] }), { program: true }],
    ['a sidecar', side(), { program: true }],
    [
      'a port below 1024',
      side({ securityContext: { ...RESTRICTED, capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] } } }),
      { program: true },
    ],
    ['folders that end with the pod', volume({ emptyDir: {} }), { program: true }],
    [
      'a Secret that spec names',
      volume({ secret: { secretName: 's' } }),
      { program: true, spec: { secrets: [{ name: 's', key: 'k' }] } },
    ],
    [
      'a Secret of a header that spec names',
      own({ envFrom: [{ secretRef: { name: 's' } }] }),
      { program: true, spec: { headerForward: { addHeadersFromSecret: { 'X-Key': { name: 's', key: 'k' } } } } },
    ],
    [
      'a folder of the node that is allowed',
      volume({ hostPath: { path: '/data' } }),
      { program: true, facts: { allowHostPaths: true } },
    ],
    ['privileges that are allowed', context({ privileged: true }), { facts: { allowHostPaths: true } }],
  ])('accepts %s', (...[, template, setting]) => {
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
      'spec.containers[vmcp].securityContext.privileged: remove it; only the administrator of the operator can allow it',
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
  ])('rejects a template outside the Restricted standard: %j', (...[template, message, setting]) => {
    expect(() => apply(template, setting)).toThrow(message);
  });

  it.each<[object, string, Setting?]>([
    [
      own({ image: 'evil' }),
      'podTemplateSpec.spec.containers[vmcp].image: may not be written in a template: remove it',
    ],
    [own({ command: ['sh'] }), 'containers[vmcp].command: may not be written'],
    [own({ args: ['--other'] }), 'containers[vmcp].args: may not be written'],
    [own({ volumeMounts: [{ name: 'config', mountPath: '/x' }] }), 'containers[vmcp].volumeMounts: may not'],
    [own({ lifecycle: EXEC }), 'containers[vmcp].lifecycle: may not be written'],
    [own({ startupProbe: { exec: { command: ['sh'] } } }), 'containers[vmcp].startupProbe.exec: may not be written'],
    [own({ env: [{ name: 'NODE_OPTIONS', value: '--inspect=0.0.0.0' }] }), 'containers[vmcp].env[NODE_OPTIONS]: may'],
    [
      own({
        env: [{ name: 'NODE_OPTIONS', valueFrom: { configMapKeyRef: { name: 'c', key: 'k' } } }],
      }),
      'containers[vmcp].env[NODE_OPTIONS]',
    ],
    [own({ env: [{ name: 'LD_PRELOAD', value: '/x.so' }] }), 'env[LD_PRELOAD]'],
    [own({ envFrom: [{ configMapRef: { name: 'c' } }] }), 'containers[vmcp].envFrom: may not be written'],
    [own({ envFrom: [{ secretRef: { name: 'others' } }] }), 'containers[vmcp].envFrom[0]: Secret "others"'],
    [pod({ shareProcessNamespace: true }), 'spec.shareProcessNamespace: may not be written'],
    [own({ $patch: 'delete' }), 'spec.containers[vmcp]: is a container of ours: keep it'],
    [pod({ volumes: [{ name: 'config', configMap: { name: 'other' } }] }), 'spec.volumes[config]: is a volume of ours'],
    [pod({ volumes: [{ name: 'config', $patch: 'delete' }] }), 'spec.volumes[config]: is a volume of ours: keep it'],
    [{ metadata: { labels: { app: 'other' } } }, 'metadata.labels[app]: selects the pods'],
  ])('rejects a change of a vmcp container or volume: %j', (...[template, message, setting]) => {
    expect(() => apply(template, setting)).toThrow(message);
  });

  it.each<[object, string, Setting?]>([
    [pod({ automountServiceAccountToken: true }), 'spec.automountServiceAccountToken: may not be written'],
    [pod({ automountServiceAccountToken: null }), 'spec.automountServiceAccountToken: may not be written'],
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
    [
      pod({ serviceAccountName: 'mine' }),
      "spec.serviceAccountName: may not be written in a template: write the resource's own serviceAccount",
    ],
    [pod({ serviceAccount: 'mine' }), 'spec.serviceAccount: may not be written'],
  ])(
    "rejects more access for the tenant's program than the other fields give: %j",
    (...[template, message, setting]) => {
      expect(() => apply(template, { program: true, ...setting })).toThrow(message);
    },
  );

  it.each<[string, object]>([
    ['spec.hostAliases', pod({ hostAliases: [{ ip: '192.0.2.1', hostnames: ['api.github.com'] }] })],
    ['spec.dnsConfig', pod({ dnsConfig: { nameservers: ['192.0.2.1'] } })],
    ['spec.dnsPolicy', pod({ dnsPolicy: 'None' })],
    ['spec.hostname', pod({ hostname: 'a', subdomain: 'b' })],
    ['spec.nodeName', pod({ nodeName: 'a' })],
    ['spec.schedulerName', pod({ schedulerName: 'a' })],
    ['spec.readinessGates', pod({ readinessGates: [{ conditionType: 'a' }] })],
    ['spec.resourceClaims', pod({ resourceClaims: [{ name: 'a', resourceClaimName: 'b' }] })],
    ['spec.whatComesLater', pod({ whatComesLater: true })],
    ['spec.securityContext.whatComesLater', pod({ securityContext: { whatComesLater: true } })],
    ['metadata.finalizers', { metadata: { finalizers: ['a.example/b'] } }],
    [
      'metadata.annotations[sidecar.example/inject]',
      { metadata: { annotations: { 'sidecar.example/inject': 'true' } } },
    ],
    ['spec.containers[side].whatComesLater', side({ whatComesLater: true })],
    ['spec.containers[side].env[A].valueFrom.later', side({ env: [{ name: 'A', valueFrom: { later: {} } }] })],
    ['spec.containers[side].envFrom[0].later', side({ envFrom: [{ later: {} }] })],
    [
      'spec.volumes[v].ephemeral.volumeClaimTemplate.metadata',
      claim({ metadata: { annotations: { 'a.example/b': 'c' } } }),
    ],
    [
      'spec.volumes[v].ephemeral.volumeClaimTemplate.spec.dataSource',
      claim({ spec: { dataSource: { name: 'other' } } }),
    ],
    ['spec.volumes[v].csi', volume({ csi: { driver: 'secrets-store.csi.k8s.io' } })],
    ['spec.volumes[v].projected.podCertificate', volume({ projected: { sources: [{ podCertificate: {} }] } })],
  ])('rejects %s by name in the pods of a program and of an endpoint', (path, template) => {
    expect(() => apply(template, { program: true })).toThrow(`podTemplateSpec.${path}: `);
    if (!/\[(side|v)\]/.test(path)) expect(() => apply(template)).toThrow(`podTemplateSpec.${path}: `);
  });

  it.each([
    'HTTP_PROXY',
    'HTTPS_PROXY',
    'https_proxy',
    'NO_PROXY',
    'NODE_USE_ENV_PROXY',
    'NODE_EXTRA_CA_CERTS',
    'NODE_TLS_REJECT_UNAUTHORIZED',
    'SSL_CERT_FILE',
    'SSL_CERT_DIR',
    'HOSTALIASES',
    'LOCALDOMAIN',
    'RES_OPTIONS',
    'OTEL_EXPORTER_OTLP_ENDPOINT',
  ])('rejects the variable %s, which sets where a vmcp container connects or whom it trusts', (name) => {
    const message = `podTemplateSpec.spec.containers[vmcp].env[${name}]: may say`;
    expect(() => apply(own({ env: [{ name, value: 'x' }] }))).toThrow(message);
    expect(apply(own({ env: [{ name, value: 'x' }] }), { program: true })).not.toEqual(rendered);
  });

  it('keeps the variables that the administrator gives every runtime', () => {
    const [container] = rendered.spec.containers;
    const given = { ...container, env: [{ name: 'HTTPS_PROXY', value: 'http://proxy:3128' }] };
    const pods = { ...rendered, spec: { ...rendered.spec, containers: [given] } };
    const manifest: Manifest = { apiVersion: 'vmcp.dev/v1alpha1', kind: 'VirtualMCPServer', metadata: NAMED };
    const written = (env: object[]) => ({ manifest, template: own({ env }), ours: ['vmcp'], ownContainers: false });
    for (const entry of [{ $patch: 'delete' }, { value: 'http://evil:1' }])
      expect(() => applyPodTemplate(pods, written([{ name: 'HTTPS_PROXY', ...entry }]), cluster)).toThrow(
        'containers[vmcp].env[HTTPS_PROXY]',
      );
    const zone = { name: 'TZ', value: 'UTC' };
    expect(applyPodTemplate(pods, written([zone]), cluster).spec.containers[0]).toMatchObject({
      env: expect.arrayContaining([...given.env, zone]),
    });
  });

  it('rejects containers and volumes beside an endpoint', () => {
    expect(() => apply(side())).toThrow('podTemplateSpec.spec.containers[side]: no container may be added');
    const init = pod({ initContainers: [{ name: 'init', image: 'x', securityContext: RESTRICTED }] });
    expect(() => apply(init)).toThrow('podTemplateSpec.spec.initContainers[init]: no container may be added');
    expect(() => apply(volume({ emptyDir: {} }))).toThrow('podTemplateSpec.spec.volumes[v]: no volume may be added');
  });

  it('suggests the field with the closest name', () => {
    expect(() => apply(pod({ tolerationz: [] }))).toThrow(
      'spec.tolerationz: may not be written in a template: did you',
    );
  });

  it('lists several problems and counts the rest', () => {
    const volumes = Array.from({ length: 12 }, (_, index) => ({ name: `v${index}`, hostPath: { path: '/' } }));
    expect(() => apply(pod({ volumes }), { program: true })).toThrow('and 2 more');
  });
});
