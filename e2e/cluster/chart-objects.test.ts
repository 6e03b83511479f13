import { expect, it } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import { RUNTIMES } from '#operator/plan/object-parts';
import { renderChart } from './chart.ts';
import { describeWithCluster } from './use-cluster.ts';

interface Made {
  kind: string;
  metadata: { name: string };
  spec?: object;
}

interface Templated {
  replicas: number;
  template: { metadata: { labels: Record<string, string> }; spec: object };
}

interface Binding extends Made {
  subjects: [{ name: string }];
}

interface Policy {
  podSelector: { matchLabels: Record<string, string> };
}

const objectsOf = (text: string) => parseAllDocuments(text).flatMap((document) => (document.toJS() ?? []) as Made[]);

// The API server gets no request: the cluster only provides helm.
describeWithCluster('the objects of the chart', () => {
  const tcp = (...ports: (number | string)[]) => ports.map((port) => ({ port, protocol: 'TCP' }));
  const server = [{ ipBlock: { cidr: '10.0.0.1/32' } }];
  const names = { ports: [{ port: 53, protocol: 'UDP' }, ...tcp(53)] };
  /** Returns the NetworkPolicy of one program, after a check that it selects the pods of its Deployment. */
  const policyOf = async (name: string, ...values: string[]) => {
    const cidr = '--set=networkPolicy.apiServerCidrs={10.0.0.1/32},podLabels.team=a';
    const made = objectsOf(await renderChart([cidr, ...values]));
    const isIts = (wanted: string) => (one: Made) => one.kind === wanted && one.metadata.name === name;
    const { template } = made.find(isIts('Deployment'))?.spec as Templated;
    const { podSelector, ...rules } = made.find(isIts('NetworkPolicy'))?.spec as Policy;
    expect(template.metadata.labels).toMatchObject(podSelector.matchLabels);
    return rules;
  };

  it('let peers reach the served ports of operators, and operators reach DNS, the API server and /status of runtimes', async () => {
    const key = 'app.kubernetes.io/name';
    const runtimes = { matchExpressions: [{ key, operator: 'In', values: RUNTIMES }] };
    const rules = {
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ ports: tcp('webhook'), from: server }, { ports: tcp('metrics') }],
      egress: [
        names,
        { ports: tcp(443, 6443), to: server },
        { ports: tcp(4484), to: [{ namespaceSelector: {}, podSelector: runtimes }] },
      ],
    };
    expect(await policyOf('vmcp')).toEqual(rules);
    expect(await policyOf('vmcp', '--set=management.enabled=true')).toEqual(rules);
  });

  it('let callers reach the management API, and the management API reach DNS, the API server and registries', async () => {
    const enabled = '--set=management.enabled=true';
    const [callers, registries] = [{ podSelector: { a: 'b' } }, { ipBlock: { cidr: '10.1.0.0/16' } }];
    const api = { ports: tcp(443, 6443), to: server };
    expect(await policyOf('vmcp-management', enabled)).toEqual({
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ ports: tcp('metrics') }, { ports: tcp('management') }],
      egress: [names, api, { ports: tcp(443) }],
    });
    const narrowed = [
      `--set-json=networkPolicy.managementFrom=[${JSON.stringify(callers)}]`,
      `--set-json=networkPolicy.managementTo=[${JSON.stringify(registries)}]`,
    ];
    expect(await policyOf('vmcp-management', enabled, ...narrowed)).toEqual({
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ ports: tcp('metrics') }, { ports: tcp('management'), from: [callers] }],
      egress: [names, api, { to: [registries] }],
    });
  });

  it('give the management API a separate Deployment, ServiceAccount and roles, and a Service that selects only it', async () => {
    const made = objectsOf(await renderChart(['--set=management.enabled=true']));
    const specOf = (kind: string, name: string) =>
      made.find((one) => one.kind === kind && one.metadata.name === name)?.spec as Record<string, unknown>;
    const selector = { 'app.kubernetes.io/name': 'vmcp-management', 'app.kubernetes.io/instance': 'vmcp' };
    const ports = [{ name: 'management', port: 4485, targetPort: 'management', protocol: 'TCP' }];
    expect(specOf('Service', 'vmcp-management')).toMatchObject({ selector, ports });
    const deployment = specOf('Deployment', 'vmcp-management') as unknown as Templated;
    expect(deployment.template.metadata.labels).toMatchObject(selector);
    expect(deployment.template.spec).toMatchObject({ serviceAccountName: 'vmcp-management' });
    const operator = specOf('Deployment', 'vmcp') as unknown as Templated;
    expect(operator.template.metadata.labels).not.toMatchObject(selector);
    expect(JSON.stringify(operator)).not.toContain('management');
    const bindings = made.filter(({ kind }) => kind.endsWith('RoleBinding')) as unknown as Binding[];
    const bound = bindings.filter(({ subjects }) => subjects[0].name === 'vmcp-management');
    expect(bound.map(({ metadata }) => metadata.name).sort()).toEqual([
      'vmcp-management',
      'vmcp-management-cluster',
      'vmcp-management-own',
    ]);
    const off = objectsOf(await renderChart([])).map(({ metadata }) => metadata.name);
    expect(off.filter((name) => name.includes('management'))).toEqual([]);
  });

  it('include a disruption budget for two operators, and none for one', async () => {
    const made = async (...values: string[]) => objectsOf(await renderChart(values));
    const isBudget = ({ kind }: Made) => kind === 'PodDisruptionBudget';
    const { template, replicas } = (await made()).find(({ kind }) => kind === 'Deployment')?.spec as Templated;
    expect(replicas).toBe(2);
    const budgets = async (...values: string[]) =>
      (await made('--set=management.enabled=true', ...values)).filter(isBudget).map(({ metadata }) => metadata.name);
    expect(await budgets()).toEqual(['vmcp']);
    expect((await budgets('--set=management.replicas=2')).sort()).toEqual(['vmcp', 'vmcp-management']);
    const budget = (await made()).find(isBudget)?.spec as { maxUnavailable: number; selector: Policy['podSelector'] };
    expect(budget.maxUnavailable).toBe(1);
    expect(template.metadata.labels).toMatchObject(budget.selector.matchLabels);
    expect((await made('--set=replicas=1')).filter(isBudget)).toEqual([]);
  });

  it('include admission policies that fail closed, each with a binding', async () => {
    const made = objectsOf(await renderChart(['--set=management.enabled=true']));
    const specsOf = (wanted: string) =>
      made.flatMap(({ kind, metadata, spec }) => (kind === wanted ? { name: metadata.name, ...spec } : []));
    const policies = specsOf('ValidatingAdmissionPolicy');
    expect(policies).toHaveLength(6);
    expect(policies).toEqual(policies.map(() => expect.objectContaining({ failurePolicy: 'Fail' })));
    expect(specsOf('ValidatingAdmissionPolicyBinding')).toEqual(
      policies.map(({ name }) => ({ name, policyName: name, validationActions: ['Deny'] })),
    );
  });
});
