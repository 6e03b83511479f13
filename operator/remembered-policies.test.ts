import { describe, expect, it } from '@jest/globals';
import { readPolicies } from '#crds/policy/policy-verdict';
import { reconcileOne } from '#operator/reconcile-one';
import { emptySnapshot } from '#operator/testdata/empty-snapshot';
import type { Outcome } from '#operator/plan/outcome';
import type { Platform } from '#operator/platform';
import { RememberedPolicies } from '#operator/remembered-policies';
import type { Manifest, PolicyTexts, Snapshot } from '#operator/snapshot';

const when = (condition: string) => `permit(principal, action, resource) when { ${condition} };`;
const texts = (...policies: string[]): PolicyTexts => ({ policies, entitiesJson: '[]' });

function manifest(kind: Manifest['kind'], name: string, spec: object): Manifest {
  const metadata = { name, namespace: 'default', uid: name, generation: 1 };
  return { apiVersion: 'vmcp.dev/v1alpha1', kind, metadata, spec };
}

/** A group of servers with own policies each. */
function snapshotWith(policies: Record<string, string>, remembered: RememberedPolicies): Snapshot {
  const members = Object.entries(policies).map(([name, policy]) =>
    manifest('MCPServer', name, {
      groupRef: 'tools',
      remoteUrl: `https://${name}.example/mcp`,
      authzConfig: { type: 'inline', inline: { policies: [policy] } },
    }),
  );
  const server = manifest('VirtualMCPServer', 'demo', {
    config: { groupRef: 'tools' },
    incomingAuth: {
      type: 'oidc',
      resourceUrl: 'https://mcp.example/mcp',
      oidcConfig: { type: 'inline', inline: { issuer: 'https://login.example' } },
    },
  });
  return emptySnapshot({
    platform: { mode: 'cluster', runtimeImage: 'r:1', allowHostPaths: false },
    virtualMcpServers: { demo: server },
    mcpGroups: { tools: manifest('MCPGroup', 'tools', {}) },
    mcpServers: Object.fromEntries(members.map((member) => [member.metadata.name, member])),
    policies: remembered,
  });
}

async function broughtAbout(snapshot: Snapshot): Promise<Outcome[]> {
  const applied: Outcome[] = [];
  const platform: Platform = {
    watch: () => Promise.resolve(),
    observe: () => Promise.resolve(snapshot),
    apply(outcome) {
      applied.push(outcome);
      return Promise.resolve();
    },
    report: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
  await reconcileOne(
    platform,
    { kind: 'VirtualMCPServer', namespace: 'default', name: 'demo' },
    '2026-01-02T03:04:05Z',
  );
  return applied;
}

describe('RememberedPolicies', () => {
  it('validates each set once, and yields to other work between two sets', async () => {
    let iterations = 0;
    const iterationsAt: number[] = [];
    const counting = setInterval(() => iterations++, 0);
    const spin = () => {
      const until = performance.now() + 5;
      while (performance.now() < until);
      iterationsAt.push(iterations);
      return { problems: [], warnings: [], readsCaller: false, namesAnonymous: false, loginReads: [] };
    };
    const remembered = new RememberedPolicies(spin);
    for (let at = 0; at < 10; at++) remembered.verdictOf(texts(when(`${at} == 1`)));
    expect(iterationsAt).toEqual([]);
    expect(await remembered.readNoted()).toBe(true);
    clearInterval(counting);
    expect(iterationsAt).toHaveLength(10);
    expect(iterations).toBeGreaterThan(5);
    for (let at = 0; at < 10; at++) remembered.verdictOf(texts(when(`${at} == 1`)));
    expect(await remembered.readNoted()).toBe(false);
    expect(iterationsAt).toHaveLength(10);
  });

  it('returns the same verdicts as an immediate validation', async () => {
    const remembered = new RememberedPolicies();
    const wrong = texts(when('resource.sise > 1'));
    expect(remembered.verdictOf(wrong).problems).toEqual([]);
    await remembered.readNoted();
    expect(remembered.verdictOf(wrong).problems).toContainEqual(expect.stringContaining('sise'));
    expect(remembered.verdictOf(wrong)).toEqual(readPolicies(wrong));
  });

  it('reads all sets before anything is applied, so that a backend with an invalid policy never enters the document', async () => {
    const remembered = new RememberedPolicies();
    const policies = { fine: when('true'), wrong: when('resource.sise > 1') };
    const applied = await broughtAbout(snapshotWith(policies, remembered));
    expect(applied).toHaveLength(1);
    expect(applied[0]?.rendered?.document.backends.map(({ name }) => name)).toEqual(['fine']);
    expect(applied[0]?.status?.backends?.find(({ name }) => name === 'wrong')).toMatchObject({ phase: 'Excluded' });
  });
});
