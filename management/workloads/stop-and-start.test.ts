import { expect, it } from '@jest/globals';
import type { StoredResource } from '../stores/resources.ts';
import { restarted } from './stop-and-start.ts';

const AT = '2026-01-01T00:00:00.000Z';
const LATER = '2026-01-02T00:00:00.000Z';
const stored = (annotations: Record<string, string>, spec: Record<string, unknown> = {}): StoredResource => ({
  kind: 'MCPServer',
  name: 'a',
  labels: {},
  annotations,
  spec,
  version: '1',
});

it('restarts with an annotation of its installation’s API group', () => {
  expect(restarted(stored({ note: 'x' }, { suspend: true, image: 'i' }), AT, 'mcp.acme.example')).toEqual({
    annotations: { note: 'x', 'mcp.acme.example/restarted-at': AT },
    spec: { image: 'i' },
  });
});

it('restarts with the existing annotation, and never with an earlier time', () => {
  const has = stored({ 'mcp.acme.example/restarted-at': AT });
  const then = (at: string) => restarted(has, at, 'mcp.acme.example').annotations;
  expect(then(LATER)).toEqual({ 'mcp.acme.example/restarted-at': LATER });
  expect(then('2025-01-01T00:00:00.000Z')).toEqual({ 'mcp.acme.example/restarted-at': AT });
});
