import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { OPERATIONS } from '../operations/table.ts';
import { PROBLEMS } from '../problem.ts';
import { generatedDocuments } from './generated-documents.ts';
import { renderOpenApi } from './render-openapi.ts';

const root = join(import.meta.dirname, '../..');
const document = renderOpenApi(OPERATIONS, '1.2.3');

/** Returns all values of a key at any depth. */
function valuesOf(node: unknown, key: string): unknown[] {
  if (typeof node !== 'object' || node === null) return [];
  return Object.entries(node).flatMap(([name, value]): unknown[] => [
    ...(name === key ? [value] : []),
    ...valuesOf(value, key),
  ]);
}

describe('generatedDocuments', () => {
  it.each([...generatedDocuments(OPERATIONS)])('matches the committed file: %s', (path, text) => {
    expect(readFileSync(join(root, path), 'utf8')).toBe(text);
  });

  it('names every problem code with its status', () => {
    const page = readFileSync(join(root, 'docs/reference/problems.md'), 'utf8');
    const listed = [...page.matchAll(/^\| `(\w+)` \| (\d+) \|/gm)].map(([, code, status]) => [code, Number(status)]);
    expect(listed).toEqual(Object.entries(PROBLEMS).map(([code, [status]]) => [code, status]));
  });
});

/** Returns the messages of the linter with rule and location. */
async function lint(text: string): Promise<string[]> {
  // The rule treats properties below `not` as required.
  const rules = { 'no-required-schema-properties-undefined': 'off' } as const;
  const config = await createConfig({ extends: ['recommended'], rules });
  const problems = await lintFromString({ source: text, absoluteRef: '/openapi.json', config });
  return problems.map(({ ruleId, message, location: [at] }) => `${ruleId} ${at?.pointer ?? ''}: ${message}`);
}

describe('renderOpenApi', () => {
  it('passes the linter', async () => {
    const text = readFileSync(join(root, 'management/openapi.json'), 'utf8');
    expect(await lint(text)).toEqual([]);
    expect(await lint(text.replace('"operationId": "getVersion"', '"operationId": "listWorkloads"'))).not.toEqual([]);
  });

  it('contains each operation once', () => {
    const ids = valuesOf(document, 'operationId');
    expect(ids).toEqual([...new Set(ids)]);
    expect([...ids].sort()).toEqual(OPERATIONS.map(({ id }) => id).sort());
  });

  it('refers only to its own schemas', () => {
    const schemas = (document as unknown as { components: { schemas: object } }).components.schemas;
    for (const reference of valuesOf(document, '$ref')) {
      const [, name = ''] = /^#\/components\/schemas\/(\w+)$/.exec(String(reference)) ?? [];
      expect(Object.keys(schemas)).toContain(name);
    }
  });

  it('names exactly the parameters in each path', () => {
    for (const { path, params } of OPERATIONS) {
      const shape = 'shape' in params ? Object.keys(params.shape as object) : [];
      expect(shape.sort()).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort());
    }
  });
});
