import { LineCounter, parseDocument } from 'yaml';
import { z } from 'zod';
import { explainSome } from '#crds/parts/explain';
import { refusalOf, repeatedKey, type YamlBounds } from '#operator/yaml-bounds';
import { SKILL_NAME } from '../records/skill.ts';

/** Characters. */
const LONGEST = 65_536;
/** Thousands of lines. */
const BOUNDS: YamlBounds = { bytes: 262_144, tokens: 10_000, depth: 50 };

const Texts = z.union([z.string().max(8192), z.array(z.string().max(1024)).max(200)]);

const FrontMatter = z.looseObject({
  name: z
    .string()
    .min(2, 'shorter than 2 characters')
    .max(64)
    .regex(SKILL_NAME, 'not a name; write lower-case letters, digits and single hyphens between them'),
  description: z.string().trim().min(1).max(1024),
  license: z.string().max(1024).optional(),
  compatibility: z.string().max(500).optional(),
  'allowed-tools': Texts.optional(),
  version: z.union([z.string().max(256), z.number()]).optional(),
  author: z.string().max(1024).optional(),
  tags: Texts.optional(),
  requires: Texts.optional(),
  metadata: z
    .looseObject({
      version: z.union([z.string().max(256), z.number()]).optional(),
      author: z.string().max(1024).optional(),
      tags: Texts.optional(),
      requires: Texts.optional(),
    })
    .nullish(),
});
export type FrontMatter = z.infer<typeof FrontMatter>;

export type ReadFrontMatter = { matter: FrontMatter; errors: [] } | { matter: undefined; errors: string[] };

/** Reads YAML between two lines `---`, starting at the first line. */
export function readFrontMatter(text: string): ReadFrontMatter {
  const [, yaml] = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)(?:^---[ \t]*(?:\r?\n|$))/m.exec(text) ?? [];
  const bad = (...errors: string[]): ReadFrontMatter => ({ matter: undefined, errors });
  if (yaml === undefined || !/^\uFEFF?---[ \t]*\r?\n/.test(text))
    return bad('SKILL.md: has no front matter; begin it with a line ---, then name and description, then a line ---');
  if (yaml.length > LONGEST) return bad(`SKILL.md: the front matter is longer than ${LONGEST} characters`);
  const refused = refusalOf(yaml, BOUNDS);
  if (refused !== undefined) return bad(`SKILL.md: the front matter is not read: ${refused}`);
  const lines = new LineCounter();
  const document = parseDocument(yaml, { uniqueKeys: false, prettyErrors: false, lineCounter: lines });
  // The front matter begins on the second line of the file.
  const place = (offset: number) => `SKILL.md:${lines.linePos(offset).line + 1}`;
  const [first] = document.errors;
  if (first) return bad(`${place(first.pos[0])}: ${first.message}`);
  const repeated = repeatedKey(document);
  if (repeated) return bad(`${place(repeated.range?.[0] ?? 0)}: the same key twice in one mapping; remove one`);
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: 0 });
  } catch {
    return bad('SKILL.md: the front matter has aliases; write each value out');
  }
  const parsed = FrontMatter.safeParse(value);
  if (parsed.success) return { matter: parsed.data, errors: [] };
  const source = { file: 'SKILL.md', lineOf: () => undefined, schema: FrontMatter };
  return bad(...explainSome(parsed.error, source));
}

export function wordsOf(texts: z.infer<typeof Texts> | undefined): string[] {
  const all = typeof texts === 'string' ? texts.split(/[\s,]+/) : (texts ?? []);
  return all.map((word) => word.trim()).filter((word) => word !== '');
}
