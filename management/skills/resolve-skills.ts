import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { checkPrivate } from '../fetching/check-target.ts';
import type { SkillMetadata } from '../records/skill.ts';
import { digestTree } from './list-tree.ts';
import { extractArchive } from './extract-archive.ts';
import { fetchSkill, findRoot } from './fetch-skill.ts';
import { type Space, unusable } from './skill-limits.ts';
import { hostOf, readReference, type SkillReference } from './skill-reference.ts';
import type { FetchedSkill, SourceRules } from './skill-source.ts';
import { validateSkill } from './validate-skill.ts';

const MOST_SKILLS = 20;

export interface ResolvedSkill {
  metadata: SkillMetadata;
  reference: string;
  tag: string | undefined;
  /** Digest of the source if it has one, else of the files. */
  digest: string;
  content: string;
  folder: string;
  dependencies: { name: string; reference: string; digest: string }[];
}

interface Wanted {
  reference: string | undefined;
  version: string | undefined;
  archive: Buffer | undefined;
  digest: string | undefined;
  allowPrivateAddress: boolean;
}

interface Origin {
  /** Absent for an archive. */
  from: SkillReference | undefined;
  allowPrivateAddress: boolean;
}

const UNNAMED: FetchedSkill = { reference: 'archive', tag: undefined, digest: undefined, directory: undefined };

interface Resolving {
  rules: SourceRules;
  space: Space;
  staging: string;
  signal: AbortSignal;
}

/** Returns dependencies first. @throws Problem */
export async function resolveSkills(wanted: Wanted, resolving: Resolving): Promise<ResolvedSkill[]> {
  return new Resolution(resolving).resolve(wanted);
}

class Resolution {
  readonly #with: Resolving;
  readonly #done: ResolvedSkill[] = [];
  readonly #above: string[] = [];
  #count = 0;

  constructor(resolving: Resolving) {
    this.#with = resolving;
  }

  async resolve({ reference, version, archive, digest, allowPrivateAddress }: Wanted): Promise<ResolvedSkill[]> {
    checkPrivate(allowPrivateAddress, this.#with.rules.privateAddresses);
    if (archive !== undefined) {
      const into = await this.#unpack(archive);
      await this.#take({ ...UNNAMED, into }, { from: undefined, allowPrivateAddress }, digest);
    } else {
      const from = readReference(reference ?? '', version);
      await this.#follow(reference ?? '', { from, allowPrivateAddress }, digest);
    }
    return this.#done;
  }

  async #follow(text: string, origin: Origin & { from: SkillReference }, digest?: string): Promise<ResolvedSkill> {
    if (this.#above.includes(text))
      throw unusable(`requires: ${[...this.#above, text].join(' needs ')}, which is a circle`);
    this.#above.push(text);
    const into = await this.#makeFolder();
    const { rules, space, signal } = this.#with;
    const { from, allowPrivateAddress } = origin;
    const fetched = await fetchSkill(from, { rules, allowPrivateAddress, into, space, signal });
    const resolved = await this.#take({ ...fetched, into }, origin, digest);
    this.#above.pop();
    return resolved;
  }

  async #unpack(archive: Buffer): Promise<string> {
    const into = await this.#makeFolder();
    const { signal, space } = this.#with;
    await extractArchive(archive, into, { signal, space });
    return into;
  }

  async #makeFolder(): Promise<string> {
    this.#count += 1;
    if (this.#count > MOST_SKILLS) throw unusable(`requires: the skill needs more than ${MOST_SKILLS - 1} others`);
    const into = join(this.#with.staging, String(this.#count));
    await mkdir(into, { mode: 0o700 });
    return into;
  }

  async #take(
    fetched: FetchedSkill & { into: string },
    origin: Origin,
    expected: string | undefined,
  ): Promise<ResolvedSkill> {
    const { folder, directory } = await findRoot(fetched.into, fetched.directory);
    const { errors, found } = await validateSkill(folder, directory);
    if (found === undefined) throw unusable(`${fetched.reference} is no skill: ${errors.slice(0, 5).join('. ')}`);
    const content = await digestTree(folder, found.files);
    const digest = fetched.digest ?? content;
    if (expected !== undefined && expected !== digest && expected !== content)
      throw unusable(`digest: what was fetched has ${digest}, not ${expected}; nothing was installed`);
    const dependencies = [];
    for (const text of found.requires) {
      const { metadata, reference, digest: itsDigest } = await this.#follow(text, readRequired(text, origin));
      dependencies.push({ name: metadata.name, reference, digest: itsDigest });
    }
    const reference = fetched.reference === UNNAMED.reference ? `archive@${content}` : fetched.reference;
    return this.#add({ metadata: found.metadata, reference, tag: fetched.tag, digest, content, folder, dependencies });
  }

  #add(resolved: ResolvedSkill): ResolvedSkill {
    const { name } = resolved.metadata;
    const same = this.#done.find(({ metadata }) => metadata.name === name);
    if (same === undefined) this.#done.push(resolved);
    else if (same.content !== resolved.content)
      throw unusable(`requires: there are two different skills named "${name}"`);
    return same ?? resolved;
  }
}

/** Rejects dependencies of a remote skill on local paths, or on private addresses of other hosts. */
function readRequired(text: string, { from, allowPrivateAddress }: Origin): Origin & { from: SkillReference } {
  const reference = readReference(text);
  const host = hostOf(reference);
  if (host === undefined && !(from && hostOf(from) === undefined))
    throw unusable(`requires: ${text} is of the machine that it is written on; name a repository or an artifact`);
  const isCallers = from === undefined || hostOf(from) === undefined;
  return { from: reference, allowPrivateAddress: allowPrivateAddress && (isCallers || hostOf(from) === host) };
}
