import { LIMITS, type SkillBudget, unusable } from './skill-limits.ts';

/** Device names on Windows, with any extension. */
const DEVICE = /^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)/i;

const FORBIDDEN = /[\u0000-\u001f\u007f\\:*?"<>|]/;

/** Rejects paths that leave the folder on any system, or that differ between systems. @throws Problem `bad_request` */
export function checkPath(path: string): string[] {
  const shown = JSON.stringify(path.slice(0, 100));
  if (Buffer.byteLength(path) > LIMITS.pathBytes) throw unusable(`the path ${shown} is too long`);
  if (path.startsWith('/') || FORBIDDEN.test(path) || !path.isWellFormed())
    throw unusable(`the path ${shown} is absolute, or has signs that no path may have`);
  const parts = path.split('/').filter((part) => part !== '' && part !== '.');
  if (parts.includes('..')) throw unusable(`the path ${shown} leaves the folder of the skill`);
  if (parts.some((part) => /[. ]$/.test(part) || DEVICE.test(part)))
    throw unusable(`the path ${shown} has a name that is another one, or a device, on some systems`);
  if (parts.length > LIMITS.depth) throw unusable(`the path ${shown} is nested too deep`);
  return parts;
}

/** Counts folders without an entry too, and finds paths that some systems cannot distinguish. */
export class SeenPaths {
  readonly #budget: SkillBudget;
  readonly #files = new Set<string>();
  readonly #folders = new Set<string>();
  /** First spelling of each path. */
  readonly #spelling = new Map<string, string>();

  constructor(budget: SkillBudget) {
    this.#budget = budget;
  }

  /** @throws Problem `bad_request`: the path exists already, or is needed as a folder */
  addFile(parts: readonly string[]): void {
    const path = this.#enter(parts);
    if (this.#files.has(path) || this.#folders.has(path)) throw unusable(`${JSON.stringify(path)} is there twice`);
    this.#budget.addEntry();
    this.#files.add(path);
  }

  /** @throws Problem `bad_request`: a file is there */
  addFolder(parts: readonly string[]): void {
    this.#enter([...parts, '']);
  }

  #enter(parts: readonly string[]): string {
    for (let length = 1; length < parts.length; length += 1) {
      const above = this.#fold(parts.slice(0, length));
      if (this.#files.has(above)) throw unusable(`${JSON.stringify(above)} is a file and a folder`);
      if (!this.#folders.has(above)) this.#budget.addEntry();
      this.#folders.add(above);
    }
    return this.#fold(parts);
  }

  /** Returns the path as file systems see it that ignore case and composition. */
  #fold(parts: readonly string[]): string {
    const path = parts.join('/');
    const folded = path.normalize('NFC').toLowerCase();
    const first = this.#spelling.get(folded) ?? path;
    if (first !== path) throw unusable(`${JSON.stringify(path)} and ${JSON.stringify(first)} are one on some systems`);
    this.#spelling.set(folded, path);
    return folded;
  }
}
