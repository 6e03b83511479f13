import {
  BRACE,
  decodeKey,
  isPlainKey,
  MALFORMED,
  skipSpace,
  TOO_DEEP,
  valueEnd,
  walkObject,
  type VisitMember,
} from './scan-json.ts';

/** [start, end). Byte offsets for bytes, character offsets for a string. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export interface MetaMember extends Span {
  /** Decoded. `start` is the key's opening quote, `end` the position after the value. */
  readonly key: string;
  readonly reserved: boolean;
}

/** Every walk starts with all paths, so that all messages share one object shape. */
const nothingFound = () => ({
  jsonrpc: undefined,
  id: undefined,
  method: undefined,
  params: undefined,
  result: undefined,
  error: undefined,
  'params.name': undefined,
  'params.uri': undefined,
  'params.arguments': undefined,
  'params.task': undefined,
  'params.argument': undefined,
  'params.context': undefined,
  'params.cursor': undefined,
  'params.level': undefined,
  'params.ref': undefined,
  'params.ref.type': undefined,
  'params.ref.name': undefined,
  'params.ref.uri': undefined,
  'params.requestId': undefined,
  'params.reason': undefined,
  'params.progressToken': undefined,
  'params.requestState': undefined,
  'params.inputResponses': undefined,
  'params.protocolVersion': undefined,
  'params.capabilities': undefined,
  'params.clientInfo': undefined,
  'params.notifications': undefined,
  'params._meta': undefined,
  'params._meta.progressToken': undefined,
  'result._meta': undefined,
  'result.resultType': undefined,
  'result.requestState': undefined,
  'result.inputRequests': undefined,
  'result.isError': undefined,
  'result.structuredContent': undefined,
  'result.ttlMs': undefined,
  'result.cacheScope': undefined,
  'result.nextCursor': undefined,
});
type SpanPath = keyof ReturnType<typeof nothingFound>;

export type Spans = Readonly<Record<SpanPath, Span | undefined>>;

export type EnvelopeProblem =
  | 'malformed'
  | 'too_deep'
  | 'not_an_object'
  | 'batch'
  | 'duplicate_key'
  | 'case_variant_key'
  | 'params_not_an_object'
  | 'meta_not_an_object';

export interface Envelope {
  readonly text: string;
  readonly spans: Spans;
  /** In order; empty without `_meta`. */
  readonly meta: readonly MetaMember[];
  readonly problem: EnvelopeProblem | undefined;
}

const RESERVED_PREFIX = 'io.modelcontextprotocol/';

interface KnownKey {
  readonly key: string;
  readonly path: SpanPath;
  readonly object?: Level;
}
interface FoldedKey {
  readonly key: string;
  readonly folded: string;
}
/** The keys of each request of revision 2026-07-28. The walk knows them, as slicing and folding such long keys is slow. */
const RESERVED: readonly FoldedKey[] = ['protocolVersion', 'clientInfo', 'clientCapabilities', 'logLevel']
  .map((name) => RESERVED_PREFIX + name)
  .map((key) => ({ key, folded: key.toLowerCase() }));
interface Level {
  readonly depth: number;
  readonly isMeta: boolean;
  readonly exact: readonly (readonly KnownKey[])[];
  readonly folded: ReadonlyMap<string, KnownKey>;
}

/** A case-insensitive parser behind the gateway could confuse case variants of these keys. */
function level(depth: number, keys: readonly KnownKey[], isMeta = false): Level {
  const longest = Math.max(0, ...keys.map(({ key }) => key.length));
  const exact = Array.from({ length: longest + 1 }, (_, length) => keys.filter(({ key }) => key.length === length));
  return { depth, isMeta, exact, folded: new Map(keys.map((entry) => [entry.key.toLowerCase(), entry])) };
}
const known = (...paths: SpanPath[]): KnownKey[] =>
  paths.map((path) => ({ key: path.slice(path.lastIndexOf('.') + 1), path }));

const META = level(3, known('params._meta.progressToken'), true);
const RESULT_META = level(3, [], true);
const REF = level(3, known('params.ref.type', 'params.ref.name', 'params.ref.uri'));
const PARAMS = level(2, [
  ...known('params.name', 'params.uri', 'params.arguments', 'params.argument', 'params.context', 'params.cursor'),
  ...known('params.level', 'params.requestId', 'params.reason', 'params.progressToken', 'params.requestState'),
  ...known('params.inputResponses', 'params.protocolVersion', 'params.capabilities', 'params.clientInfo'),
  ...known('params.notifications', 'params.task'),
  { key: 'ref', path: 'params.ref', object: REF },
  { key: '_meta', path: 'params._meta', object: META },
]);
const RESULT = level(2, [
  ...known('result.resultType', 'result.requestState', 'result.inputRequests', 'result.isError', 'result.ttlMs'),
  ...known('result.structuredContent', 'result.cacheScope', 'result.nextCursor'),
  { key: '_meta', path: 'result._meta', object: RESULT_META },
]);
const ENVELOPE = level(1, [
  ...known('jsonrpc', 'id', 'method', 'error'),
  { key: 'params', path: 'params', object: PARAMS },
  { key: 'result', path: 'result', object: RESULT },
]);

interface Walk {
  readonly text: string;
  readonly isLatin1: boolean;
  readonly foldsAllKeys: boolean;
  readonly spans: Record<SpanPath, Span | undefined>;
  readonly meta: MetaMember[];
  problem: EnvelopeProblem | undefined;
}

/** A short list is faster than a set, and most objects are small. */
interface LevelWalk {
  readonly walk: Walk;
  readonly level: Level;
  readonly seen: string[];
  many: Set<string> | undefined;
}

const LIST_UP_TO = 12;

function isRepeated(state: LevelWalk, key: string): boolean {
  if (state.many) {
    if (state.many.has(key)) return true;
    state.many.add(key);
    return false;
  }
  if (state.seen.includes(key)) return true;
  state.seen.push(key);
  if (state.seen.length > LIST_UP_TO) state.many = new Set(state.seen);
  return false;
}

/** Upper case first: it maps the long s and the dotless i to the letters that lenient parsers use. */
const fold = (key: string, isPlain: boolean): string => (isPlain ? key.toLowerCase() : key.toUpperCase().toLowerCase());

function refuse(walk: Walk, problem: EnvelopeProblem): number {
  walk.problem ??= problem;
  return MALFORMED;
}

const visit: VisitMember<LevelWalk> = (state, keyStart, keyEnd, start) => {
  // Most keys are known and spelt correctly, so this check avoids slicing and folding them.
  const match = findExact(state.level, state.walk.text, keyStart, keyEnd);
  if (match) return visitKnown(state, match, keyStart, start);
  const reserved = state.level.isMeta ? findReserved(state.walk.text, keyStart, keyEnd) : undefined;
  if (reserved) return visitUnknown(state, reserved, keyStart, start);
  return visitOther(state, state.walk.text.slice(keyStart, keyEnd), keyStart, start);
};

function findExact({ exact }: Level, text: string, keyStart: number, keyEnd: number): KnownKey | undefined {
  const length = keyEnd - keyStart;
  if (length >= exact.length) return undefined;
  for (const candidate of exact[length] ?? []) if (text.startsWith(candidate.key, keyStart)) return candidate;
  return undefined;
}

function findReserved(text: string, keyStart: number, keyEnd: number): FoldedKey | undefined {
  const length = keyEnd - keyStart;
  for (const reserved of RESERVED)
    if (reserved.key.length === length && text.startsWith(reserved.key, keyStart)) return reserved;
  return undefined;
}

function visitKnown({ walk, level: inside }: LevelWalk, match: KnownKey, keyStart: number, start: number): number {
  if (walk.spans[match.path]) return refuse(walk, 'duplicate_key');
  const end = match.object ? walkLevel(walk, start, match.object) : valueEnd(walk.text, start, inside.depth);
  if (end < 0) return end;
  walk.spans[match.path] = { start, end };
  if (inside.isMeta) walk.meta.push({ key: match.key, start: keyStart - 1, end, reserved: false });
  return end;
}

function visitOther(state: LevelWalk, rawKey: string, keyStart: number, start: number): number {
  const { walk, level: inside } = state;
  const isPlain = isPlainKey(rawKey);
  const key = isPlain ? rawKey : decodeKey(rawKey, walk.isLatin1);
  if (key === undefined) return MALFORMED;
  const folded = fold(key, isPlain);
  const match = inside.folded.get(folded);
  if (match) return match.key === key ? visitKnown(state, match, keyStart, start) : refuse(walk, 'case_variant_key');
  return visitUnknown(state, { key, folded }, keyStart, start);
}

function visitUnknown(state: LevelWalk, { key, folded }: FoldedKey, keyStart: number, start: number): number {
  const { walk, level: inside } = state;
  if (isRepeated(state, walk.foldsAllKeys ? folded : key)) return refuse(walk, 'duplicate_key');
  const end = valueEnd(walk.text, start, inside.depth);
  if (end < 0) return end;
  if (inside.isMeta) walk.meta.push({ key, start: keyStart - 1, end, reserved: folded.startsWith(RESERVED_PREFIX) });
  return end;
}

function walkLevel(walk: Walk, open: number, inside: Level): number {
  if (walk.text.charCodeAt(open) !== BRACE) {
    if (inside === PARAMS) return refuse(walk, 'params_not_an_object');
    if (inside === META || inside === RESULT_META) return refuse(walk, 'meta_not_an_object');
    return valueEnd(walk.text, open, inside.depth - 1);
  }
  return walkObject(walk.text, open, { walk, level: inside, seen: [], many: undefined }, visit);
}

/** `isLatin1`: positions are byte offsets. `foldsAllKeys`: unknown keys that differ only by case are duplicates. */
export function scanEnvelope(text: string, isLatin1: boolean, foldsAllKeys: boolean): Envelope {
  const walk: Walk = { text, isLatin1, foldsAllKeys, spans: nothingFound(), meta: [], problem: undefined };
  const open = skipSpace(text, 0);
  if (text.charCodeAt(open) === BRACE) {
    const end = walkLevel(walk, open, ENVELOPE);
    if (end === TOO_DEEP) walk.problem ??= 'too_deep';
    else if (end < 0 || skipSpace(text, end) !== text.length) walk.problem ??= 'malformed';
  } else {
    const end = valueEnd(text, open, 0);
    if (end === TOO_DEEP) walk.problem = 'too_deep';
    else if (end < 0) walk.problem = 'malformed';
    else walk.problem = text.charCodeAt(open) === 0x5b ? 'batch' : 'not_an_object';
  }
  return walk;
}
