import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Pages whose links are checked. */
const PAGES = ['README.md', 'docs/**/*.md', 'examples/**/*.md', 'charts/**/*.md'];

/** Matches code, which has brackets that are no links. */
const CODE = /^(`{3,}|~{3,})[\s\S]*?^\1|`[^`\n]*`/gm;

/** Matches the target of a link, without its fragment. */
const LINK = /\]\(([^)\s#]+)(?:#[^)\s]*)?\)/g;

const ELSEWHERE = /^[a-z][a-z0-9+.-]*:/i;

/** Returns the relative links of the public pages below a folder that lead to no file, as lines `<page>: <target>`. */
export function checkLinks(root: string): string[] {
  return globSync(PAGES, { cwd: root })
    .sort()
    .flatMap((page) =>
      [...readFileSync(join(root, page), 'utf8').replace(CODE, '').matchAll(LINK)]
        .map(([, target = '']) => target)
        .filter((target) => !ELSEWHERE.test(target) && !existsSync(join(root, dirname(page), target)))
        .map((target) => `${page}: a link leads to ${target}, which is not there`),
    );
}
