import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { DEFAULT_API_GROUP } from '#crds/kinds/index';
import { WorkloadSummary } from '#management/records/workload';
import { skillText } from '#management/skills/testdata/skills-fixture';
import { findFreePort } from '../gateway/find-free-port.ts';
import { eventually, makeWorkplace, type Workplace } from '../local/run-vmcp.ts';
import { serveGit } from '../skills/serve-git.ts';
import { kubeconfigOf, makeAccount } from './accounts.ts';
import { forwardPorts } from './forward-ports.ts';
import { runProgram } from './run-program.ts';
import { backend, fake, server, Stage } from './stage.ts';
import { describeWithCluster } from './use-cluster.ts';
import { useManagement } from './use-management.ts';

const SERVERS = (namespace: string) => `/apis/${DEFAULT_API_GROUP}/v1alpha1/namespaces/${namespace}/virtualmcpservers`;

describeWithCluster('the command on a cluster', (cluster) => {
  const stage = useManagement(cluster, 'cli');
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-cli-'));
  const place: Workplace = makeWorkplace();
  const kubeconfigs = { editor: join(folder, 'editor'), viewer: join(folder, 'viewer'), away: join(folder, 'away') };
  const secret = join(folder, 'token');
  beforeAll(async () => {
    const { release, namespace } = stage;
    const somebody = { namespace, name: 'somebody' };
    await makeAccount(cluster, somebody, ['edit', `${release}-view`, `${release}-edit`]);
    await kubeconfigOf(cluster, somebody, kubeconfigs.editor);
    await kubeconfigOf(cluster, { namespace, name: 'viewer' }, kubeconfigs.viewer);
    await kubeconfigOf(cluster, somebody, kubeconfigs.away, 'https://127.0.0.1:1');
    writeFileSync(secret, 'hunter2');
    const ours = new Stage(cluster, { name: namespace, delete: () => Promise.resolve() });
    await ours.apply(server('demo', 'tools'), backend('whoami', fake('tools', 'whoami')));
  }, 180_000);
  afterAll(async () => {
    await place.close();
    rmSync(folder, { recursive: true });
  });

  // Other suites install other API groups at the same time.
  const to = (who: keyof typeof kubeconfigs) => ['--kubeconfig', kubeconfigs[who], '--api-group', DEFAULT_API_GROUP];
  const as = (who: keyof typeof kubeconfigs, ...args: string[]) => place.run([...args, ...to(who)]);
  /** Runs a command that must succeed, and returns its output. */
  async function vmcp(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await as('editor', ...args);
    expect([args, code, stderr]).toEqual([args, 0, stderr]);
    return stdout + stderr;
  }

  it('creates groups, lists workloads, and waits until started workloads run', async () => {
    expect(await vmcp('group', 'create', 'tools', '--description', 'Ours')).toContain('group tools is made');
    const url = `http://mcp-whoami.${stage.namespace}.svc:8080/mcp`;
    const started = await vmcp('run', url, '--name', 'far', '--header-secret', `X-Key=@${secret}`, '--timeout', '90s');
    expect(started).toContain(`far  ${url}`);
    expect(await vmcp('group', 'list')).toMatch(/tools +far, whoami +Ours/);
    const listed = await eventually(
      async () => WorkloadSummary.array().parse(JSON.parse(await vmcp('list', '-o', 'json'))),
      (all) => all.map(({ name, status }) => `${name} ${status}`).join() === 'far running,whoami running',
      60_000,
    );
    expect(await vmcp('list', '-o', 'name', '--context', 'e2e', '-n', stage.namespace)).toBe('far\nwhoami\n');
    expect(parse(await vmcp('list', '-o', 'yaml'))).toEqual(JSON.parse(JSON.stringify(listed)));
    expect(await vmcp('list')).toMatch(/^NAME +STATUS[^]*far +running +tools/);
    expect(parse(await vmcp('get', 'far'))).toMatchObject({
      url,
      header_forward: { add_headers_from_secret: { 'X-Key': 'vmcp-secrets/far.X-Key' } },
    });
    const exported = await vmcp('export', 'far');
    expect(JSON.parse(exported)).toMatchObject({ name: 'far', remote_url: url });
    expect(exported).not.toContain('hunter2');
  }, 180_000);

  it('shows the state of endpoints, and connects to and tries the one that this machine reaches', async () => {
    const port = await findFreePort();
    const url = `http://127.0.0.1:${port}/mcp`;
    const ours = new Stage(cluster, { name: stage.namespace, delete: () => Promise.resolve() });
    const incomingAuth = { type: 'anonymous', resourceUrl: url };
    await ours.apply(server('open', 'tools', { incomingAuth, audit: { enabled: true } }));
    const shown = await eventually(
      () => as('viewer', 'status', 'open'),
      ({ code, stdout }) => code === 0 && /^open {2}Ready {2}\S+ {2}\d+ tools$[^]*^ {2}whoami +Ready/m.test(stdout),
      60_000,
    );
    expect(shown.stdout).toContain(url);
    const { stdout, stderr } = await as('viewer', 'connect', 'cursor', '--server', 'demo', '--context', 'e2e');
    expect([stdout, stderr]).toEqual([
      '',
      expect.stringContaining(`-n ${stage.namespace} port-forward service/vmcp-demo`),
    ]);
    expect(await vmcp('connect', 'cursor', '--server', 'open')).toContain(`"url": "${url}"`);
    const forwarded = await forwardPorts(cluster, stage.namespace, 'service/vmcp-open', { [port]: 4483 });
    try {
      const following = place.start(['audit', '-f', '-o', 'json', ...to('editor')]);
      expect(await vmcp('try', '--server', 'open', '--no-browser')).toContain('whoami');
      await eventually(
        () => following.output(),
        (text) => text.includes('"type":"mcp_tools_list"'),
      );
      following.signal('SIGINT');
      await following.ended;
      expect(await vmcp('audit', '--outcome', 'success')).toMatch(/^TIME +USER[^]* tools\/list /);
      expect(await vmcp('audit', '--summary')).toMatch(/^USER[^]* mcp_tools_list +- +success +\d+ /m);
      expect((await as('viewer', 'audit')).code).toBe(8);
    } finally {
      await forwarded.stop();
      await cluster.ask('DELETE', `${SERVERS(stage.namespace)}/open`);
    }
  }, 180_000);

  it('prints the log of pods, and follows it', async () => {
    expect(await vmcp('logs', 'whoami', '--lines', '3')).toContain('8080/mcp');
    const following = place.start(['logs', 'whoami', '-f', ...to('editor')]);
    await eventually(
      () => following.output(),
      (text) => text.includes('8080/mcp'),
    );
    following.signal('SIGINT');
    await following.ended;
    expect((await as('editor', 'logs', 'far')).code).toBe(6);
  }, 180_000);

  it('edits, restarts, stops and starts a workload while another command watches', async () => {
    const watching = place.start(['list', '--all', '--watch', '-o', 'json', ...to('editor')]);
    const shows = (status: string) =>
      eventually(
        () => watching.output(),
        (text) => text.split('\n').some((line) => line.includes('"whoami"') && line.includes(`"status":"${status}"`)),
      );
    await shows('running');
    const text = join(folder, 'whoami.yaml');
    writeFileSync(text, `${await vmcp('get', 'whoami')}tools: [whoami]\n`);
    expect(await vmcp('edit', 'whoami', '-f', text)).toContain('whoami is changed');
    expect(parse(await vmcp('get', 'whoami'))).toMatchObject({ tools: ['whoami'] });
    expect(await vmcp('restart', 'whoami')).toContain('whoami: started anew');
    expect(await vmcp('stop', 'whoami')).toContain('whoami: stopped');
    await shows('stopped');
    expect(await vmcp('list', '-o', 'name')).toBe('far\n');
    expect(await vmcp('start', 'whoami')).toContain('whoami: started');
    watching.signal('SIGINT');
    expect(await watching.ended).toBe(0);
  }, 180_000);

  it('stores secrets in the cluster, and shows none of their values', async () => {
    expect(await vmcp('secret', 'set', 'OTHER', '--file', secret)).toContain('vmcp-secrets');
    expect(await vmcp('secret', 'list', '-o', 'name')).toBe('OTHER\nfar.X-Key\n');
    const { body } = await cluster.ask('GET', `/api/v1/namespaces/${stage.namespace}/secrets/vmcp-secrets`);
    expect(body.data.OTHER).toBe(Buffer.from('hunter2').toString('base64'));
    expect(await vmcp('secret', 'rm', 'OTHER', '--yes')).toContain('OTHER is deleted');
    expect(await vmcp('secret', 'setup')).toContain('provider kubernetes is active');
  }, 180_000);

  it('prints configurations for clients, and reads registries and skills of the namespace', async () => {
    expect(await vmcp('client', 'register', 'zed')).toContain(`http://vmcp-demo.${stage.namespace}.svc:4483/mcp`);
    expect(await vmcp('client', 'list', '-o', 'name')).toBe('zed\n');
    expect(await vmcp('client', 'rm', 'zed')).toContain('not registered any more');
    expect(await vmcp('registry', 'list', '-o', 'name')).toBe('default\ncluster\n');
    expect(await vmcp('registry', 'search', 'github', '-o', 'name')).toContain('github\n');
    expect(await vmcp('registry', 'info', 'github')).toMatch(/Run it: .* run github --kubeconfig /);
    const archive = join(folder, 'notes.tar');
    writeFileSync(join(folder, 'SKILL.md'), skillText('notes'));
    await runProgram('tar', ['-cf', archive, '-C', folder, 'SKILL.md'], { deadline: 10_000 });
    expect(await vmcp('skill', 'install', archive)).toContain('notes');
    expect(await vmcp('skill', 'list', '-o', 'name')).toBe('notes\n');
    expect(await vmcp('skill', 'rm', 'notes', '--yes')).toContain('notes');
  }, 180_000);

  it('installs a skill of a git repository, with the git of this machine and the user’s rights', async () => {
    const git = await serveGit();
    try {
      const commit = git.commit('r.git', { 'skills/drafts/SKILL.md': skillText('drafts') });
      const from = `git+${git.url}/r.git@main#skills/drafts`;
      const refused = await as('editor', 'skill', 'install', from);
      expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('--allow-private-ip')]);
      expect(await vmcp('skill', 'install', from, '--allow-private-ip', '--context', 'e2e')).toContain('drafts');
      const { body } = await stage.ask('GET', '/skills/drafts', { as: 'viewer' });
      expect(body).toMatchObject({
        installed_skill: {
          reference: `git+${git.url}/r.git@${commit}#skills/drafts`,
          tag: 'main',
          status: 'installed',
        },
      });
      expect((await as('viewer', 'skill', 'install', from, '--allow-private-ip', '--force')).code).toBe(8);
      expect(await vmcp('skill', 'rm', 'drafts', '--yes')).toContain('drafts');
    } finally {
      await git.close();
    }
  }, 180_000);

  describe('a failed command', () => {
    it.each<[string, keyof typeof kubeconfigs, string[], number, string]>([
      ['a workload that is not there', 'editor', ['get', 'none'], 6, 'there is no workload "none"'],
      ['a group that is used', 'editor', ['group', 'rm', 'tools'], 7, 'tools'],
      ['a name that is taken', 'editor', ['run', 'https://a.example/mcp', '--name', 'far'], 7, 'rm far --kubeconfig'],
      ['a folder of this machine', 'editor', ['skill', 'install', '.'], 1, 'archive'],
      ['what a viewer may not change', 'viewer', ['stop', 'whoami'], 8, 'cannot patch resource "mcpservers"'],
      ['secrets, which a viewer may not see', 'viewer', ['secret', 'list'], 8, 'kubectl auth can-i --list -n'],
      ['a log, which a viewer may not see', 'viewer', ['logs', 'whoami'], 8, 'the role edit'],
      ['a namespace of others', 'editor', ['list', '-n', 'kube-system'], 8, 'auth can-i --list -n kube-system'],
      ['an unknown context', 'editor', ['list', '--context', 'nowhere'], 1, 'use one of e2e'],
      ['a cluster that is away', 'away', ['list'], 3, 'https://127.0.0.1:1 does not answer'],
    ])('exits with a code and a remedy for %s', async (_what, who, args, code, said) => {
      const told = await as(who, ...args);
      expect([told.code, told.stdout, told.stderr]).toEqual([code, '', expect.stringContaining(said)]);
      expect(told.stderr.match(new RegExp(said.slice(0, 20).replaceAll(/[^\w ]/g, '.'), 'g'))).toHaveLength(1);
    });

    it('exits with a code and a remedy for a missing kubeconfig', async () => {
      const { code, stderr } = await place.run(['list', '--kubeconfig', join(folder, 'none')]);
      expect([code, stderr]).toEqual([1, expect.stringContaining('name a file that can be read')]);
    });

    it('leaves no object', async () => {
      const refused = ['run', 'https://a.example/mcp', '--name', 'refused', '--header-secret', `X=@${secret}`];
      expect((await as('viewer', ...refused)).code).toBe(8);
      expect(await vmcp('list', '--all', '-o', 'name')).toBe('far\nwhoami\n');
      expect(await vmcp('secret', 'list', '-o', 'name')).toBe('far.X-Key\n');
    });
  });

  it('deletes workloads, and their unused group', async () => {
    expect(await vmcp('rm', '--group', 'tools', '--yes')).toContain('far, whoami: deleted');
    expect(await vmcp('list', '--all', '-o', 'json')).toBe('[]\n');
    const { code, stderr } = await as('editor', 'group', 'rm', 'tools');
    expect([code, stderr]).toEqual([7, expect.stringContaining('used by VirtualMCPServer demo')]);
    await cluster.ask('DELETE', `${SERVERS(stage.namespace)}/demo`);
    await eventually(
      () => as('editor', 'group', 'rm', 'tools'),
      (told) => told.code === 0,
    );
    expect(await vmcp('group', 'list', '-o', 'json')).toBe('[]\n');
  }, 180_000);
});
