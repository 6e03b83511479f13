import type { Operation } from '../operation.ts';
import { renderOpenApi } from './render-openapi.ts';
import {
  renderApiReference,
  renderClientReference,
  renderProblemReference,
  renderRecordedReference,
} from './render-reference.ts';

/** Maps paths from the repository root to text. The output is deterministic. */
export function generatedDocuments(operations: readonly Operation[]): Map<string, string> {
  return new Map([
    ['management/openapi.json', `${JSON.stringify(renderOpenApi(operations, 'v1beta'), null, 2)}\n`],
    ['docs/reference/management-api.md', renderApiReference(operations)],
    ['docs/reference/clients.md', renderClientReference()],
    ['docs/reference/problems.md', renderProblemReference()],
    ['docs/reference/recorded-only.md', renderRecordedReference()],
  ]);
}
