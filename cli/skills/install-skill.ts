import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { codeOf } from '#lib/files/write-file';
import { installSkill, validateSkillOperation } from '#management/operations/skills';
import type { InstalledSkill } from '#management/records/skill';
import { CliError, EXIT_CODES } from '../exit-codes.ts';
import type { ManagementApi } from '../management/management-api.ts';
import { FETCHING_FLAGS, namingFlags } from '../management/refusal.ts';

export interface InstallOptions {
  version?: string;
  digest?: string;
  project?: string;
  client?: string[];
  group?: string;
  allowPrivateIp: boolean;
  force: boolean;
}

/** @throws CliError */
export async function install(api: ManagementApi, from: string, options: InstallOptions): Promise<InstalledSkill> {
  const { version, digest, project, client: clients, group, allowPrivateIp: allow_private_ip, force } = options;
  const source = sourceOf(from);
  const place = project === undefined ? {} : { scope: 'project' as const, project_root: resolve(project) };
  const body = {
    ...(source.path === undefined ? source : { name: source.path }),
    ...{ version, digest, clients, group, allow_private_ip, force },
    ...place,
  };
  return (await namingFlags(FETCHING_FLAGS, () => api.call(installSkill, { body }))).body.skill;
}

/** @throws CliError when the source is missing */
export async function validate(
  api: ManagementApi,
  from: string,
): Promise<{ valid: boolean; errors: string[]; warnings: string[] }> {
  const { name, ...source } = sourceOf(from);
  if (name !== undefined) throw new CliError(EXIT_CODES.usage, `${from}: there is no such folder, and no such archive`);
  return (await api.call(validateSkillOperation, { body: source })).body;
}

/** Bytes of an archive; its base64 form is the limit of the operation. */
const LONGEST = 3_000_000;

/** Accepts a local folder, a local archive or a reference. @throws CliError */
function sourceOf(from: string): { path?: string; archive?: string; name?: string } {
  const path = resolve(from);
  const found = from.includes('://') ? undefined : statSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory()) return { path };
  if (!found && /^[./~]/.test(from))
    throw new CliError(EXIT_CODES.usage, `${from}: there is no such folder, and no such archive`);
  if (!found) return { name: from };
  if (found.size > LONGEST) throw new CliError(EXIT_CODES.input, `${from} is longer than ${LONGEST} bytes`);
  try {
    return { archive: readFileSync(path).toString('base64') };
  } catch (problem) {
    throw new CliError(EXIT_CODES.input, `${from} cannot be read (${codeOf(problem) ?? 'unknown'})`);
  }
}
