import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import { PROGRAM } from '../local/run-vmcp.ts';
import { isInstalled } from '../redis/is-installed.ts';
import { renderChart } from './chart.ts';
import { fetchModule } from './kit/fetch-module.ts';
import { run } from './run-program.ts';
import { untilEstablished } from './stage.ts';
import { describeWithCluster, type Namespace } from './use-cluster.ts';

const ROOT = join(import.meta.dirname, '../..');
const FLUX = join(ROOT, 'examples/gitops/flux');
const ARGO_CD = join(ROOT, 'examples/gitops/argo-cd/application.yaml');
const EXPOSING = join(ROOT, 'examples/exposing');

/** Go modules of other projects, with those of their definitions that the manifests need. */
const DEFINITIONS: Record<string, string[]> = {
  'github.com/prometheus-operator/prometheus-operator@v0.85.0': [
    'example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml',
  ],
  'github.com/fluxcd/source-controller@v1.9.6': ['config/crd/bases/source.toolkit.fluxcd.io_gitrepositories.yaml'],
  'github.com/fluxcd/kustomize-controller@v1.9.6': ['config/crd/bases/kustomize.toolkit.fluxcd.io_kustomizations.yaml'],
  'github.com/fluxcd/helm-controller@v1.6.0': ['config/crd/bases/helm.toolkit.fluxcd.io_helmreleases.yaml'],
  'github.com/argoproj/argo-cd/v3@v3.1.0': ['manifests/crds/application-crd.yaml'],
  'sigs.k8s.io/gateway-api@v1.4.0': ['gateways', 'httproutes'].map(
    (plural) => `config/crd/standard/gateway.networking.k8s.io_${plural}.yaml`,
  ),
};

const SERVER = `
apiVersion: vmcp.dev/v1alpha1
kind: MCPGroup
metadata: { name: tools }
---
apiVersion: vmcp.dev/v1alpha1
kind: VirtualMCPServer
metadata: { name: front }
spec:
  config: { groupRef: tools }
  incomingAuth: { type: anonymous }
`;

interface Made {
  kind: string;
  metadata: { name: string; namespace: string; labels?: Record<string, string> };
  spec: {
    selector: Record<string, string> & { matchLabels?: Record<string, string> };
    namespaceSelector?: { any: boolean };
    endpoints: { port?: string; targetPort?: number; path: string }[];
    ports: { name: string; port: number; targetPort: string | number }[];
    template: {
      metadata: { labels: Record<string, string> };
      spec: { containers: { ports?: { name: string; containerPort: number }[] }[] };
    };
  };
}

/** The fields of a Gateway, an HTTPRoute or an Ingress that the tests read. */
interface Exposed {
  metadata: { annotations: Record<string, string> };
  spec: {
    listeners: object[];
    hostnames: string[];
    tls: [{ hosts: string[] }];
    rules: [
      {
        matches: object[];
        timeouts: object;
        backendRefs: object[];
        host: string;
        http: {
          paths: [{ path: string; pathType: string; backend: { service: { name: string; port: { number: number } } } }];
        };
      },
    ];
  };
}

const objectsOf = (text: string) => parseAllDocuments(text).flatMap((document) => (document.toJS() ?? []) as Made[]);
const named = (objects: Made[], kind: string) => objects.filter((object) => object.kind === kind);
/** Every release of kubectl accepts a List; older ones read several JSON texts as one. */
const listOf = (items: object[]) => JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
const portsOf = (deployment: Made) => deployment.spec.template.spec.containers.flatMap(({ ports }) => ports ?? []);

describeWithCluster('kinds of other projects', (cluster) => {
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-foreign-'));
  const test = isInstalled('go') ? it : it.skip;
  const files: string[] = [];
  let namespace: Namespace;
  const dryRun = (text: string) =>
    cluster.kubectl(['apply', '--server-side', '--dry-run=server', '--validate=strict', '-f', '-'], text);

  /** Creates these Services, and asks the API server for those that a monitor selects. */
  async function selected(services: Made[], monitor: Made): Promise<Made[]> {
    // Without their owner: the garbage collector would delete them, as the owner does not exist.
    const unowned = services.map(({ metadata: { name, labels }, ...service }) => ({
      ...service,
      metadata: { name, labels, namespace: namespace.name },
    }));
    const applied = await cluster.kubectl(['apply', '--server-side', '-f', '-'], listOf(unowned));
    expect([applied.code, applied.stderr]).toEqual([0, '']);
    const labels = Object.entries(monitor.spec.selector.matchLabels ?? {}).map(([name, value]) => `${name}=${value}`);
    const { stdout } = await cluster.kubectl([
      '-n',
      namespace.name,
      'get',
      'services',
      '-l',
      labels.join(','),
      '-o',
      'json',
    ]);
    return (JSON.parse(stdout) as { items: Made[] }).items;
  }

  beforeAll(async () => {
    namespace = await cluster.makeNamespace('foreign');
    const fetched = Object.entries(DEFINITIONS).map(async ([module, paths]) => {
      const at = await fetchModule(module);
      files.push(...paths.map((path) => join(at, path)));
    });
    await Promise.all(fetched);
    const each = files.flatMap((file) => ['-f', file]);
    const applied = await cluster.kubectl(['apply', '--server-side', ...each]);
    expect([applied.code, applied.stderr]).toEqual([0, '']);
    expect((await untilEstablished(cluster, ...each)).code).toBe(0);
  }, 300_000);
  afterAll(async () => {
    await cluster.kubectl(['delete', '--ignore-not-found', '--wait=false', ...files.flatMap((file) => ['-f', file])]);
    await namespace.delete();
    rmSync(folder, { recursive: true, force: true });
  });

  test('the API server accepts the ServiceMonitors of the chart, and that of the operator selects only its metrics port', async () => {
    const values = [
      '--set=serviceMonitor.enabled=true,serviceMonitor.labels.release=prometheus,management.enabled=true',
    ];
    const made = objectsOf(await renderChart([...values, `--namespace=${namespace.name}`]));
    const monitors = named(made, 'ServiceMonitor');
    const taken = await dryRun(listOf(monitors));
    expect([taken.code, taken.stderr]).toEqual([0, '']);
    const monitor = monitors.find(({ metadata }) => metadata.name === 'vmcp');
    const [endpoint] = monitor!.spec.endpoints;
    const found = await selected(named(made, 'Service'), monitor!);
    const ports = found.flatMap(({ metadata, spec }) =>
      spec.ports.filter(({ name }) => name === endpoint!.port).map(({ targetPort }) => [metadata.name, targetPort]),
    );
    expect([endpoint!.path, ports]).toEqual(['/metrics', [['vmcp-metrics', 'metrics']]]);
    const deployment = named(made, 'Deployment').find(({ metadata }) => metadata.name === 'vmcp');
    expect(portsOf(deployment!).map(({ name }) => name)).toContain('metrics');
    expect(monitors.map(({ metadata }) => metadata.labels?.release)).toEqual(Array(3).fill('prometheus'));
  });

  test('the second monitor selects only the metrics Service of a server, whose pods have that port', async () => {
    writeFileSync(join(folder, 'server.yaml'), SERVER);
    const rendered = await run(process.execPath, [PROGRAM, 'render', folder, '--cluster', '-n', namespace.name]);
    const made = objectsOf(rendered);
    const monitor = named(objectsOf(await renderChart(['--set=serviceMonitor.enabled=true'])), 'ServiceMonitor')[1];
    expect(monitor!.spec.namespaceSelector).toEqual({ any: true });
    const found = await selected(named(made, 'Service'), monitor!);
    expect(found.map(({ metadata }) => metadata.name)).toEqual(['metrics-vmcp-front']);
    const [deployment] = named(made, 'Deployment');
    expect(portsOf(deployment!).map(({ containerPort }) => containerPort)).toContain(
      monitor!.spec.endpoints[0]!.targetPort,
    );
    expect(deployment!.spec.template.metadata.labels).toMatchObject(found[0]!.spec.selector);
  });

  test.each(['operator.yaml', 'team.yaml'])('the example for Flux is accepted field by field: %s', async (file) => {
    const text = readFileSync(join(FLUX, file), 'utf8').replaceAll('flux-system', namespace.name);
    const taken = await dryRun(text);
    expect([taken.code, taken.stderr]).toEqual([0, '']);
    const refused = await dryRun(text.replace('interval:', 'intervall: 1h\n  interval:'));
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('intervall')]);
  });

  test('the example for Argo CD is accepted field by field', async () => {
    const text = readFileSync(ARGO_CD, 'utf8').replaceAll('namespace: argocd', `namespace: ${namespace.name}`);
    expect(named(objectsOf(text), 'Application')).toHaveLength(2);
    const taken = await dryRun(text);
    expect([taken.code, taken.stderr]).toEqual([0, '']);
    const refused = await dryRun(text.replace('jqPathExpressions:', 'jqPathExpression:'));
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('jqPathExpression')]);
  });

  /** Returns the Services that the operator makes for a server, and for a backend without one. */
  async function servicesOf(server: string): Promise<Made[]> {
    writeFileSync(join(folder, 'server.yaml'), SERVER.replace('front', server));
    const rendered = await run(process.execPath, [PROGRAM, 'render', folder, '--cluster', '-n', namespace.name]);
    return named(objectsOf(rendered), 'Service');
  }

  test.each([
    ['http-route.yaml', 'kind: HTTPRoute', 'backendRefs:', 'backendRef:'],
    ['ingress.yaml', 'kind: Ingress', 'ingressClassName:', 'ingressClass:'],
  ])('the example of an endpoint behind %s is accepted field by field', async (file, kind, field, misspelt) => {
    const text = readFileSync(join(EXPOSING, file), 'utf8');
    expect(text).toContain(kind);
    const taken = await dryRun(text);
    expect([taken.code, taken.stderr]).toEqual([0, '']);
    const refused = await dryRun(text.replace(field, misspelt));
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(misspelt.replace(':', ''))]);
  });

  test('both examples route all paths to the operator’s Service, with TLS and without a timeout of streams', async () => {
    const ports = (await servicesOf('staff')).flatMap(({ metadata: { name }, spec }) =>
      spec.ports.map(({ port }) => ({ name, port })),
    );
    const read = (file: string) => objectsOf(readFileSync(join(EXPOSING, file), 'utf8')) as unknown as Exposed[];
    const [gateway, route] = read('http-route.yaml') as [Exposed, Exposed];
    const [ingress] = read('ingress.yaml') as [Exposed];
    const [rule] = route.spec.rules;
    expect(ports).toEqual(expect.arrayContaining(rule.backendRefs));
    expect([rule.matches, rule.timeouts]).toEqual([
      [{ path: { type: 'PathPrefix', value: '/' } }],
      { request: '0s', backendRequest: '0s' },
    ]);
    expect(gateway.spec.listeners).toEqual([
      expect.objectContaining({ protocol: 'HTTPS', hostname: route.spec.hostnames[0] }),
    ]);
    const [{ host, http }] = ingress.spec.rules;
    const [{ path, pathType, backend }] = http.paths;
    expect([path, pathType, ingress.spec.tls[0].hosts]).toEqual(['/', 'Prefix', [host]]);
    expect(ports).toContainEqual({ name: backend.service.name, port: backend.service.port.number });
    expect(ingress.metadata.annotations).toMatchObject({
      'nginx.ingress.kubernetes.io/proxy-buffering': 'off',
      'nginx.ingress.kubernetes.io/proxy-read-timeout': '3600',
    });
  });
});
