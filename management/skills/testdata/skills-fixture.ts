import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { locateState } from '#local/state-folder';
import { localServices } from '../../local/local-services.ts';
import { OPERATIONS } from '../../operations/table.ts';
import type { InstalledSkill, SkillMetadata } from '../../records/skill.ts';
import { LocalSecrets } from '../../secrets/local-secrets.ts';
import { serveOperations, type ServedOperations, TOKEN } from '../../testdata/serve-operations.ts';

/** Fields of the operations' answers. */
interface Body {
  code: string;
  detail: string;
  skill: InstalledSkill;
  skills: InstalledSkill[];
  installed_skill: InstalledSkill;
  metadata: SkillMetadata;
  archive?: string;
  valid: boolean;
  errors: string[];
  warnings: string[];
}

export interface SkillsFixture {
  /** New folder that contains all others. */
  base: string;
  /** Home of the user. */
  home: string;
  /** Folder of the skill state. */
  state: string;
  served: ServedOperations;
  ask: (method: string, path: string, body?: unknown) => Promise<{ status: number; body: Body }>;
  install: (body: Record<string, unknown>) => Promise<{ status: number; body: Body }>;
  /** Writes files below the folder, path to text, and returns the folder. */
  write: (folder: string, files: Record<string, string>) => string;
  /** Returns all files of the home except the state. */
  installed: () => string[];
  close(): Promise<void>;
}

/** Returns the text of a SKILL.md. */
export function skillText(name: string, more = '', body = 'Do it.\n'): string {
  return `---\nname: ${name}\ndescription: Does ${name}.\n${more}---\n${body}`;
}

/** Serves all operations over HTTP, for a user of one machine without any state. */
export async function openSkillsFixture(
  environment: NodeJS.ProcessEnv = {},
  options: { deadline?: number } = {},
): Promise<SkillsFixture> {
  const base = mkdtempSync(join(tmpdir(), 'vmcp-skills-'));
  const home = join(base, 'home');
  const folder = join(base, 'manifests');
  for (const path of [home, folder]) mkdirSync(path);
  const group = 'apiVersion: vmcp.dev/v1alpha1\nkind: MCPGroup\nmetadata: { name: tools }\nspec: {}\n';
  writeFileSync(join(folder, 'group.yaml'), group);
  const state = locateState(join(base, '.vmcp'));
  const whole = { HOME: home, PATH: '/usr/local/bin:/usr/bin:/bin', ...environment };
  const services = localServices({
    ...{ state, folder, environment: whole, version: '1.2.3' },
    secrets: new LocalSecrets({ state, environment: whole }),
    onFailure: () => undefined,
  });
  const served = await serveOperations(OPERATIONS, { services: services('default'), deadline: 60_000, ...options });
  const ask: SkillsFixture['ask'] = async (method, path, body) => {
    const answer = await fetch(served.url + path, {
      method,
      headers: { authorization: `Bearer ${TOKEN}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return { status: answer.status, body: (text === '' ? undefined : JSON.parse(text)) as Body };
  };
  return {
    ...{ base, home, served, ask, state: join(home, '.local/state/vmcp/skills') },
    install: (body) => ask('POST', '/skills', body),
    write(below, files) {
      const root = join(base, below);
      for (const [path, text] of Object.entries(files)) {
        mkdirSync(dirname(join(root, path)), { recursive: true });
        writeFileSync(join(root, path), text);
      }
      return root;
    },
    installed: () =>
      readdirSync(home, { recursive: true, encoding: 'utf8', withFileTypes: true })
        .filter((entry) => !entry.isDirectory() && !entry.parentPath.includes('/.local/state'))
        .map((entry) => join(entry.parentPath, entry.name).slice(home.length + 1))
        .sort(),
    async close() {
      await served.close();
      rmSync(base, { recursive: true, force: true });
    },
  };
}
