import { isScalar, LineCounter, parseDocument, visit } from 'yaml';
import { readYamlDocuments } from '#local/yaml-documents';

/** Matches `transport: …` and `secrets[0].name: …`, also with an index as a field: `secrets.0.name: …`. */
const FIELD = /^([A-Za-z_][\w-]*(?:[.[][\w-]+\]?)*): /;

/** Adds the line of the first field or the quoted value to each message line. `above`: lines of the file before the text. */
export function tellLines(message: string, text: string, above = 0): string {
  const [document] = readYamlDocuments({ file: '', text }).documents;
  return message
    .split('\n')
    .map((line) => {
      if (line.startsWith('not YAML: '))
        return line.replace(/ at line (\d+)/, (_, at: string) => ` at line ${Number(at) + above}`);
      const path = FIELD.exec(line)?.[1]
        ?.split(/[.[\]]+/)
        .filter((part) => part !== '');
      const at = (path && lineOfField(document?.lineOf, path)) ?? lineOfQuoted(text, line);
      return at === undefined ? line : `line ${at + above}: ${line}`;
    })
    .join('\n');
}

type LineOf = (path: (string | number)[]) => number | undefined;

function lineOfField(lineOf: LineOf | undefined, path: string[]): number | undefined {
  const keys = path.map((part) => (/^\d+$/.test(part) ? Number(part) : part));
  for (let length = keys.length; length > 0; length--) {
    const line = lineOf?.(keys.slice(0, length));
    if (line !== undefined) return line;
  }
  return undefined;
}

/** Finds only a key or value that occurs once. */
function lineOfQuoted(text: string, message: string): number | undefined {
  const quoted = /"([^"]+)"/.exec(message)?.[1];
  if (quoted === undefined) return undefined;
  const lineCounter = new LineCounter();
  const offsets: number[] = [];
  visit(parseDocument(text, { lineCounter, logLevel: 'silent' }), (_, node) => {
    if (isScalar(node) && node.value === quoted) offsets.push(node.range?.[0] ?? 0);
  });
  const [offset] = offsets;
  return offset !== undefined && offsets.length === 1 ? lineCounter.linePos(offset).line : undefined;
}
