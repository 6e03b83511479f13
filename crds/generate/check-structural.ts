import { nodesOf, type SchemaNode } from './schema-node.ts';

/** RE2 has no look-around and no back references, and repeats 1000 times at most. */
const NOT_RE2 = /\(\?<?[=!]|\\[1-9]|\\k</;
const REPEATS = /\{(\d+)(?:,(\d*))?\}/g;

/** Verifies that the API server accepts a structural schema and the cost of its CEL rules. @throws Error with all problems */
export function checkStructural(kind: string, root: SchemaNode): void {
  const problems: string[] = [];
  for (const [path, node] of nodesOf(root)) {
    for (const problem of problemsOf(path, node)) problems.push(`${kind} ${path}: ${problem}`);
  }
  for (const [path, node] of nodesOf(root)) {
    for (const { fieldPath = '' } of node['x-kubernetes-validations'] ?? []) {
      if (!exists(node, fieldPath)) problems.push(`${kind} ${path}: no field ${fieldPath} to report a rule at`);
    }
  }
  if (problems.length > 0) throw new Error(`not a structural schema:\n${problems.join('\n')}`);
}

const FORBIDDEN: { problem: string; has: (node: SchemaNode) => boolean }[] = [
  { problem: 'propertyNames', has: (node) => node.propertyNames !== undefined },
  { problem: 'const; write an enum of one', has: (node) => node.const !== undefined },
  { problem: 'oneOf; write a flat union', has: (node) => node.oneOf !== undefined },
  { problem: 'anyOf; write a flat union', has: (node) => node.anyOf !== undefined && !isIntOrString(node) },
  { problem: 'allOf; write one pattern', has: (node) => node.allOf !== undefined },
  { problem: 'additionalProperties: false', has: (node) => node.additionalProperties === false },
  { problem: 'a pattern that is not RE2', has: (node) => node.pattern !== undefined && !isRe2(node.pattern) },
  { problem: 'no type', has: (node) => node.type === undefined && !isIntOrString(node) },
];

function problemsOf(path: string, node: SchemaNode): string[] {
  const found = FORBIDDEN.filter(({ has }) => has(node)).map(({ problem }) => problem);
  for (const { rule, message } of node['x-kubernetes-validations'] ?? []) {
    if (NOT_RE2.test(rule)) found.push(`a rule that is not RE2: ${rule}`);
    if (message.includes('\n') || message === '') found.push(`a message that is not one line: ${rule}`);
  }
  if (path !== '' && !isBounded(path, node)) found.push('no maximum');
  return found;
}

const isIntOrString = (node: SchemaNode) => node['x-kubernetes-int-or-string'] === true;

export function isRe2(pattern: string): boolean {
  if (NOT_RE2.test(pattern)) return false;
  return [...pattern.matchAll(REPEATS)].every(
    ([, least, most]) => Number(most === undefined || most === '' ? least : most) <= 1000,
  );
}

const TYPE_META = new Set(['apiVersion', 'kind', 'metadata']);

function isBounded(path: string, node: SchemaNode): boolean {
  if (TYPE_META.has(path)) return true;
  if (node.type === 'string') return node.maxLength !== undefined || node.enum !== undefined;
  if (node.type === 'array') return node.maxItems !== undefined;
  if (node.type === 'object' && node.additionalProperties !== undefined) return node.maxProperties !== undefined;
  return true;
}

function exists(node: SchemaNode, fieldPath: string): boolean {
  let at: SchemaNode | undefined = node;
  for (const name of fieldPath.split('.').filter(Boolean)) at = at?.properties?.[name];
  return at !== undefined;
}
