import { sameValue } from '../same-value.ts';
import { Document, isMap, isNode, isScalar, type Node, Pair, Scalar, YAMLMap } from 'yaml';
import { type Form, formOf } from './form-of-document.ts';
import { isMapping, isMergeKey, isShared, keyOf, mergeNode, valueOf } from './merge-node.ts';

class CannotSplice extends Error {
  override readonly name = 'CannotSplice';
}

interface Edit {
  start: number;
  end: number;
  text: string;
}

/** Touches only changed lines: removes deleted fields of a block mapping, and adds new ones at the end. @throws CannotSplice */
export function spliceDocument(text: string, document: Document, wanted: Record<string, unknown>): string {
  const root = document.contents;
  if (!isBlock(root)) throw new CannotSplice();
  const edits = new Splicing(text, document).edits(root, wanted);
  let [after, from] = ['', 0];
  for (const { start, end, text: made } of edits.sort((a, b) => a.start - b.start || a.end - b.end)) {
    after += text.slice(from, start) + made;
    from = end;
  }
  return after + text.slice(from);
}

/** Requires each key on a line of its own, and a mapping that is used only here. */
function isBlock(node: unknown): node is YAMLMap {
  if (!isMap(node) || node.flow === true || isShared(node) || node.items.length === 0) return false;
  return node.items.every(({ key }) => isScalar(key) && !isMergeKey(key) && key.range && !isShared(key));
}

const isOneLine = (node: unknown): node is Scalar & { range: [number, number, number] } =>
  isScalar(node) && !isShared(node) && node.range !== undefined && /^(PLAIN|QUOTE)/.test(node.type ?? '');

function plain({ value, type }: Scalar): Scalar {
  const scalar = new Scalar(value);
  if (type !== undefined) scalar.type = type;
  return scalar;
}

class Splicing {
  readonly #text: string;
  readonly #document: Document;
  readonly #form: Form;

  constructor(text: string, document: Document) {
    this.#text = text;
    this.#document = document;
    this.#form = formOf(text, document);
  }

  edits(map: YAMLMap, wanted: Record<string, unknown>): Edit[] {
    const edits = map.items.flatMap((pair) => {
      const key = keyOf(pair.key);
      if (!Object.hasOwn(wanted, key)) return [this.#removal(pair)];
      const same = sameValue(valueOf(pair.value, this.#document), wanted[key]);
      return same ? [] : this.#change(pair, wanted[key]);
    });
    const added = Object.entries(wanted).filter(([key]) => !map.items.some((pair) => keyOf(pair.key) === key));
    return added.length === 0 ? edits : [...edits, this.#addition(map, added)];
  }

  #addition(map: YAMLMap, added: [string, unknown][]): Edit {
    const [first, last] = [map.items[0], map.items.at(-1)];
    if (!first || !last) throw new CannotSplice();
    const column = this.#columnOf(first);
    const end = this.#endOf(last);
    const open = end === 0 || this.#text[end - 1] === '\n' ? '' : '\n';
    const lines = added.map(
      ([key, value]) => ' '.repeat(column) + this.#linesOf(key, this.#document.createNode(value), column),
    );
    return { start: end, end, text: this.#broken(open + lines.join('')) };
  }

  #change(pair: Pair, wanted: unknown): Edit[] {
    const { value } = pair;
    if (isBlock(value) && isMapping(wanted) && value.items.some(({ key }) => Object.hasOwn(wanted, keyOf(key))))
      return this.edits(value, wanted);
    const merged = mergeNode(value, wanted, this.#document);
    if (isOneLine(value) && isScalar(merged)) {
      const [start, end] = value.range;
      const made = this.#written(plain(merged));
      if (start < end && !this.#text.slice(start, end).includes('\n') && !made.includes('\n'))
        return [{ start, end, text: made }];
    }
    const column = this.#columnOf(pair);
    const text = this.#broken(this.#linesOf(keyOf(pair.key), merged, column));
    return [{ start: this.#startOf(pair), end: this.#endOf(pair), text }];
  }

  /** Keeps comments on lines of their own, because they may concern other fields. */
  #removal(pair: Pair): Edit {
    const start = this.#startOf(pair);
    return { start: start - this.#column(start), end: this.#endOf(pair), text: '' };
  }

  #linesOf(key: string, value: unknown, column: number): string {
    const map = new YAMLMap();
    map.items.push(new Pair(this.#document.createNode(key), value));
    return `${this.#written(map).replaceAll(/\n(?=[^\n])/g, `\n${' '.repeat(column)}`)}\n`;
  }

  #written(node: Node): string {
    const document = new Document<Node>(undefined, { compat: 'yaml-1.1', merge: true });
    document.contents = node;
    return document.toString(this.#form).replace(/\n$/, '');
  }

  #broken(text: string): string {
    return this.#text.includes('\r\n') ? text.replaceAll('\n', '\r\n') : text;
  }

  #startOf({ key }: Pair): number {
    if (!isNode(key) || !key.range) throw new CannotSplice();
    return key.range[0];
  }

  #columnOf(pair: Pair): number {
    return this.#column(this.#startOf(pair));
  }

  #column(offset: number): number {
    const column = offset - this.#text.lastIndexOf('\n', offset - 1) - 1;
    if (this.#text.slice(offset - column, offset).trim() !== '') throw new CannotSplice();
    return column;
  }

  #endOf({ key, value }: Pair): number {
    const range = (isNode(value) ? value.range : undefined) ?? (isNode(key) ? key.range : undefined);
    if (!range) throw new CannotSplice();
    if (this.#text[range[2] - 1] === '\n') return range[2];
    const line = this.#text.indexOf('\n', range[2]);
    return line < 0 ? this.#text.length : line + 1;
  }
}
