import { createHash, randomBytes } from 'node:crypto';
import { chmodSync, chownSync, copyFileSync, existsSync, mkdirSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { packImages } from '../cluster/kit/pack-images.ts';
import { stageShell } from '../cluster/kit/stage-node.ts';
import { type Containers, describeWithContainers, openContainers } from '../containers/open-containers.ts';
import { openOrdinaryUser, type OrdinaryUser } from '../containers/ordinary-user.ts';
import { findFreePort } from '../gateway/find-free-port.ts';
import { callTool } from './call-tool.ts';
import { secret, server } from './manifests.ts';
import { eventually, makeWorkplace, PROGRAM, ROOT, type Workplace } from './run-vmcp.ts';

const IMAGE = 'vmcp.test/shell:1';
const KEY = randomBytes(12).toString('hex');
/** Otherwise podman ignores limits for this user; the file exists with control groups of version 2. */
const HOLDS_LIMITS = existsSync('/sys/fs/cgroup/cgroup.controllers');
const LIMITS = HOLDS_LIMITS ? '' : '  resources: {limits: {memory: 64Mi}}\n';
const NEEDED = { newuidmap: 'uidmap', slirp4netns: 'slirp4netns' };

interface Told {
  resources: { key: { name: string }; status: { conditions: { type: string }[] } }[];
}

let containers: Containers;
let user: OrdinaryUser;
let place: Workplace;
let endpoint: string;
let published: number;

async function loadImage(): Promise<void> {
  const folder = join(containers.folder, 'shell');
  stageShell(folder);
  copyFileSync(join(import.meta.dirname, 'testdata/look-around.sh'), join(folder, 'look-around.sh'));
  const archive = join(containers.folder, 'shell.tar');
  const config = { Env: ['PATH=/bin'], Entrypoint: ['/bin/sh', '/look-around.sh'] };
  packImages(archive, [{ name: IMAGE, layers: [{ folder }], config }]);
  await user.load(archive);
}

const program = (name: string, more: string) => `apiVersion: vmcp.dev/v1alpha1
kind: MCPServer
metadata: {name: ${name}}
spec:
  groupRef: demo
  image: ${IMAGE}
  transport: stdio
${more}`;

const closed = () =>
  program(
    'closed',
    `  permissionProfile: {type: builtin, name: none}
  secrets: [{name: key, key: value, targetEnvName: API_KEY}]
  volumes:
    - {name: read, hostPath: ${user.home}/read, mountPath: /read, readOnly: true}
    - {name: write, hostPath: ${user.home}/write, mountPath: /write}
`,
  );

beforeAll(async () => {
  containers = openContainers();
  chmodSync(containers.folder, 0o755);
  user = openOrdinaryUser(containers);
  await loadImage();
  for (const name of ['read', 'write']) {
    mkdirSync(join(user.home, name));
    chownSync(join(user.home, name), user.id, user.id);
  }
  const seen = (path: string) => (path.startsWith(ROOT) ? join(user.checkout, relative(ROOT, path)) : path);
  place = makeWorkplace([...user.as, seen(process.execPath), seen(PROGRAM)]);
  chownSync(place.path, user.id, user.id);
  const port = await findFreePort();
  published = await findFreePort();
  endpoint = `http://127.0.0.1:${port}/mcp`;
  place.manifest('server.yaml', server('demo', port));
  place.manifest('key.yaml', secret('key', KEY));
  place.manifest('closed.yaml', closed());
  place.manifest('open.yaml', program('open', `  publish: ['${published}:8080']\n${LIMITS}`));
  const { code, stderr } = await place.run(['up', 'manifests', '--detach']);
  expect([code, stderr]).toEqual([0, '']);
}, 240_000);
afterAll(async () => {
  await place.close();
  await user.close();
  await containers.close();
});

describeWithContainers(
  'a container image without a command, for an unprivileged user,',
  () => {
    it('runs as this user, without a network if its profile says so', async () => {
      const info = JSON.parse(await user.podman(['info', '--format', 'json'])) as {
        host: { security: { rootless: boolean } };
      };
      expect(info.host.security.rootless).toBe(true);
      expect(await callTool(endpoint, 'closed_look')).toEqual({
        ...{ capabilities: '0000000000000000', noNewPrivileges: '1', interfaces: 'lo ' },
        secret: createHash('sha256').update(KEY).digest('hex'),
        ...{ read: 'refused', write: 'written' },
      });
      expect(statSync(join(user.home, 'write/new')).uid).toBe(user.id);
    });

    it('has a network if its profile says nothing, and answers at its published port', async () => {
      expect(await callTool(endpoint, 'open_look')).toMatchObject({
        interfaces: expect.stringMatching(/^lo \w/) as unknown,
      });
      const answer = await fetch(`http://127.0.0.1:${published}/`, { signal: AbortSignal.timeout(20_000) });
      expect(await answer.text()).toBe('here\n');
    });

    it('reports limits that are not enforced', () => {
      const { resources } = JSON.parse(place.read('.vmcp/status.json')) as Told;
      const types = resources
        .filter(({ key }) => key.name === 'open')
        .flatMap(({ status }) => status.conditions.map(({ type }) => type));
      expect(types.filter((type) => type === 'LimitsNotEnforced')).toHaveLength(HOLDS_LIMITS ? 0 : 1);
    });

    it('ends with vmcp down', async () => {
      const names = () => user.podman(['ps', '--all', '--format', '{{.Names}}']);
      expect((await names()).trim().split('\n')).toHaveLength(2);
      expect((await place.run(['down'])).code).toBe(0);
      await eventually(names, (text) => text.trim() === '');
    });
  },
  NEEDED,
);
