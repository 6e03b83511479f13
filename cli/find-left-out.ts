import type { Problem, Source } from '#local/resource';
import type { Outcome } from '#operator/plan/outcome';
import { keyText, type ResourceKey } from '#operator/snapshot';

export type FindSource = (key: string) => Source | undefined;

export type FindPosition = (source: Source, key: ResourceKey, message: string) => FilePosition;
export type FilePosition = Pick<Problem, 'file' | 'line' | 'column'>;

/** Falls back to the nearest written parent, then the resource. */
export function lineIn({ line, lineOf }: Source, message: string): number {
  const field = /^(?:spec\.)?([a-z]\w*(?:(?:\.\w+|\[\d+\])+|(?=: )))/.exec(message)?.[1];
  const path = ['spec', ...(field?.match(/\w+/g) ?? [])];
  for (let length = path.length; length > 1; length--) {
    const found = lineOf(path.slice(0, length));
    if (found !== undefined) return found;
  }
  return line;
}

interface Blamed extends FilePosition {
  readonly key: ResourceKey;
  readonly source: Source;
  readonly said: string;
}

/** Prefers another resource that the message names, then a field of the server, then the backend. */
function blame(
  message: string,
  backend: string,
  server: ResourceKey,
  sourceOf: FindSource,
  placeIn: FindPosition,
): Blamed | undefined {
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
    const place = line === undefined ? placeIn(source, key, said) : { file: source.file, line };
    return { key, said, source, ...place };
  }
  return undefined;
}

const lineOf = ({ lineOf: find }: Source, field: string | undefined): number | undefined =>
  field === undefined ? undefined : find(['spec', field]);

/** Returns each reason once and at its source. Omits the problems in `told`. */
export function findLeftOut(
  outcomes: readonly Outcome[],
  sourceOf: FindSource,
  placeIn: FindPosition,
  told: readonly Problem[],
): readonly Problem[] {
  const known = new Set(told.map(({ path, message }) => `${path} ${message.replace(/^\w+: /, '')}`));
  const isTold = (inFile: string, said: string) =>
    told.some(({ file, path }) => file === inFile && path !== '' && said.startsWith(`${path}: `));
  return outcomes.flatMap(({ key: server, status }) =>
    (status?.backends ?? []).flatMap(({ name: backend, phase, message }) => {
      if (phase !== 'Excluded') return [];
      const blamed = blame(message, backend, server, sourceOf, placeIn);
      if (blamed === undefined) return [];
      const { key, said, source, file, line, column } = blamed;
      const path = `${key.kind}/${key.name}`;
      if (isTold(source.file, said) || known.has(`${path} ${said}`)) return [];
      known.add(`${path} ${said}`);
      const place = { file, line, ...(column !== undefined && { column }) };
      return [{ ...place, path, message: `${said} (so ${server.name} leaves ${backend} out)` }];
    }),
  );
}
