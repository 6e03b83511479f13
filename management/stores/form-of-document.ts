import { type Document, isMap, isNode, isScalar, isSeq, Pair, visit } from 'yaml';

/** How the library is to write, so that it looks like what is there. */
export interface Form {
  indent: number;
  indentSeq: boolean;
  lineWidth: number;
  flowCollectionPadding: boolean;
}

/** The form of a document: how far its first nested mapping and its last list are indented, and whether braces have spaces. */
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
  // With lists that are not indented the library knows a step of two only.
  return { indent: (indentSeq && indent) || 2, indentSeq, lineWidth: 0, flowCollectionPadding };
}

/** Where the first entry of a collection in block form begins; undefined for anything else. */
function startOfBlock(value: unknown, text: string): number | undefined {
  if ((!isSeq(value) && !isMap(value)) || value.flow === true) return undefined;
  const [first] = value.items as unknown[];
  const node: unknown = first instanceof Pair ? first.key : first;
  const start = isNode(node) ? node.range?.[0] : undefined;
  return start === undefined || isMap(value) ? start : text.lastIndexOf('-', start - 1);
}
