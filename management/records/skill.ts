import { z } from 'zod';

export const SkillScope = z.enum(['user', 'project']);
export type SkillScope = z.infer<typeof SkillScope>;

/** The name has 2 to 64 characters. */
export const SKILL_NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/;

export const SkillMetadata = z.strictObject({
  name: z.string().describe('Name of the skill.'),
  description: z.string().describe('What it does, and when it is to be used.'),
  version: z.string().optional().describe('Its version.'),
  author: z.string().optional().describe('Who wrote it.'),
  tags: z.array(z.string()).optional().describe('Words to find it by.'),
});
export type SkillMetadata = z.infer<typeof SkillMetadata>;

const SkillDependency = z.strictObject({
  name: z.string().describe('Name of the skill.'),
  reference: z.string().describe('Where it came from.'),
  digest: z.string().describe('What was installed of it.'),
});

export const InstalledSkill = z.strictObject({
  metadata: SkillMetadata,
  scope: SkillScope.describe('For all that the user does, or for one project.'),
  project_root: z.string().optional().describe('Folder of the project, with scope project.'),
  reference: z.string().describe('Where it came from, as exactly as it can be said.'),
  tag: z.string().optional().describe('Tag, branch or version that was asked for.'),
  digest: z
    .string()
    .describe('Digest of the manifest of an OCI artifact, else of the files (docs/internals/decisions/skills.md).'),
  installed_at: z.string().describe('When, RFC 3339.'),
  status: z
    .enum(['installed', 'pending', 'failed'])
    .describe('Pending while it is worked on; failed where its files are not those that were installed.'),
  clients: z.array(z.string()).describe('MCP clients that read it.'),
  dependencies: z.array(SkillDependency).describe('Skills that it needs, installed with it.'),
});
export type InstalledSkill = z.infer<typeof InstalledSkill>;
