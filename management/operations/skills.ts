import { z } from 'zod';
import { text } from '#crds/parts/primitives';
import { flag, isOn } from '../flag.ts';
import { NoBody, Nothing, operation, PLAIN, type Permission } from '../operation.ts';
import { InstalledSkill, SKILL_NAME, SkillMetadata, SkillScope } from '../records/skill.ts';

const SkillInPath = z.strictObject({
  name: z
    .string()
    .min(2)
    .max(64)
    .regex(SKILL_NAME, 'not the name of a skill; write lower-case letters, digits and single hyphens between them')
    .describe('Name of the skill.'),
});

const AbsolutePath = z
  .string()
  .max(4096)
  .regex(/^(\/|[A-Za-z]:[\\/])/, 'not an absolute path; write it from the root');

const ProjectRoot = AbsolutePath.describe('Absolute path of the project; on one machine alone.');

const PLACE = {
  scope: SkillScope.optional().describe(
    'Which of the skills of this name; default `project` with project_root, else `user`.',
  ),
  project_root: ProjectRoot.optional(),
};

const Archive = z
  .base64()
  .min(4)
  .max(4_000_000)
  .describe('A tar (gzip or not) or zip archive of the skill in base64, in place of a name or path.');

const chooseOne = (one: string, other: string) => ({
  error: ({ input }: { input?: unknown }) =>
    typeof input === 'object' && input !== null && one in input
      ? `${one} and ${other} exclude each other; write one of them`
      : `required field is missing; write ${one}, or ${other}`,
  path: [one],
});

const oneOf = (one: string, other: string) => ({ oneOf: [{ required: [one] }, { required: [other] }] });

const skill = (verb: Permission['verb'], name?: string): Permission => ({
  verb,
  resource: 'skills',
  ...(name !== undefined && { name }),
});

const DAMAGED = { store_damaged: 'what is stored of skills cannot be read' } as const;
const WAITING =
  'more requests than a caller may make, or in a cluster eight skills of the namespace wait already to be looked at';
const PATHS = { path_not_available: 'project_root or scope project in a cluster' } as const;

export const listSkills = operation({
  ...PLAIN,
  number: 13,
  id: 'listSkills',
  method: 'GET',
  path: '/skills',
  summary: 'List the installed skills',
  query: z.strictObject({
    scope: SkillScope.optional().describe('Only those of this scope.'),
    client: z.string().max(64).optional().describe('Only those that this client reads.'),
    project_root: ProjectRoot.optional().describe('Of those of projects only those of this one.'),
    group: z.string().max(63).optional().describe('Only those of this group.'),
  }),
  result: z.strictObject({ skills: z.array(InstalledSkill).describe('By name.') }),
  problems: { ...PATHS, ...DAMAGED },
  permissions: () => [skill('list')],
  async run({ query: { scope, client, project_root: projectRoot, group } }, { skills }) {
    return { body: { skills: await skills.list({ scope, client, projectRoot, group }) } };
  },
});

export const getSkill = operation({
  ...PLAIN,
  number: 11,
  id: 'getSkill',
  method: 'GET',
  path: '/skills/{name}',
  summary: 'Get a skill; its files are looked at, too',
  params: SkillInPath,
  query: z.strictObject({
    ...PLACE,
    archive: flag('Also give the archive that it was installed from, where vmcp keeps it: in a cluster.'),
  }),
  result: z.strictObject({
    installed_skill: InstalledSkill,
    metadata: SkillMetadata,
    archive: z.string().optional().describe('A tar (gzip or not) or zip archive of the skill in base64.'),
  }),
  problems: { not_found: 'there is no such skill there', ...PATHS, ...DAMAGED },
  permissions: ({ params: { name } }) => [skill('get', name)],
  async run({ params: { name }, query: { scope, project_root: projectRoot, archive: isWanted } }, { skills }) {
    const { skill: installed_skill, metadata, archive } = await skills.get(name, { scope, projectRoot });
    return { body: { installed_skill, metadata, ...(isOn(isWanted) && archive !== undefined && { archive }) } };
  },
});

const NewSkill = z
  .strictObject({
    name: text(2048)
      .optional()
      .describe(
        'Where it comes from: `ghcr.io/owner/skill:tag`, `git://host/owner/repository@ref#folder`, or on one machine a folder.',
      ),
    archive: Archive.optional(),
    version: text(256).optional().describe('Tag or ref, where the name has none.'),
    digest: z
      .string()
      .regex(/^sha256:[0-9a-f]{64}$/, 'not a digest; write sha256: and 64 hexadecimal digits')
      .optional()
      .describe('Digest that it must have; else nothing is installed.'),
    scope: SkillScope.default('user').describe('For all that the user does, or for one project.'),
    project_root: ProjectRoot.optional(),
    clients: z
      .array(text(64))
      .max(32)
      .optional()
      .describe(
        'MCP clients that are to read it; absent: those that are registered, for the group where one is named.',
      ),
    group: text(63).optional().describe('Group that it belongs to.'),
    allow_private_ip: z
      .boolean()
      .default(false)
      .describe(
        'Private addresses may be called, and these by plain HTTP; of what the skill needs those of its own host.',
      ),
    force: z.boolean().default(false).describe('Replace existing files, also those changed by hand.'),
  })
  .refine(({ name, archive }) => (name === undefined) !== (archive === undefined), chooseOne('name', 'archive'))
  .refine(({ archive, version }) => archive === undefined || version === undefined, {
    error: 'an archive has no version; leave it out',
    path: ['version'],
  })
  .meta({ ...oneOf('name', 'archive'), not: { required: ['archive', 'version'] } });

export const installSkill = operation({
  ...PLAIN,
  number: 12,
  id: 'installSkill',
  method: 'POST',
  path: '/skills',
  summary: 'Install a skill with all that it needs, or nothing',
  body: NewSkill,
  success: 201,
  result: z.strictObject({ skill: InstalledSkill }),
  problems: {
    path_not_available: 'a folder, project_root or scope project in a cluster',
    private_address_refused: 'allow_private_ip where the administrator of the operator does not allow it',
    already_exists: 'it is installed already, or another version of it',
    conflict: 'something else is where it belongs, or it has been changed by hand',
    busy: 'skills are being worked on by somebody else',
    ...DAMAGED,
    too_many_requests: WAITING,
    source_failed: 'its source does not answer, or with something else',
  },
  first: () => skill('create'),
  permissions: ({ body: { clients = [], group } }) => [
    skill('create'),
    // An installed skill gets more clients, or new content with force.
    skill('update'),
    // The answer reveals the registered clients and the groups.
    ...(clients.length === 0 ? [{ verb: 'list', resource: 'clients' } as const] : []),
    ...(group === undefined ? [] : [{ verb: 'list', resource: 'mcpgroups' } as const]),
  ],
  audit: 'management_skill_installed',
  async run({ body: { name, archive, project_root: projectRoot, ...body }, signal }, { skills }) {
    const { version, digest, scope, clients, group, force, allow_private_ip: allowPrivateAddress } = body;
    return {
      body: {
        skill: await skills.install({
          ...{ reference: name, archive: bytesOf(archive), version, digest, scope, projectRoot, clients, group, force },
          ...{ allowPrivateAddress, signal },
        }),
      },
    };
  },
});

export const uninstallSkill = operation({
  number: 14,
  id: 'uninstallSkill',
  method: 'DELETE',
  path: '/skills/{name}',
  summary: 'Uninstall a skill; what it needs stays',
  params: SkillInPath,
  query: z.strictObject({
    ...PLACE,
    force: flag('Also where another skill needs it, or it has been changed by hand.'),
  }),
  body: NoBody,
  success: 204,
  result: Nothing,
  problems: {
    not_found: 'there is no such skill there',
    conflict: 'another skill needs it, or it has been changed by hand',
    busy: 'skills are being worked on by somebody else',
    ...PATHS,
    ...DAMAGED,
  },
  permissions: ({ params: { name } }) => [skill('delete', name)],
  audit: 'management_skill_uninstalled',
  async run({ params: { name }, query: { scope, project_root: projectRoot, force } }, { skills }) {
    await skills.uninstall(name, { scope, projectRoot }, isOn(force));
    return { body: undefined };
  },
});

export const validateSkillOperation = operation({
  ...PLAIN,
  number: 15,
  id: 'validateSkill',
  method: 'POST',
  path: '/skills/validate',
  summary: 'Check a skill without installing it',
  body: z
    .strictObject({
      path: AbsolutePath.optional().describe('Absolute path of its folder; on one machine alone.'),
      archive: Archive.optional(),
    })
    .refine(({ path, archive }) => (path === undefined) !== (archive === undefined), chooseOne('path', 'archive'))
    .meta(oneOf('path', 'archive')),
  result: z.strictObject({
    valid: z.boolean().describe('There are no errors.'),
    errors: z.array(z.string()).describe('What keeps it from being installed.'),
    warnings: z.array(z.string()).describe('What should be better.'),
  }),
  problems: {
    path_not_available: 'path in a cluster',
    busy: 'in a cluster another skill of the namespace is being looked at',
    too_many_requests: WAITING,
  },
  first: () => skill('get'),
  permissions: () => [skill('get')],
  async run({ body: { path, archive }, signal }, { skills }) {
    return { body: await skills.validate({ path, archive: bytesOf(archive), signal }) };
  },
});

function bytesOf(archive: string | undefined): Buffer | undefined {
  return archive === undefined ? undefined : Buffer.from(archive, 'base64');
}

export const skillOperations = [listSkills, getSkill, installSkill, uninstallSkill, validateSkillOperation];
