import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import { eventually, PROGRAM } from '../local/run-vmcp.ts';
import { IMAGES } from './images.ts';
import { KINDS } from './release.ts';
import { runProgram } from './run-program.ts';
import { describeWithCluster } from './use-cluster.ts';
import { useStage } from './use-stage.ts';

const CHILDREN = 'deployments,services,configmaps,serviceaccounts,secrets,networkpolicies,poddisruptionbudgets';

interface Written {
  kind: string;
  spec: object;
  metadata: {
    generation: number;
    labels?: object;
    managedFields: { manager: string; subresource?: string }[];
  };
}

interface Made {
  kind: string;
  metadata: { name: string };
  spec?: { template?: { spec: { containers: { image: string }[] } } };
}

const MANIFESTS = `
apiVersion: vmcp.dev/v1alpha1
kind: MCPGroup
metadata: { name: tools }
---
apiVersion: vmcp.dev/v1alpha1
kind: MCPExternalAuthConfig
metadata: { name: key }
spec: { type: headerInjection, headerInjection: { headerName: X-Key, valueSecretRef: { name: certificate, key: tls.key } } }
---
apiVersion: vmcp.dev/v1alpha1
kind: MCPOIDCConfig
metadata: { name: company }
spec: { type: inline, inline: { issuer: 'https://login.example' } }
---
apiVersion: vmcp.dev/v1alpha1
kind: MCPServer
metadata: { name: who }
spec:
  groupRef: tools
  externalAuthConfigRef: { name: key }
  image: ${IMAGES.backends}
  command: [node, /app/e2e/fakes/whoami/main.ts, --port, '8080']
  transport: streamable-http
---
apiVersion: vmcp.dev/v1alpha1
kind: VirtualMCPServer
metadata: { name: front }
spec:
  config: { groupRef: tools }
  incomingAuth:
    type: oidc
    resourceUrl: https://front.example/mcp
    oidcConfigRef: { name: company, audience: front }
  tls: { secretRef: { name: certificate } }
`;

describeWithCluster('the manifests of a GitOps repository', (cluster) => {
  const stage = useStage(cluster, 'gitops');
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-gitops-'));
  const write = (text: string) => {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'resources.yaml'), text);
  };
  const vmcp = (...args: string[]) =>
    runProgram(process.execPath, [PROGRAM, ...args], { deadline: 60_000, env: { KUBECONFIG: cluster.kubeconfig } });
  const diff = (...args: string[]) =>
    vmcp('diff', folder, '-n', stage.namespace.name, '--runtime-image', IMAGES.runtime, ...args);
  const kubectl = (...args: string[]) => cluster.kubectl(['-n', stage.namespace.name, ...args]);
  /** Returns the fields that people write, with their managers, for one resource of each kind. */
  const writtenOf = async () => {
    const kinds = KINDS.map((kind) => `${kind}.vmcp.dev`).join();
    const { stdout } = await kubectl('get', kinds, '-o', 'json', '--show-managed-fields');
    return (JSON.parse(stdout) as { items: Written[] }).items.map(({ kind, spec, metadata }) => ({
      kind,
      spec,
      generation: metadata.generation,
      labels: metadata.labels,
      managers: metadata.managedFields.map(({ manager, subresource = '' }) => `${manager} ${subresource}`.trim()),
    }));
  };

  beforeAll(() => write(MANIFESTS));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('appear as additions, resources and objects, in a diff with an empty cluster', async () => {
    const { code, stdout } = await diff();
    expect(code).toBe(1);
    expect(stdout).toContain(`+ VirtualMCPServer ${stage.namespace.name}/front\n`);
    expect(stdout).toContain(`+ Deployment ${stage.namespace.name}/vmcp-front\n`);
    expect(stdout).not.toMatch(/^[-~]/m);
  });

  it('render to exactly the objects that the operator makes', async () => {
    const rendered = await vmcp(
      'render',
      folder,
      '--cluster',
      '-n',
      stage.namespace.name,
      '--runtime-image',
      IMAGES.runtime,
    );
    expect([rendered.code, rendered.stderr]).toEqual([0, '']);
    const objects = parseAllDocuments(rendered.stdout).map((document) => document.toJS() as Made);
    const secret = [
      'create',
      'secret',
      'generic',
      'certificate',
      '--from-literal=tls.crt=a',
      '--from-literal=tls.key=b',
    ];
    expect((await kubectl(...secret)).code).toBe(0);
    expect((await kubectl('apply', '-f', folder)).code).toBe(0);
    const idOf = ({ kind, metadata }: Made) => `${kind} ${metadata.name}`;
    const wanted = objects.map(idOf).sort();
    const live = await eventually(
      async () => {
        const { stdout } = await kubectl(
          'get',
          CHILDREN,
          '-l',
          'app.kubernetes.io/managed-by=vmcp-operator',
          '-o',
          'json',
        );
        return (JSON.parse(stdout) as { items: Made[] }).items;
      },
      (items) => items.length === wanted.length,
      30_000,
    );
    expect(live.map(idOf).sort()).toEqual(wanted);
    const images = (made: Made[]) =>
      made.flatMap(({ spec }) => spec?.template?.spec.containers.map(({ image }) => image) ?? []).sort();
    expect(images(live)).toEqual(images(objects));
  });

  it('differ in nothing after kubectl apply, and the operator never changes written fields', async () => {
    const { code, stdout } = await diff();
    expect([code, stdout]).toEqual([0, 'no differences\n']);
    // The operator reconciles each kind, and writes its status.
    for (const kind of KINDS) await kubectl('annotate', `${kind}.vmcp.dev`, '--all', 'note=x');
    await eventually(
      () =>
        kubectl(
          'get',
          'virtualmcpservers.vmcp.dev/front',
          '-o',
          'jsonpath={.status.conditions[?(@.type=="BackendsResolved")].status}',
        ),
      ({ stdout: state }) => state === 'True',
      30_000,
    );
    const written = await eventually(
      writtenOf,
      (all) => all.every(({ managers }) => managers.includes('vmcp-operator status')),
      30_000,
    );
    expect(written.map(({ kind }) => kind).sort()).toEqual([
      'MCPExternalAuthConfig',
      'MCPGroup',
      'MCPOIDCConfig',
      'MCPServer',
      'VirtualMCPServer',
    ]);
    for (const one of written) {
      expect(one).toMatchObject({ generation: 1, labels: undefined });
      const writers = one.managers.filter((manager) => !manager.endsWith(' status'));
      expect([one.kind, ...new Set(writers.map((writer) => writer.split('-')[0]))]).toEqual([one.kind, 'kubectl']);
    }
    expect(await diff()).toMatchObject({ code: 0 });
  });

  it('produce a diff by field, with the effects of each change, and the diff writes nothing', async () => {
    const before = await writtenOf();
    write(MANIFESTS.replace('incomingAuth:', 'passthroughHeaders: [X-Tenant]\n  incomingAuth:'));
    const { code, stdout } = await diff();
    expect(code).toBe(1);
    expect(stdout).toContain(
      `~ VirtualMCPServer ${stage.namespace.name}/front\n    spec.passthroughHeaders: (none) -> ["X-Tenant"]\n`,
    );
    expect(stdout).toContain('data["run-config.yaml"].passthrough_headers');
    expect(await writtenOf()).toEqual(before);
  });

  it('fail the diff with the problems found, before they are applied', async () => {
    write(MANIFESTS.replace('groupRef: tools }', 'groupRef: tols }'));
    const { code, stderr } = await diff();
    expect([code, stderr]).toEqual([1, expect.stringContaining('MCPGroup "tols", which does not exist')]);
  });
});
