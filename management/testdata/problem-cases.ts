import { expect } from '@jest/globals';
import { allProblems } from '../document/render-openapi.ts';
import type { Operation } from '../operation.ts';
import { ProblemBody, type ProblemCode, PROBLEMS } from '../problem.ts';
import { isOfTable } from './status-table.ts';
import type { Scenarios } from './usual-scenarios.ts';

/** A problem that an operation may answer. */
export interface ProblemCase {
  row: Operation;
  code: ProblemCode;
  status: number;
  name: string;
}

/** Returns the problems of these operations that occur on one machine. */
export const problemCases = (rows: readonly Operation[]): ProblemCase[] =>
  rows.flatMap((row) =>
    allProblems(row)
      .filter(([code]) => isOfTable('machine', row.id, code))
      .map(([code]) => ({ row, code, status: PROBLEMS[code][0], name: `${row.method} ${row.path}` })),
  );

/** Causes a problem and verifies the response. */
export async function meetProblem({ row, code, status }: ProblemCase, scenarios: Scenarios): Promise<void> {
  const scenario = scenarios[code];
  if (!scenario) throw new Error(`nobody has shown how ${code} comes about`);
  const told = await scenario(row);
  expect([told.status, told.type, ProblemBody.parse(told.body)]).toEqual([
    status,
    'application/problem+json',
    expect.objectContaining({ status, code }),
  ]);
  expect(JSON.stringify(told.body)).not.toContain('hunter2');
}
