import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { tgzOf } from '../skills/testdata/archives.ts';
import { digestOf } from '../skills/testdata/serve-artifacts.ts';
import { skillText } from '../skills/testdata/skills-fixture.ts';
import type { BodyFixture, Effect } from './body-fixture.ts';

type Observe = Effect['observe'];

const SKILL = 'SKILL.md';
const folderOf = (fixture: BodyFixture, name: string) => fixture.write(name, { [SKILL]: skillText(name) });
const archiveOf = async (name: string, body?: string) =>
  (await tgzOf([{ name: SKILL, text: skillText(name, '', body) }])).toString('base64');

/** Files of skills below the home folder and the projects, each with its text. */
const installed: Observe = ({ base }, { status }) => [
  status,
  ...readdirSync(base, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith(SKILL) && /^(home|project)/.test(path) && !path.includes('.local/state'))
    .sort()
    .map((path) => [path, readFileSync(join(base, path), 'utf8')]),
];

/** A skill in a registry with two tags, on a private address. */
async function publish({ artifacts }: BodyFixture): Promise<string> {
  for (const tag of ['one', 'two'])
    artifacts.put('owner/notes', tag, Buffer.from(await archiveOf('notes', `${tag}\n`), 'base64'));
  return `${artifacts.host}/owner/notes`;
}

const ofRegistry = (bodies: (name: string) => Awaited<ReturnType<Effect['bodies']>>): Effect => ({
  bodies: async (fixture) => bodies(await publish(fixture)),
  observe: installed,
});
const ofFolder = (bodies: (name: string, fixture: BodyFixture) => Awaited<ReturnType<Effect['bodies']>>): Effect => ({
  bodies: (fixture) => bodies(folderOf(fixture, 'notes'), fixture),
  observe: installed,
});

export const SKILL_EFFECTS: Readonly<Record<string, Effect>> = {
  'installSkill name': ofFolder((name, fixture) => [{ name }, { name: folderOf(fixture, 'more') }]),
  'installSkill archive': {
    bodies: async () => [{ archive: await archiveOf('notes') }, { archive: await archiveOf('more') }],
    observe: installed,
  },
  'installSkill version': ofRegistry((name) => [
    { name, version: 'one', allow_private_ip: true },
    { name, version: 'two', allow_private_ip: true },
  ]),
  'installSkill digest': ofFolder((name) => [{ name }, { name, digest: digestOf('another skill') }]),
  'installSkill scope': ofFolder((name, fixture) => {
    const root = fixture.write('project', { a: '' });
    return [
      { name, project_root: root, scope: 'project' },
      { name, project_root: root, scope: 'user' },
    ];
  }),
  'installSkill project_root': ofFolder((name, fixture) => [
    { name, scope: 'project', project_root: fixture.write('project-one', { a: '' }) },
    { name, scope: 'project', project_root: fixture.write('project-two', { a: '' }) },
  ]),
  'installSkill clients.*': ofFolder((name) => [
    { name, clients: ['cursor'] },
    { name, clients: ['goose'] },
  ]),
  'installSkill group': {
    ...ofFolder((name) => [{ name }, { name, group: 'tools' }]),
    observe: async ({ ask }) => (await ask('GET', '/skills?group=tools')).body.skills.length,
  },
  'installSkill allow_private_ip': ofRegistry((name) => [
    { name, version: 'one', allow_private_ip: true },
    { name, version: 'one', allow_private_ip: false },
  ]),
  'installSkill force': {
    ...ofFolder((name) => [{ name, force: true }, { name }]),
    before: (fixture) => fixture.install({ name: folderOf(fixture, 'notes') }),
  },
  'validateSkill path': {
    bodies: (fixture) => [
      { path: folderOf(fixture, 'notes') },
      { path: fixture.write('broken', { [SKILL]: 'broken' }) },
    ],
    observe: (_, { body }) => body,
  },
  'validateSkill archive': {
    bodies: async () => [
      { archive: await archiveOf('notes') },
      { archive: (await tgzOf([{ name: 'README.md', text: 'none' }])).toString('base64') },
    ],
    observe: (_, { body }) => body,
  },
};
