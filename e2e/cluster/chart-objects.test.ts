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
  template: { metadata: { labels: Record<string, string> } };
}

interface Policy {
  podSelector: { matchLabels: Record<string, string> };
}

const objectsOf = (text: string) => parseAllDocuments(text).flatMap((document) => (document.toJS() ?? []) as Made[]);

// The API server is asked about nothing: what a cluster brings is helm.
describeWithCluster('the chart, by what it makes,', () => {
  it('lets the operators be reached where they serve, and reach names, the API server and /status of runtimes', async () => {
    const policy = async (...values: string[]) => {
      const cidr = '--set=networkPolicy.apiServerCidrs={10.0.0.1/32},podLabels.team=a';
      const made = objectsOf(await renderChart([cidr, ...values]));
      const { template } = made.find(({ kind }) => kind === 'Deployment')?.spec as Templated;
      const { podSelector, ...rules } = made.find(({ kind }) => kind === 'NetworkPolicy')?.spec as Policy;
      expect(template.metadata.labels).toMatchObject(podSelector.matchLabels);
      return rules;
    };
    const tcp = (...ports: (number | string)[]) => ports.map((port) => ({ port, protocol: 'TCP' }));
    const server = [{ ipBlock: { cidr: '10.0.0.1/32' } }];
    const key = 'app.kubernetes.io/name';
    const runtimes = { matchExpressions: [{ key, operator: 'In', values: RUNTIMES }] };
    const ingress = [{ ports: tcp('webhook'), from: server }, { ports: tcp('metrics') }];
    const egress = [
      { ports: [{ port: 53, protocol: 'UDP' }, ...tcp(53)] },
      { ports: tcp(443, 6443), to: server },
      { ports: tcp(4484), to: [{ namespaceSelector: {}, podSelector: runtimes }] },
    ];
    expect(await policy()).toEqual({ policyTypes: ['Ingress', 'Egress'], ingress, egress });
    expect(await policy('--set=management.enabled=true')).toEqual({
      policyTypes: ['Ingress', 'Egress'],
      ingress: [...ingress, { ports: tcp('management') }],
      egress: [...egress, { ports: tcp(443) }],
    });
  });

  it('has a disruption budget for the operators where there are two, and none where there is one', async () => {
    const made = async (...values: string[]) => objectsOf(await renderChart(values));
    const isBudget = ({ kind }: Made) => kind === 'PodDisruptionBudget';
    const { template, replicas } = (await made()).find(({ kind }) => kind === 'Deployment')?.spec as Templated;
    expect(replicas).toBe(2);
    const budget = (await made()).find(isBudget)?.spec as { maxUnavailable: number; selector: Policy['podSelector'] };
    expect(budget.maxUnavailable).toBe(1);
    expect(template.metadata.labels).toMatchObject(budget.selector.matchLabels);
    expect((await made('--set=replicas=1')).filter(isBudget)).toEqual([]);
  });

  it('has admission policies that fail closed, each of them bound', async () => {
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
