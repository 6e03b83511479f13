import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import { CHART, helm, NAMESPACED, ownGroup, renderChart } from './chart.ts';
import { isDone } from './release.ts';
import { describeWithCluster } from './use-cluster.ts';

interface Made {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string };
  spec?: object;
}

interface Pods {
  spec: { containers: { name: string; resources?: object }[] };
}

const objectsOf = (text: string) => parseAllDocuments(text).flatMap((document) => (document.toJS() ?? []) as Made[]);

describeWithCluster('the chart', (cluster) => {
  it('passes the linter', async () => {
    const { code, stdout } = await helm(cluster, ['lint', '--strict', CHART]);
    expect([code, stdout]).toEqual([0, expect.stringContaining('0 chart(s) failed')]);
  });

  it.each<[string, string[]]>([
    ['by default', []],
    [
      'with every switch the other way',
      [
        '--set=crds.install=false,webhook.enabled=false,admissionPolicy.enabled=false,rbac.aggregate=false,stdio.attach=true',
        '--set=networkPolicy.enabled=false,podDisruptionBudget.enabled=false,serviceAccount.create=false,serviceAccount.name=default',
        '--set=allowHostPaths=true,dashboards.enabled=true,replicas=1',
      ],
    ],
    ['for some namespaces', [NAMESPACED, '--set=watchNamespaces={default}']],
    [
      'with all that is optional',
      [
        '--set=imagePullSecrets={one},global.imagePullSecrets[0].name=two,image.digest=sha256:' + 'a'.repeat(64),
        '--set=priorityClassName=system-cluster-critical,nodeSelector.disk=ssd,podLabels.team=a,podAnnotations.note=b',
        '--set=extraEnv[0].name=HTTPS_PROXY,extraEnv[0].value=http://proxy:3128,metrics.scraperNamespaces={monitoring}',
        '--set=runtime.env[0].name=HTTPS_PROXY,runtime.env[0].value=http://proxy:3128,podTemplates.annotations={a.example/*}',
        '--set=podTemplates.sidecarsOf={team/demo}',
        '--set=management.enabled=true,management.namespace=team,management.replicas=2,management.sigstoreRootsConfigMap=roots',
        '--set=networkPolicy.managementFrom[0].podSelector.matchLabels.a=b',
      ],
    ],
  ])('renders objects that the API server accepts, %s', async (_what, values) => {
    const group = ownGroup('dry-run');
    const text = await renderChart(['--no-hooks', `--set=apiGroup=${group}`, ...values], 'dry-run');
    isDone(await cluster.kubectl(['apply', '--server-side', '--dry-run=server', '-f', '-'], text));
  });

  it('renders only namespaced objects when namespaces are named', async () => {
    const made = objectsOf(await renderChart([NAMESPACED, '--set=watchNamespaces={a,b}', '--namespace=own']));
    expect(made.map(({ metadata }) => metadata.namespace ?? 'none')).not.toContain('none');
    const roles = made.filter(({ kind }) => kind === 'Role').map(({ metadata }) => metadata.namespace);
    expect(roles.sort()).toEqual(['a', 'b', 'own']);
    const managed = [
      '--set=management.enabled=true,management.reviewsBound=true,watchNamespaces={a,b}',
      '--namespace=own',
    ];
    const all = objectsOf(await renderChart([NAMESPACED, ...managed]));
    expect(all.map(({ metadata }) => metadata.namespace ?? 'none')).not.toContain('none');
  });

  it('renders only objects that a namespace admin may create, except the roles that values-namespaced.yaml leaves to others', async () => {
    const namespace = await cluster.makeNamespace('chart-admin');
    const { name } = namespace;
    try {
      const binding = ['create', 'rolebinding', 'ned', '--clusterrole=admin', '--user=ned'];
      isDone(await cluster.kubectl(['-n', name, ...binding]));
      const values = [NAMESPACED, `--set=watchNamespaces={${name}}`, `--namespace=${name}`];
      const applied = async (...more: string[]) => {
        const text = await renderChart([...values, ...more], 'theirs');
        return cluster.kubectl(['-n', name, 'apply', '--dry-run=server', '--as=ned', '-f', '-'], text);
      };
      isDone(await applied('--set=rbac.create=false'));
      const { code, stderr } = await applied();
      expect(code).not.toBe(0);
      expect(stderr).toContain('is attempting to grant RBAC permissions not currently held');
      const roles = objectsOf(await renderChart([...values, '--show-only=templates/rbac-operator.yaml'], 'theirs'));
      expect(roles.map(({ kind }) => kind).sort()).toEqual(['Role', 'Role', 'RoleBinding', 'RoleBinding']);
    } finally {
      await namespace.delete();
    }
  });

  it.each<[string, string[], string]>([
    ['a value that is not there', ['--set=imag.tag=1'], 'imag'],
    ['a group that is none', ['--set=apiGroup=vmcp'], 'apiGroup'],
    ['a cluster that knows no admission policies', ['--kube-version=1.29.9'], '>=1.30'],
    ['definitions together with namespaces', ['--set=watchNamespaces={a}'], '--set crds.install=false'],
    [
      'a webhook together with namespaces',
      ['--set=watchNamespaces={a},crds.install=false'],
      '--set webhook.enabled=false',
    ],
    [
      'policies together with namespaces',
      ['--set=watchNamespaces={a},crds.install=false,webhook.enabled=false'],
      '--set admissionPolicy.enabled=false',
    ],
    [
      'policies together with namespaces, and names each',
      ['--set=watchNamespaces={a},crds.install=false,webhook.enabled=false'],
      '--show-only templates/admission-policy.yaml --show-only templates/documents-policy.yaml --show-only templates/records-policy.yaml',
    ],
    [
      'the management API together with namespaces, before somebody lets it ask who calls',
      [NAMESPACED, '--set=watchNamespaces={a},management.enabled=true'],
      '--serviceaccount=default:vmcp-management\nand install with --set management.reviewsBound=true',
    ],
    [
      'the management API with values of the version before, in which the operator served it',
      ['--set=management.enabled=true,management.replicas=null'],
      '--reset-then-reuse-values',
    ],
    [
      'one port for both identity providers of the demo',
      ['--set=demo.enabled=true,demo.partnerIdentityProviderPort=4480'],
      '--set demo.identityProviderPort=4480,demo.partnerIdentityProviderPort=4482',
    ],
    [
      'a port of the demo that is the endpoint’s in its pod',
      ['--set=demo.enabled=true,demo.port=80,demo.identityProviderPort=4483'],
      'demo.identityProviderPort 4483',
    ],
    [
      'values of the version before, in which the demo had one identity provider',
      ['--set=demo.enabled=true,demo.partnerIdentityProviderPort=null'],
      '--reset-then-reuse-values',
    ],
  ])('refuses %s, with the remedy', async (_what, values, words) => {
    await expect(renderChart(values)).rejects.toThrow(words);
  });

  it('differs only in the name of the API group when that is configured', async () => {
    const all = ['--set=management.enabled=true,demo.enabled=true,dashboards.enabled=true,serviceMonitor.enabled=true'];
    // These change with each rendering.
    const made = async (values: string[]) =>
      (await renderChart([...all, ...values])).replaceAll(/^ +(signing-key|hmac-secret): .*$/gm, '');
    const other = await made(['--set=apiGroup=mcp.acme.example']);
    expect(other).not.toContain('vmcp.dev');
    expect(other.replaceAll('mcp.acme.example', 'vmcp.dev')).toBe(await made([]));
  });

  it('takes images from one registry, by digest, with pull secrets that it also gives to created pods', async () => {
    const digest = `sha256:${'0'.repeat(64)}`;
    const values = [
      '--set=global.imageRegistry=mirror.example/vmcp/,demo.enabled=true',
      `--set=image.digest=${digest},imagePullSecrets={one},global.imagePullSecrets[0].name=two`,
    ];
    const text = await renderChart(values);
    const images = [...text.matchAll(/image: (\S+)|--runtime-image=(\S+)/g)].map(
      ([, image, runtime]) => image ?? runtime,
    );
    expect(new Set(images)).toEqual(
      new Set([
        `mirror.example/vmcp/vmcp-operator@${digest}`,
        'mirror.example/vmcp/vmcp-runtime:0.1.0',
        'mirror.example/vmcp/vmcp-quickstart:0.1.0',
      ]),
    );
    expect(text).toContain('--image-pull-secret=one');
    expect(text).toContain('--image-pull-secret=two');
  });

  it('sets requests and limits of CPU and memory for every container, and pins no Service to one address family', async () => {
    const made = objectsOf(await renderChart(['--set=demo.enabled=true,management.enabled=true']));
    const containers = made.flatMap(({ spec }) => {
      const { template, podTemplateSpec } = (spec ?? {}) as Partial<Record<'template' | 'podTemplateSpec', Pods>>;
      return [template, podTemplateSpec].flatMap((pods) => pods?.spec.containers ?? []);
    });
    expect(containers.map(({ name }) => name).sort()).toEqual([
      'clean-up',
      'company',
      'management',
      'operator',
      'partner',
    ]);
    const amounts = { cpu: expect.anything(), memory: expect.anything() };
    for (const { resources } of containers) expect(resources).toMatchObject({ requests: amounts, limits: amounts });
    const services = made.filter(({ kind }) => kind === 'Service').map(({ spec }) => spec);
    expect(services).toEqual(Array(4).fill(expect.objectContaining({ ipFamilyPolicy: 'PreferDualStack' })));
  });

  it('lists every image, for sites without an external registry', async () => {
    const text = await renderChart(['--set=demo.enabled=true']);
    const images = [...text.matchAll(/image: (\S+)|--runtime-image=(\S+)/g)].map(
      ([, image, runtime]) => image ?? runtime,
    );
    const listed = readFileSync(join(CHART, 'images.txt'), 'utf8')
      .split('\n')
      .filter((line) => /^[^#]/.test(line));
    expect([...new Set(images)].sort()).toEqual(listed.sort());
  });
});
