import type { Position, Problem, Source } from '#operator/local/resource';
import type { Outcome } from '#operator/plan/outcome';
import { keyText, type ResourceKey } from '#operator/world';

/** Where a resource is written. */
export type FindSource = (key: string) => Source | undefined;

/** Line of the field with which a message begins, or of the nearest that is written above it; else of the resource. */
export function lineIn({ line, lineOf }: Source, message: string): number {
  const field = /^(?:spec\.)?([a-z]\w*(?:(?:\.\w+|\[\d+\])+|(?=: )))/.exec(message)?.[1];
  const path = ['spec', ...(field?.match(/\w+/g) ?? [])];
  for (let length = path.length; length > 1; length--) {
    const found = lineOf(path.slice(0, length));
    if (found !== undefined) return found;
  }
  return line;
}

const POLICY_TEXT = /^(?:spec\.)?([\w.]+): policies\[(\d+)\]: line (\d+), column (\d+) of its text: /;

/** Where the text of a policy begins to be wrong; else the line of the field. */
export function placeIn(source: Source, message: string): Pick<Problem, 'line' | 'column'> {
  const [, field = '', index, line, column] = POLICY_TEXT.exec(message) ?? [];
  const path = ['spec', ...field.split('.'), 'inline', 'policies', Number(index)];
  const within: Position = { line: Number(line), column: Number(column) };
  const found = index === undefined ? undefined : source.positionOf?.(path, within);
  return found ?? { line: lineIn(source, message) };
}

interface Blamed extends Pick<Problem, 'line' | 'column'> {
  readonly key: ResourceKey;
  readonly source: Source;
  /** What is wrong with it. */
  readonly said: string;
}

/**
 * Whose fault a message is: that of another resource that it names, of a field of the server, or of the backend, as when it names a
 * credential that does not exist.
 */
function blame(message: string, backend: string, server: ResourceKey, sourceOf: FindSource): Blamed | undefined {
  const { namespace } = server;
  const [, kind, name = '', rest = ''] = /^(MCP[A-Za-z]+) "([^"]+)":? (.*)$/s.exec(message) ?? [];
  const isNamed = kind === 'MCPExternalAuthConfig' || kind === 'MCPServer';
  const own: ResourceKey = { kind: 'MCPServer', namespace, name: backend };
  const candidates: { key: ResourceKey; said: string; at?: string }[] = [
    ...(isNamed ? [{ key: { kind, namespace, name }, said: rest } as const] : []),
    ...(/^(outgoingAuth|config)\b/.test(message) ? [{ key: server, said: message }] : []),
    { key: own, said: message, ...(isNamed ? { at: 'externalAuthConfigRef' } : {}) },
    { key: server, said: message },
  ];
  for (const { key, said, at } of candidates) {
    const source = sourceOf(keyText(key));
    if (source === undefined) continue;
    const line = lineOf(source, at);
    return { key, said, source, ...(line === undefined ? placeIn(source, said) : { line }) };
  }
  return undefined;
}

const lineOf = ({ lineOf: find }: Source, field: string | undefined): number | undefined =>
  field === undefined ? undefined : find(['spec', field]);

/**
 * What keeps backends from being served, each where it is written, and once: not what `told` has already, of a field or of the
 * resource by itself.
 */
export function findLeftOut(
  outcomes: readonly Outcome[],
  sourceOf: FindSource,
  told: readonly Problem[],
): readonly Problem[] {
  const known = new Set(told.map(({ path, message }) => `${path} ${message.replace(/^\w+: /, '')}`));
  const isTold = (inFile: string, said: string) =>
    told.some(({ file, path }) => file === inFile && path !== '' && said.startsWith(`${path}: `));
  return outcomes.flatMap(({ key: server, status }) =>
    (status?.backends ?? []).flatMap(({ name: backend, phase, message }) => {
      if (phase !== 'Excluded') return [];
      const blamed = blame(message, backend, server, sourceOf);
      if (blamed === undefined) return [];
      const { key, said, source, line, column } = blamed;
      const path = `${key.kind}/${key.name}`;
      if (isTold(source.file, said) || known.has(`${path} ${said}`)) return [];
      known.add(`${path} ${said}`);
      const place = { file: source.file, line, ...(column !== undefined && { column }) };
      return [{ ...place, path, message: `${said} (so ${server.name} leaves ${backend} out)` }];
    }),
  );
}
