import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { OAuthClient } from '../authserver/oauth-client.ts';
import { findFreePort } from '../gateway/find-free-port.ts';
import { callTool, connect } from '../local/call-tool.ts';
import { movePorts } from '../local/example.ts';
import { eventually, PROGRAM, ROOT } from '../local/run-vmcp.ts';
import { makeAccount } from './accounts.ts';
import { CHART, helm, ownGroup } from './chart.ts';
import { fillIn, type NoteShell, openNoteShell, readNotes } from './note-shell.ts';
import { readPolicy } from './read-policy.ts';
import { isDone, KINDS, releaseOf } from './release.ts';
import { type Finished, runProgram } from './run-program.ts';
import { installDefinitions } from './stage.ts';
import { type Cluster, describeWithCluster, type Namespace } from './use-cluster.ts';

const BACKENDS = ['demo-everything', 'demo-memory', 'demo-tickets', 'demo-whoami'];
const AS_ALICE = { BROWSER: `${process.execPath} ${join(ROOT, 'e2e/local/browse.ts')} alice %s` };

/** Changes to the command of NOTES, the pod to ask, and the expected exit code of curl. */
interface Asking {
  places?: Readonly<Record<string, string>>;
  pod?: string;
  code?: number;
}

/** Creates a namespace that enforces the Restricted pod security standard. */
async function makeRestricted(cluster: Cluster, suite: string): Promise<Namespace> {
  const namespace = await cluster.makeNamespace(suite);
  const labels = ['pod-security.kubernetes.io/enforce=restricted', 'pod-security.kubernetes.io/enforce-version=latest'];
  await cluster.kubectl(['label', 'namespace', namespace.name, ...labels]);
  return namespace;
}

describeWithCluster('an installation of the chart', (cluster) => {
  const group = ownGroup('chart');
  let namespace: Namespace;
  let ports: Record<4480 | 4482 | 4483, number>;
  const release = releaseOf(cluster, group, () => namespace.name);
  const { kubectl } = release;
  let shell: NoteShell;
  const notes = () => readNotes(cluster, release.name, namespace.name);
  const demo = () => [
    '--set=demo.enabled=true',
    `--set=demo.port=${ports[4483]}`,
    `--set=demo.identityProviderPort=${ports[4480]},demo.partnerIdentityProviderPort=${ports[4482]}`,
  ];
  const server = `virtualmcpservers.${group}/demo`;
  const scale = async (replicas: number) => {
    isDone(await kubectl('scale', `deployment/${release.name}`, `--replicas=${replicas}`));
    isDone(await kubectl('rollout', 'status', `deployment/${release.name}`, '--timeout=60s'));
    await eventually(
      () => kubectl('get', 'pods', '-l', 'app.kubernetes.io/name=vmcp-operator', '-o', 'name'),
      ({ stdout }) =>
        stdout
          .trim()
          .split('\n')
          .filter((line) => line !== '').length === replicas,
      60_000,
    );
  };

  beforeAll(async () => {
    namespace = await makeRestricted(cluster, 'chart');
    shell = openNoteShell(cluster);
    ports = await movePorts([4480, 4482, 4483]);
    isDone(await release.install());
    const roles = [`${release.name}-view`, `${release.name}-edit`];
    await makeAccount(cluster, { namespace: namespace.name, name: 'caller' }, roles);
  }, 150_000);

  afterAll(async () => {
    await shell.close();
    await release.run('uninstall', '--wait', '--timeout=60s');
    await release.removeDefinitions();
    await namespace.delete();
  });

  const spec = { config: { groupRef: 'tools' }, incomingAuth: { type: 'anonymous' } };
  const wrongServer = (name: string, change: object) =>
    JSON.stringify({
      apiVersion: `${group}/v1alpha1`,
      kind: 'VirtualMCPServer',
      metadata: { name },
      spec: { ...spec, ...change },
    });

  it('runs two operators under the Restricted standard, and prints the next steps', async () => {
    const { stdout } = await kubectl('get', `deployment/${release.name}`, '-o', 'jsonpath={.status.readyReplicas}');
    expect(stdout).toBe('2');
    const [wait = '', explain = ''] = await notes();
    expect((await shell.run(wait)).stdout).toContain('successfully rolled out');
    const explained = await shell.run(explain);
    expect(explained.stdout).toContain('Boundary 1');
  });

  it('has operators that take less than 128 MiB at rest', async () => {
    const { stdout } = await kubectl('get', 'pods', '-l', 'app.kubernetes.io/name=vmcp-operator', '-o', 'name');
    const pods = stdout.trim().split('\n');
    expect(pods).toHaveLength(2);
    for (const pod of pods) {
      const script =
        "console.log(/VmRSS: *(.*) kB/.exec(require('node:fs').readFileSync('/proc/1/status', 'utf8'))[1])";
      const read = await kubectl('exec', pod, '--', 'node', '-e', script);
      expect(Number(read.stdout)).toBeGreaterThan(0);
      expect(Number(read.stdout) / 1024).toBeLessThan(128);
    }
  });

  it('adds its roles to the built-in roles of the namespace: edit writes and uses, view reads', async () => {
    const may = async (user: string, verb: string, kind: string) => {
      const { stdout } = await kubectl('auth', 'can-i', verb, `${kind}.${group}`, `--as=${user}`);
      return stdout.trim();
    };
    for (const role of ['edit', 'view'])
      isDone(await kubectl('create', 'rolebinding', `own-${role}`, `--clusterrole=${role}`, `--user=own-${role}`));
    // A controller adds roles with an aggregation label to the built-in roles.
    const answers = (user: string) =>
      Promise.all(
        [
          ['get', 'mcpservers'],
          ['create', 'mcpservers'],
          ['use', 'mcpexternalauthconfigs'],
          ['use', 'mcpgroups'],
          ['use', 'mcpoidcconfigs'],
        ].map(([verb = '', kind = '']) => may(user, verb, kind)),
      );
    await eventually(
      () => answers('own-edit'),
      (told) => told.join() === 'yes,yes,yes,yes,yes',
      30_000,
    );
    expect(await answers('own-view')).toEqual(['yes', 'no', 'no', 'no', 'no']);
  });

  it('refuses an unknown field by name and suggests the nearest known one, once its operators have a certificate', async () => {
    const answer = await eventually(
      () => release.apply(wrongServer('misspelt', { outgoingAuht: {} }), '--dry-run=server'),
      ({ code }) => code !== 0,
      30_000,
    );
    expect(answer.stderr).toContain('spec.outgoingAuht: unknown field `outgoingAuht`; did you mean `outgoingAuth`?');
  });

  it('refuses a policy that does not validate, warns of open access, and does not warn of references to later objects', async () => {
    const policies = ['permit(principal, action, resource) when { resource.sise > 1 };'];
    const incomingAuth = {
      type: 'oidc',
      resourceUrl: 'https://mcp.example/mcp',
      oidcConfig: { type: 'inline', inline: { issuer: 'https://login.example' } },
      authzConfig: { type: 'inline', inline: { policies } },
    };
    const refused = await release.apply(wrongServer('policy', { incomingAuth }), '--dry-run=server');
    expect(refused.stderr).toContain('sise');
    const admitted = await release.apply(wrongServer('early', {}), '--dry-run=server');
    expect([admitted.code, admitted.stderr]).toEqual([0, expect.stringContaining('Warning: Anybody who reaches')]);
    expect(admitted.stderr).not.toContain('MCPGroup');
  });

  it('restricts access to the key of its certificate, and recreates a lost Secret', async () => {
    const name = `${release.name}-webhook`;
    isDone(await kubectl('delete', 'secret', name));
    isDone(await kubectl('rollout', 'restart', `deployment/${release.name}`));
    isDone(await kubectl('rollout', 'status', `deployment/${release.name}`, '--timeout=60s'));
    const { stdout } = await eventually(
      () => kubectl('get', 'secret', name, '-o', 'jsonpath={.data.ca\\.crt}'),
      ({ code }) => code === 0,
      20_000,
    );
    const configuration = await eventually(
      () =>
        cluster.kubectl([
          'get',
          'validatingwebhookconfiguration',
          release.name,
          '-o',
          'jsonpath={.webhooks[0].clientConfig.caBundle}',
        ]),
      ({ stdout: bundle }) => bundle === stdout,
      20_000,
    );
    expect(configuration.stdout).toBe(stdout);
    const answer = await eventually(
      () => release.apply(wrongServer('misspelt', { outgoingAuht: {} }), '--dry-run=server'),
      ({ code }) => code !== 0,
      20_000,
    );
    expect(answer.stderr).toContain('outgoingAuht');
  });

  it('refuses another API group for the same release, and definitions of another release, with the remedy', async () => {
    const other = await release.upgrade('--set=apiGroup=other.test');
    expect(other.code).not.toBe(0);
    expect(other.stderr).toContain(`--set apiGroup=${group}`);
    const second = await helm(cluster, ['install', 'second', CHART, '-n', namespace.name, `--set=apiGroup=${group}`]);
    expect(second.code).not.toBe(0);
    expect(second.stderr).toContain(`belongs to the Helm release ${namespace.name}/${release.name}`);
    expect(second.stderr).toContain('--set crds.install=false');
  });

  /** Runs the command of NOTES for the management API, at its Service or at one pod. */
  async function askManagement({ places = {}, pod = '', code: wanted = 0 }: Asking = {}): Promise<Finished> {
    const [authority = '', forward = '', ask = ''] = (await notes()).slice(-3);
    const attempt = async (): Promise<Finished> => {
      const port = await findFreePort();
      const service = `service/${release.name}-management`;
      const target = { [`${service} 4485`]: `${pod === '' ? service : pod} ${port}:4485` };
      const program = await shell.forward(fillIn(forward, target), 1);
      const account = `caller -n ${namespace.name}`;
      const own = { 'curl ': 'curl --max-time 20 ', '<account>': account, '::127.0.0.1:': `::127.0.0.1:${port}` };
      const answer = await shell.run(fillIn(ask, { ...own, ...places }));
      await program.stop();
      return answer;
    };
    // The operator writes the ConfigMap as soon as there is a certificate.
    await eventually(
      () => shell.run(authority),
      ({ code }) => code === 0,
    );
    return eventually(attempt, ({ code }) => code === wanted);
  }
  const answered = ({ code, stdout }: Finished) => [code, code === 0 ? (JSON.parse(stdout) as unknown) : stdout];
  const VERSION = [0, { version: expect.any(String) }];

  describe('with the management API', () => {
    beforeAll(async () => {
      isDone(await release.upgrade('--set=management.enabled=true'));
    }, 150_000);

    it('answers at its Service and at its pod, by TLS with the authority that NOTES name and no other', async () => {
      expect(answered(await askManagement())).toEqual(VERSION);
      const pods = await eventually(
        async () => {
          const { stdout } = await kubectl('get', 'pods', '-l', 'app.kubernetes.io/name=vmcp-management', '-o', 'name');
          return stdout.split('\n').filter((line) => line !== '');
        },
        ({ length }) => length === 1,
      );
      for (const pod of pods) expect(answered(await askManagement({ pod }))).toEqual(VERSION);
      // Exit code of curl for a certificate that it cannot verify.
      const unknown = await askManagement({ places: { '--cacert vmcp-ca.crt ': '' }, code: 60 });
      expect(unknown.stdout).toBe('');
    });

    it('stores records for its callers: the admission policy admits its account, and no user without the right', async () => {
      const body = `-H 'Content-Type: application/json' -d '{"name":"cursor","groups":[]}'`;
      const path = `/clients?namespace=${namespace.name}' ${body}`;
      const write = await askManagement({ places: { ' https://': ` 'https://`, '/version': path } });
      expect(answered(write)).toEqual([0, expect.objectContaining({ name: 'cursor' })]);
      const { stdout } = await kubectl('get', 'configmaps', '-l', `${group}/record=clients`, '-o', 'name');
      expect(stdout).toContain('configmap/');
    });

    it('creates a group for a caller who may write; the command finds its API group, and otherwise asks for it', async () => {
      const body = `-H 'Content-Type: application/json' -d '{"name":"made"}'`;
      const path = `/groups?namespace=${namespace.name}' ${body}`;
      const write = await askManagement({ places: { ' https://': ` 'https://`, '/version': path } });
      expect(answered(write)).toEqual([0, expect.objectContaining({ name: 'made' })]);
      const list = (...more: string[]) => {
        const target = ['--kubeconfig', cluster.kubeconfig, '-n', namespace.name, ...more];
        return runProgram(process.execPath, [PROGRAM, 'group', 'list', '-o', 'name', ...target], { deadline: 60_000 });
      };
      // The default group is installed as well, as for the stages of other suites.
      await installDefinitions(cluster);
      const unnamed = await list();
      expect([unnamed.code, unnamed.stderr]).toEqual([
        1,
        expect.stringMatching(/several installations: .*--api-group/),
      ]);
      expect(unnamed.stderr).toContain(group);
      expect(await list('--api-group', group)).toMatchObject({ code: 0, stdout: expect.stringMatching(/^made$/m) });
      isDone(await kubectl('delete', `mcpgroups.${group}/made`));
    });
  });

  describe('with the demo', () => {
    let endpoint: string;
    const issuers = () => [`http://127.0.0.1:${ports[4480]}`, `http://127.0.0.1:${ports[4482]}`] as const;
    let alice: string;

    beforeAll(async () => {
      const [, , upgrade = ''] = await notes();
      const places = { '<chart>': CHART, '--set demo.enabled=true': demo().join(' ') };
      isDone(await shell.run(fillIn(upgrade, places)));
      const [wait = '', forward = ''] = await notes();
      isDone(await shell.run(wait));
      await shell.forward(forward, 3);
      endpoint = `http://127.0.0.1:${ports[4483]}/mcp`;
      const client = await OAuthClient.register(new URL(endpoint).origin);
      alice = (await client.login({ user: 'alice' })).access_token;
    }, 240_000);

    it('serves four backends behind one login at the two identity providers beside it, through one port-forward', async () => {
      const names = await eventually(
        async () => {
          const client = await connect(endpoint, alice);
          const { tools } = await client.listTools();
          await client.close();
          return tools.map(({ name }) => name.split('_')[0]);
        },
        (found) => new Set(found).size === BACKENDS.length,
        30_000,
      );
      expect(new Set(names)).toEqual(new Set(BACKENDS));
      const told = (name: string) => callTool(endpoint, `${name}_whoami`, alice);
      const answers = await Promise.all(['demo-whoami', 'demo-tickets'].map(told));
      const [company, partner] = issuers();
      expect(answers).toMatchObject([
        { subject: 'alice', issuer: company, audience: [company] },
        { subject: 'alice', issuer: partner, audience: [partner] },
      ]);
    });

    it('works with the last command of NOTES, which logs in with a browser and shows both tokens', async () => {
      const [, , tryIt = ''] = await notes();
      const [company, partner] = issuers();
      await eventually(
        () => shell.run(tryIt, AS_ALICE),
        ({ code, stdout }) =>
          code === 0 &&
          stdout.includes(`You are logged in at ${endpoint}.`) &&
          new RegExp(`demo-whoami_whoami +alice +${company} `).test(stdout) &&
          new RegExp(`demo-tickets_whoami +alice +${partner} `).test(stdout),
      );
    });

    it('has policies that admit only runtimes to programs, and only operators to the status port of runtimes', async () => {
      const { stdout } = await kubectl('get', 'pods', '-o', 'jsonpath={range .items[*]}{.metadata.name}{"\\n"}{end}');
      const podsOf = (start: string) =>
        stdout
          .split('\n')
          .filter((name) => name.startsWith(start) && !name.startsWith(`${release.name}-management-`))
          .map((name) => `${namespace.name}/${name}`)
          .sort();
      const [operators, runtimes, programs] = [`${release.name}-`, 'vmcp-demo-', 'mcp-demo-whoami-'].map(podsOf);
      expect([operators?.length, runtimes?.length, programs?.length]).toEqual([2, 1, 1]);
      expect(await readPolicy(cluster, namespace.name, 'mcp-demo-whoami')).toEqual({
        pods: programs,
        admits: { 8080: runtimes },
      });
      expect(await readPolicy(cluster, namespace.name, 'vmcp-demo')).toEqual({
        pods: runtimes,
        admits: { 4483: 'everybody', 4484: operators },
      });
    });

    it('admits an invalid edit without a running operator, which later reports a condition and keeps the active document', async () => {
      const policies = (text: string) =>
        JSON.stringify([{ op: 'replace', path: '/spec/incomingAuth/authzConfig/inline/policies/0', value: text }]);
      const patch = (text: string) => kubectl('patch', server, '--type=json', `--patch=${policies(text)}`);
      const refused = await patch('permit(principal, action');
      expect(refused.code).not.toBe(0);
      await scale(0);
      isDone(await patch('permit(principal, action'));
      await scale(2);
      isDone(await kubectl('wait', server, '--for=condition=Stalled', '--timeout=60s'));
      const { stdout } = await kubectl(
        'get',
        server,
        '-o',
        'jsonpath={.status.phase} {.status.conditions[?(@.type=="Stalled")].message}',
      );
      expect(stdout).toMatch(/^Degraded .*authzConfig/);
      expect(await callTool(endpoint, 'demo-whoami_whoami', alice)).toMatchObject({ subject: 'alice' });
      // One of two problems can be fixed while the other remains.
      isDone(await kubectl('annotate', server, 'e2e.test/touched=yes'));
      isDone(await patch('permit(principal in Group::"engineering", action, resource);'));
      await eventually(
        () => kubectl('get', server, '-o', 'jsonpath={.status.conditions[*].type}'),
        ({ code, stdout: types }) => code === 0 && !types.includes('Stalled'),
        30_000,
      );
      isDone(await kubectl('wait', server, '--for=condition=Ready', '--timeout=60s'));
    }, 240_000);
  });

  describe('when it is uninstalled', () => {
    it('removes the demo, keeps definitions and resources, and can be installed again', async () => {
      isDone(
        await release.apply(
          JSON.stringify({ apiVersion: `${group}/v1alpha1`, kind: 'MCPGroup', metadata: { name: 'kept' } }),
        ),
      );
      const lease = `lease.coordination.k8s.io/${release.name}`;
      const leases = () => kubectl('get', 'leases', '-o', 'name');
      expect((await leases()).stdout).toContain(lease);
      const uninstalled = await release.run('uninstall', '--wait', '--timeout=120s');
      await eventually(leases, ({ stdout }) => !stdout.includes(lease), 60_000);
      expect([uninstalled.code, uninstalled.stderr]).toEqual([0, expect.not.stringContaining('Error')]);
      const left = await eventually(
        () =>
          kubectl(
            'get',
            `virtualmcpservers.${group},mcpservers.${group},mcpexternalauthconfigs.${group},mcpgroups.${group}`,
            '-o',
            'name',
          ),
        ({ stdout }) => stdout.trim() === `mcpgroup.${group}/kept`,
        30_000,
      );
      expect(left.stdout.trim()).toBe(`mcpgroup.${group}/kept`);
      await eventually(
        () => kubectl('get', 'pods,deployments,services,secrets', '-o', 'name'),
        ({ stdout }) => !stdout.includes('demo'),
        60_000,
      );
      const definitions = await cluster.kubectl([
        'get',
        'crd',
        ...KINDS.map((kind) => `${kind}.${group}`),
        '-o',
        'name',
      ]);
      expect([definitions.code, definitions.stdout.trim().split('\n')]).toEqual([
        0,
        expect.arrayContaining([`customresourcedefinition.apiextensions.k8s.io/mcpservers.${group}`]),
      ]);
      const cluster_wide = await cluster.kubectl([
        'get',
        'clusterroles,clusterrolebindings,validatingwebhookconfigurations,validatingadmissionpolicies',
        '-o',
        'name',
      ]);
      expect(cluster_wide.stdout).not.toContain(release.name);
      isDone(await release.install('--set=management.enabled=true'));
      isDone(await kubectl('get', `mcpgroups.${group}/kept`));
      expect(answered(await askManagement())).toEqual(VERSION);
    }, 240_000);
  });
});
