import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { explainIssues, explainProblems, pathText } from '#crds/parts/explain';
import { editDistance, nearest } from '#crds/parts/nearest';
import { readValue } from '#crds/parts/read-value';

const Upstream = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('oidc'), issuer_url: z.url() }),
  z.strictObject({ type: z.literal('oauth2'), token_endpoint: z.string().max(5) }),
]);
const Document = z
  .strictObject({
    name: z.string().min(1),
    port: z.int().min(1).max(9).default(1),
    tls: z.boolean().optional(),
    mode: z.enum(['on', 'off']),
    upstreams: z.array(Upstream).max(2).prefault([]),
    headers: z.record(z.string().max(3), z.string()).optional(),
    version: z.literal('v1').default('v1'),
    size: z.union([z.int(), z.string()]).optional(),
    amount: z.union([z.int(), z.string()], { error: 'not an amount; write 1 or 1Mi' }).optional(),
    when: z.string().regex(/^x$/).optional(),
  })
  .refine((value) => value.name !== value.mode, { message: 'equals mode; write another', path: ['name'] });

/** Explains a document whose field n is in line n + 1. */
function refusals(document: Record<string, unknown>): string[] {
  const lines = Object.keys(document);
  const { error } = Document.safeParse(document);
  if (error === undefined) return [];
  const lineOf = (path: (string | number)[]) => {
    if (path.length === 0) return 1;
    if (path.length === 1 && lines.includes(String(path[0]))) return lines.indexOf(String(path[0])) + 2;
    return undefined;
  };
  return explainIssues(error, { file: 'a.yaml', lineOf, schema: Document });
}

describe('explainProblems', () => {
  it.each<[string, Record<string, unknown>, string[]]>([
    ['a missing field', { mode: 'on' }, ['a.yaml:1 name: required field is missing; write a string']],
    ['a missing choice', { name: 'n' }, ['a.yaml:1 mode: required field is missing; write one of on, off']],
    ['an empty field', { name: null, mode: 'on' }, ['a.yaml:2 name: is empty; write a string']],
    ['an empty text', { name: '', mode: 'on' }, ['a.yaml:2 name: is empty; write a value']],
    [
      'a number for a string',
      { name: 5, mode: 'on' },
      ['a.yaml:2 name: is a number, not a string; write a string, in quotes'],
    ],
    [
      'a boolean for a string',
      { name: true, mode: 'on' },
      ['a.yaml:2 name: is a boolean, not a string; write a string, in quotes'],
    ],
    [
      'a quoted boolean',
      { name: 'n', mode: 'on', tls: 'true' },
      ['a.yaml:4 tls: is a string, not true or false; write true or false, without quotes'],
    ],
    [
      'a fraction for a whole number',
      { name: 'n', mode: 'on', port: 1.5 },
      ['a.yaml:4 port: is a number, not a whole number; write a whole number'],
    ],
    ['too great a number', { name: 'n', mode: 'on', port: 12 }, ['a.yaml:4 port: greater than 9; write at most 9']],
    ['too small a number', { name: 'n', mode: 'on', port: 0 }, ['a.yaml:4 port: less than 1; write at least 1']],
    ['a wrong choice', { name: 'n', mode: 'of' }, ['a.yaml:3 mode: not one of on, off; write one of them']],
    ['a wrong literal', { name: 'n', mode: 'on', version: 'v2' }, ['a.yaml:4 version: not v1; write v1']],
    [
      'a misspelt field',
      { name: 'n', mode: 'on', upstream: [] },
      ['a.yaml:4 upstream: unknown field `upstream`; did you mean `upstreams`?'],
    ],
    [
      'a field that resembles none',
      { name: 'n', mode: 'on', zzzzzzzz: 1 },
      [
        'a.yaml:4 zzzzzzzz: unknown field `zzzzzzzz`; remove it, or use one of ' +
          'name, port, tls, mode, upstreams, headers, version, size, amount, when',
      ],
    ],
    [
      'an alternative that does not exist, at its own place',
      { name: 'n', mode: 'on', upstreams: [{ type: 'saml' }] },
      ['a.yaml:4 upstreams[0].type: required field is missing; write one of oidc, oauth2'],
    ],
    [
      'a misspelt field of an alternative',
      { name: 'n', mode: 'on', upstreams: [{ type: 'oidc', issuer_url: 'https://a', issuerurl: 1 }] },
      ['a.yaml:4 upstreams[0].issuerurl: unknown field `issuerurl`; did you mean `issuer_url`?'],
    ],
    [
      'a text that is no URL',
      { name: 'n', mode: 'on', upstreams: [{ type: 'oidc', issuer_url: 'a' }] },
      ['a.yaml:4 upstreams[0].issuer_url: not a URL; write an absolute one, for example https://host.example/path'],
    ],
    [
      'a text that is too long',
      { name: 'n', mode: 'on', upstreams: [{ type: 'oauth2', token_endpoint: 'abcdef' }] },
      ['a.yaml:4 upstreams[0].token_endpoint: longer than 5 characters; shorten it'],
    ],
    [
      'a key of a map',
      { name: 'n', mode: 'on', headers: { abcd: 'x' } },
      ['a.yaml:4 headers.abcd: longer than 3 characters; shorten it'],
    ],
    [
      'a mapping for a list',
      { name: 'n', mode: 'on', upstreams: {} },
      ['a.yaml:4 upstreams: is a mapping, not a list; write a list'],
    ],
    [
      'none of several types',
      { name: 'n', mode: 'on', size: [] },
      ['a.yaml:4 size: is a list, not a number; write a number'],
    ],
    [
      'a choice of types that says what it wants',
      { name: 'n', mode: 'on', amount: [] },
      ['a.yaml:4 amount: not an amount; write 1 or 1Mi'],
    ],
    [
      'a form without words of its own',
      { name: 'n', mode: 'on', when: 'y' },
      ['a.yaml:4 when: has not the expected form; must match pattern /^x$/'],
    ],
    ['a rule across fields', { name: 'on', mode: 'on' }, ['a.yaml:2 name: equals mode; write another']],
  ])('explains %s', (_, document, expected) => {
    expect(refusals(document)).toEqual(expected);
  });

  it('omits the line if the source is unknown', () => {
    const { error } = Document.safeParse({ name: 'n', mode: 'of' });
    const problems = explainProblems(error!, { file: 'VirtualMCPServer/a', lineOf: () => undefined, schema: Document });
    expect(problems).toEqual([
      { file: 'VirtualMCPServer/a', path: 'mode', message: 'not one of on, off; write one of them' },
    ]);
  });

  it('quotes names with other characters in a path', () => {
    expect(pathText(['a', 0, 'b.c', 'x-y'])).toBe('a[0]["b.c"].x-y');
  });
});

describe('explainSome for untrusted input', () => {
  it('reads a hundred thousand unknown fields in a few seconds, and explains the first', () => {
    const fields = Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`field${at}`, at]));
    const startedAt = process.cpuUsage();
    const read = readValue(Document, { name: 'n', mode: 'on', ...fields });
    const problems = 'problems' in read ? read.problems : [];
    expect(problems).toHaveLength(21);
    expect([problems[0], problems[19], problems[20]]).toEqual([
      expect.stringMatching(/^field0: unknown field/),
      expect.stringMatching(/^field19: unknown field/),
      'and more',
    ]);
    // Explaining all of them took half a minute.
    expect(process.cpuUsage(startedAt).user).toBeLessThan(5_000_000);
  });

  it('explains only the problems that it reports', () => {
    const schema = z.record(z.string(), z.number());
    const { error } = schema.safeParse({ a: '1', b: '2', c: '3' });
    const looked: string[] = [];
    for (const issue of error?.issues ?? []) {
      const { path } = issue;
      Object.defineProperty(issue, 'path', { get: () => (looked.push(path.join()), path) });
    }
    const told = explainIssues(error!, { file: 'a.json', lineOf: () => undefined, schema, most: 1 });
    expect(told).toEqual([expect.stringContaining('a.json a: ')]);
    expect(new Set(looked)).toEqual(new Set(['a']));
  });
});

describe('nearest and editDistance', () => {
  it.each([
    ['authzConfg', 'authzConfig'],
    ['authz_config', 'authzConfig'],
    ['RESOURCEURL', 'resourceUrl'],
    ['tpye', 'type'],
    ['banana', undefined],
    ['x'.repeat(65), undefined],
  ])('map %s to %s', (word, expected) => {
    expect(nearest(word, ['type', 'authzConfig', 'resourceUrl'])).toBe(expected);
  });

  it('count a swap of neighbours as one change', () => {
    expect(editDistance('tpye', 'type')).toBe(1);
    expect(editDistance('', 'abc')).toBe(3);
    expect(editDistance('kitten', 'sitting')).toBe(3);
  });
});
