import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { skillOperations } from '../../operations/skills.ts';
import type { InstalledSkill } from '../../records/skill.ts';
import { ListSemaphore } from '../../stores/list-semaphore.ts';
import type { Records, RecordStore } from '../../stores/record-store.ts';
import { servicesWith } from '../../testdata/services-with.ts';
import { serveOperations, type ServedOperations, TOKEN } from '../../testdata/serve-operations.ts';
import { unboundStore } from '../../testdata/unbound-store.ts';
import { clusterSkills } from '../cluster-skills.ts';
import { FETCH_DEADLINE, type SourceRules } from '../skill-source.ts';
import { StagingSemaphore } from '../staging-semaphore.ts';
import { tgzOf } from '../testdata/archives.ts';
import { type ArtifactServer, serveArtifacts } from '../testdata/serve-artifacts.ts';
import { skillText } from '../testdata/skills-fixture.ts';

interface Body {
  code: string;
  skill: InstalledSkill;
  skills: InstalledSkill[];
  installed_skill: InstalledSkill;
  archive?: string;
  valid: boolean;
}

/** Tests the skill operations of a cluster with any record store. */
export function clusterSkillsContract(name: string, openRecords: () => Promise<Records>): void {
  describe(`skills of a cluster, in ${name}`, () => {
    let records: Records;
    let served: ServedOperations;
    let registry: ArtifactServer;
    let rules: SourceRules;
    beforeEach(async () => {
      records = await openRecords();
      registry = await serveArtifacts();
      rules = {
        ...{ localPaths: false, privateAddresses: true, proxy: undefined },
        ...{ searchPath: '/none', deadline: FETCH_DEADLINE },
      };
      served = await serveSkills(records);
    });
    afterEach(async () => {
      await served.close();
      await registry.close();
    });

    function serveSkills(from: Records): Promise<ServedOperations> {
      const readers = {
        list: () => Promise.resolve([{ name: 'cursor', groups: ['tools'] }]),
        checkGroup: () => Promise.resolve(),
      };
      const options = {
        namespace: 'default',
        records: from,
        readers,
        rules,
        lists: new ListSemaphore(),
        now: Date.now,
      };
      const skills = clusterSkills(options, new StagingSemaphore(tmpdir()));
      return serveOperations(skillOperations, { services: servicesWith({ skills }), deadline: 60_000 });
    }

    const ask = async (method: string, path: string, body?: unknown) => {
      const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
      const sent = body === undefined ? {} : { headers, body: JSON.stringify(body) };
      const answer = await fetch(served.url + path, {
        method,
        headers: { authorization: headers.authorization },
        ...sent,
      });
      const text = await answer.text();
      return { status: answer.status, body: (text === '' ? {} : JSON.parse(text)) as Body };
    };
    const install = (body: Record<string, unknown>) => ask('POST', '/skills', body);
    const skill = (name: string, more = '', text = '') =>
      tgzOf([{ name: 'SKILL.md', text: skillText(name, more, text) }]);
    const answered = ({ status, body }: Awaited<ReturnType<typeof ask>>) => [status, body.code];
    const at = (name: string) => ({ name: `${registry.host}/o/${name}`, allow_private_ip: true });

    it('records a fetched, validated and pinned skill with its clients and group', async () => {
      const digest = registry.put('o/notes', 'v1', await skill('notes'));
      const { status, body } = await install({ ...at('notes:v1'), group: 'tools' });
      expect([status, body.skill]).toMatchObject([
        201,
        {
          ...{ digest, reference: `${registry.host}/o/notes:v1@${digest}`, tag: 'v1' },
          ...{ scope: 'user', status: 'installed', clients: ['cursor'] },
        },
      ]);
      for (const query of ['', '?group=tools', '?client=cursor', '?scope=user'])
        expect((await ask('GET', `/skills${query}`)).body).toEqual({ skills: [body.skill] });
      for (const query of ['?group=other', '?client=zed', '?scope=project'])
        expect((await ask('GET', `/skills${query}`)).body).toEqual({ skills: [] });
      expect((await ask('GET', '/skills/notes')).body.installed_skill).toEqual(body.skill);
      expect((await ask('DELETE', '/skills/notes')).status).toBe(204);
      expect((await ask('GET', '/skills')).body).toEqual({ skills: [] });
    });

    it('replaces a skill only with force', async () => {
      registry.put('o/notes', 'v1', await skill('notes'));
      registry.put('o/notes', 'v2', await skill('notes', '', 'newer'));
      expect((await install(at('notes:v1'))).status).toBe(201);
      expect(answered(await install(at('notes:v1')))).toEqual([409, 'already_exists']);
      expect(answered(await install(at('notes:v2')))).toEqual([409, 'already_exists']);
      expect((await install({ ...at('notes:v1'), clients: ['zed'] })).body.skill.clients).toEqual(['cursor', 'zed']);
      expect((await install({ ...at('notes:v2'), force: true })).body.skill.tag).toBe('v2');
    });

    it('keeps the group of a skill that is installed again, and its archive when it becomes a dependency', async () => {
      const archive = (await skill('beta')).toString('base64');
      registry.put('o/beta', 'v1', await skill('beta'));
      expect((await install({ archive, group: 'tools' })).status).toBe(201);
      const alpha = await skill('alpha', `requires: ["${registry.host}/o/beta:v1"]\n`);
      const brought = { archive: alpha.toString('base64'), allow_private_ip: true, force: true };
      expect((await install(brought)).status).toBe(201);
      const kept = async (name: string) => (await ask('GET', `/skills/${name}?archive=true`)).body.archive;
      expect([await kept('alpha'), await kept('beta')]).toEqual([brought.archive, archive]);
      const { skills } = (await ask('GET', '/skills?group=tools')).body;
      expect(skills.map(({ metadata }) => metadata.name)).toEqual(['beta']);
    });

    it('installs the dependencies of a skill, and keeps them as long as the skill', async () => {
      registry.put('o/beta', 'v1', await skill('beta'));
      registry.put('o/alpha', 'v1', await skill('alpha', `requires: ["${registry.host}/o/beta:v1"]\n`));
      registry.put('o/gamma', 'v1', await skill('gamma', `requires: ["${registry.host}/o/none:v1"]\n`));
      expect((await install(at('gamma:v1'))).status).toBe(400);
      expect((await ask('GET', '/skills')).body.skills).toEqual([]);
      expect((await install(at('alpha:v1'))).status).toBe(201);
      expect((await ask('GET', '/skills')).body.skills.map(({ metadata }) => metadata.name)).toEqual(['alpha', 'beta']);
      expect(answered(await ask('DELETE', '/skills/beta'))).toEqual([409, 'conflict']);
      expect((await ask('DELETE', '/skills/beta?force=true')).status).toBe(204);
    });

    it('installs all skills or none, with their dependencies, when the process is killed after any write', async () => {
      registry.put('o/beta', 'v1', await skill('beta'));
      registry.put('o/alpha', 'v1', await skill('alpha', `requires: ["${registry.host}/o/beta:v1"]\n`));
      registry.put('o/beta', 'v2', await skill('beta', '', 'newer'));
      registry.put('o/alpha', 'v2', await skill('alpha', `requires: ["${registry.host}/o/beta:v2"]\n`));
      const tags = async () => {
        const { skills } = (await ask('GET', '/skills')).body;
        return skills.map(({ metadata, tag }) => `${metadata.name} ${tag ?? ''}`).join();
      };
      const seen: string[][] = [];
      for (let writes = 0; writes < 4; writes += 1) {
        const states: string[] = [];
        for (const version of ['v1', 'v2']) {
          await served.close();
          served = await serveSkills(dyingAfter(writes, records));
          await install({ ...at(`alpha:${version}`), force: true });
          await served.close();
          served = await serveSkills(records);
          states.push(await tags());
          expect((await install({ ...at(`alpha:${version}`), force: true })).status).toBe(201);
          expect(await tags()).toBe(`alpha ${version},beta ${version}`);
          expect(await records('skillchanges').list()).toEqual([]);
        }
        seen.push(states);
        for (const name of ['alpha', 'beta']) expect((await ask('DELETE', `/skills/${name}`)).status).toBe(204);
      }
      const after = ['alpha v1,beta v1', 'alpha v2,beta v2'];
      expect(seen).toEqual([['', 'alpha v1,beta v1'], after, after, after]);
    });

    it('completes the installation of a killed process before one of its skills is uninstalled', async () => {
      registry.put('o/beta', 'v1', await skill('beta'));
      registry.put('o/alpha', 'v1', await skill('alpha', `requires: ["${registry.host}/o/beta:v1"]\n`));
      await served.close();
      served = await serveSkills(dyingAfter(2, records));
      await install(at('alpha:v1'));
      await served.close();
      served = await serveSkills(records);
      expect(answered(await ask('DELETE', '/skills/beta'))).toEqual([409, 'conflict']);
      expect((await ask('DELETE', '/skills/alpha')).status).toBe(204);
      expect((await ask('GET', '/skills')).body.skills.map(({ metadata }) => metadata.name)).toEqual(['beta']);
    });

    it('stores sent archives and returns them on request', async () => {
      const archive = (await skill('notes')).toString('base64');
      expect((await install({ archive })).status).toBe(201);
      expect((await ask('GET', '/skills/notes')).body.archive).toBeUndefined();
      expect((await ask('GET', '/skills/notes?archive=true')).body.archive).toBe(archive);
      const text = randomBytes(800_000).toString('base64');
      const large = await tgzOf([
        { name: 'SKILL.md', text: skillText('large') },
        { name: 'data', text },
      ]);
      const refused = await install({ archive: large.toString('base64') });
      expect(answered(refused)).toEqual([413, 'too_large']);
    });

    it('limits skills to 16 MB, because an operator has little disk', async () => {
      const big = ['one', 'two'].map((name) => ({ name, text: Buffer.alloc(9 * 1024 * 1024) }));
      const archive = (await tgzOf([{ name: 'SKILL.md', text: skillText('big') }, ...big])).toString('base64');
      expect(answered(await install({ archive }))).toEqual([400, 'bad_request']);
      expect((await ask('POST', '/skills/validate', { archive })).body.valid).toBe(false);
    });

    it('limits skills to 16 MB also for small files and folders, each of which has a fixed cost', async () => {
      const isValid = async (count: number) => {
        const small = Array.from({ length: count }, (_, nr) => ({ name: `f${nr}`, text: 'x' }));
        const large = { name: 'large', text: Buffer.alloc(13 * 1024 * 1024) };
        const archive = await tgzOf([{ name: 'SKILL.md', text: skillText('small') }, large, ...small]);
        return (await ask('POST', '/skills/validate', { archive: archive.toString('base64') })).body.valid;
      };
      expect([await isValid(900), await isValid(300)]).toEqual([false, true]);
    });

    it.each<[string, string, unknown, number, string]>([
      ['GET', '/skills?project_root=/p', undefined, 400, 'path_not_available'],
      ['GET', '/skills/notes?project_root=/p', undefined, 400, 'path_not_available'],
      ['GET', '/skills/notes?scope=project', undefined, 400, 'path_not_available'],
      ['DELETE', '/skills/notes?project_root=/p', undefined, 400, 'path_not_available'],
      ['POST', '/skills', { name: '/etc' }, 400, 'path_not_available'],
      ['POST', '/skills', { name: 'file:///etc' }, 400, 'path_not_available'],
      ['POST', '/skills', { name: 'git+file:///etc' }, 400, 'path_not_available'],
      ['POST', '/skills', { name: 'ghcr.io/o/n', project_root: '/p' }, 400, 'path_not_available'],
      ['POST', '/skills', { name: 'ghcr.io/o/n', scope: 'project' }, 400, 'path_not_available'],
      ['POST', '/skills/validate', { path: '/etc' }, 400, 'path_not_available'],
      ['POST', '/skills', { name: '127.0.0.1:1/o/n' }, 400, 'bad_request'],
      ['POST', '/skills', { name: '127.0.0.1:1/o/n', allow_private_ip: true }, 500, 'source_failed'],
      ['POST', '/skills', { name: 'git+http://127.0.0.1:1/r', allow_private_ip: true }, 400, 'bad_request'],
      ['POST', '/skills', { archive: 'YWJj' }, 400, 'bad_request'],
      ['GET', '/skills/n', undefined, 400, 'bad_request'],
      ['GET', '/skills/none', undefined, 404, 'not_found'],
      ['DELETE', '/skills/none', undefined, 404, 'not_found'],
    ])('answers %s %s with %j (%#) as it is documented', async (method, path, body, status, code) => {
      expect(answered(await ask(method, path, body))).toEqual([status, code]);
    });

    it('fetches from no private address unless the operator allows it', async () => {
      registry.put('o/notes', 'v1', await skill('notes'));
      rules.privateAddresses = false;
      expect(answered(await install(at('notes:v1')))).toEqual([403, 'private_address_refused']);
      expect(registry.asked).toEqual([]);
    });

    it('reports unreadable records', async () => {
      await records('skills').create('user:notes', { half: true });
      for (const path of ['/skills', '/skills/notes'])
        expect(answered(await ask('GET', path))).toEqual([500, 'store_damaged']);
      expect(answered(await ask('DELETE', '/skills/notes'))).toEqual([500, 'store_damaged']);
    });

    it('validates skills as on one machine', async () => {
      const archive = (await skill('notes')).toString('base64');
      expect((await ask('POST', '/skills/validate', { archive })).body.valid).toBe(true);
      expect((await ask('GET', '/skills')).body.skills).toEqual([]);
    });
  });
}

/** Returns records whose process is killed after this number of writes. */
function dyingAfter(writes: number, records: Records): Records {
  let left = writes;
  const write = <A extends unknown[], R>(work: (...args: A) => Promise<R>) => {
    return (...args: A): Promise<R> => {
      left -= 1;
      return left < 0 ? Promise.reject(new Error('killed')) : work(...args);
    };
  };
  return (kind): RecordStore => {
    const store = records(kind);
    return {
      ...unboundStore(store),
      create: write((name, value) => store.create(name, value)),
      replace: write((name, value, version) => store.replace(name, value, version)),
      delete: write((name, version) => store.delete(name, version)),
    };
  };
}
