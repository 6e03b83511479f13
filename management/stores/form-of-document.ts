import { type Document, isMap, isNode, isScalar, isSeq, Pair, visit } from 'yaml';

/** Makes the library's output match the existing text. */
export interface Form {
  indent: number;
  indentSeq: boolean;
  lineWidth: number;
  flowCollectionPadding: boolean;
}

/** Reads the indentation of the first nested mapping and the last list, and spaces in braces. */
export function formOf(text: string, document: Document): Form {
  let [indent, indentSeq] = [0, true];
  const column = (offset: number) => offset - text.lastIndexOf('\n', offset - 1) - 1;
  visit(document, {
    Pair(_, { key, value }) {
      const [outer, inner] = [isScalar(key) ? key.range?.[0] : undefined, startOfBlock(value, text)];
      if (outer === undefined || inner === undefined) return;
      const deeper = column(inner) - column(outer);
      if (isSeq(value)) indentSeq = deeper > 0;
      else if (indent === 0) indent = Math.max(deeper, 0);
    },
  });
  const flowCollectionPadding = !/[{[][^\s\]}]/.test(text);
  // If lists are not indented, the library supports only a step of two.
  return { indent: (indentSeq && indent) || 2, indentSeq, lineWidth: 0, flowCollectionPadding };
}

/** Returns undefined for any other value than a block collection. */
function startOfBlock(value: unknown, text: string): number | undefined {
  if ((!isSeq(value) && !isMap(value)) || value.flow === true) return undefined;
  const [first] = value.items as unknown[];
  const node: unknown = first instanceof Pair ? first.key : first;
  const start = isNode(node) ? node.range?.[0] : undefined;
  return start === undefined || isMap(value) ? start : text.lastIndexOf('-', start - 1);
}
