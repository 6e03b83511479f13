import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { z } from 'zod';
import { PROBLEMS, type ProblemCode } from '../problem.ts';
import { type Platform, type Proof, reachOf } from '../testdata/status-table.ts';
import { OPERATIONS } from './table.ts';

const root = join(import.meta.dirname, '../..');
const Document = z.object({
  paths: z.record(
    z.string(),
    z.record(
      z.string(),
      z.object({ operationId: z.string(), responses: z.record(z.string(), z.object({ description: z.string() })) }),
    ),
  ),
});
const { paths } = Document.parse(JSON.parse(readFileSync(join(root, 'management/openapi.json'), 'utf8')));
const LISTED = Object.values(paths)
  .flatMap((methods) => Object.values(methods))
  .flatMap(({ operationId, responses }) =>
    Object.entries(responses).map(([status, { description }]) => ({
      operationId,
      status: Number(status),
      description,
    })),
  );

/** Returns the problem codes in the description of a status. */
const codesOf = ({ status, description }: (typeof LISTED)[number]): ProblemCode[] =>
  (Object.keys(PROBLEMS) as ProblemCode[]).filter(
    (code) => PROBLEMS[code][0] === status && description.includes(`\`${code}\``),
  );

const PLATFORMS: readonly Platform[] = ['machine', 'cluster'];
const proofsOf = ({ operationId }: (typeof LISTED)[number], code: ProblemCode): Proof[] =>
  PLATFORMS.map((place) => reachOf(operationId, code)[place]);
const isMet = (proof: Proof): boolean => typeof proof === 'string';

it('every documented status has a test, on one machine or in a cluster', () => {
  const unmet = LISTED.filter(({ status }) => status >= 400).flatMap((listed) => {
    const codes = codesOf(listed);
    const lost = codes.filter((code) => !proofsOf(listed, code).some(isMet));
    return codes.length > 0 && lost.length === 0 ? [] : [`${listed.operationId} ${listed.status} ${lost.join()}`];
  });
  expect(unmet).toEqual([]);
});

it('a status that only one place can answer states why the other cannot', () => {
  const reasons = LISTED.flatMap((listed) => codesOf(listed).flatMap((code) => proofsOf(listed, code)))
    .filter((proof) => typeof proof !== 'string')
    .map(({ never }) => never);
  expect(new Set(reasons).size).toBeGreaterThan(5);
  // Rejects placeholders: a reason has at least five words.
  expect(reasons.filter((reason) => !/^[a-z]\S*( \S+){4,}$/.test(reason))).toEqual([]);
});

it('every operation documents its success status', () => {
  const successes = LISTED.filter(({ status }) => status < 300).map(({ operationId, status }) => [operationId, status]);
  expect(successes.sort()).toEqual(OPERATIONS.map(({ id, success }) => [id, success]).sort());
});

it('every test that the table names exists', () => {
  const named = LISTED.flatMap((listed) =>
    codesOf(listed).flatMap((code) => proofsOf(listed, code).filter((proof) => typeof proof === 'string')),
  );
  const lost = [...new Set(named)].filter((proof) => {
    if (proof === 'each') return false;
    const [file = '', ...title] = proof.split(': ');
    return !existsSync(join(root, file)) || !readFileSync(join(root, file), 'utf8').includes(title.join(': '));
  });
  expect(lost).toEqual([]);
});
