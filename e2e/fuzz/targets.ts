import assert from 'node:assert/strict';
import fc from 'fast-check';
import { RequestError } from '#runtime/errors';
import { decodeBackendMessage } from '#runtime/mcp/envelope/decode-backend-message';
import { decodeRequest } from '#runtime/mcp/envelope/decode-request';
import { duplicateKeysIn } from '#runtime/mcp/envelope/duplicate-keys';
import { mintRequestId, readMintedId } from '#runtime/mcp/envelope/mint-request-id';
import type { Span, Spans } from '#runtime/mcp/envelope/scan-envelope';
import { decodeEventId, encodeEventId } from '#runtime/mcp/sse/event-id';
import { createSseParser, SseEventTooLarge, type SseEvent } from '#runtime/mcp/sse/parse-sse';

/** Valid and invalid pieces of JSON, so that many combinations come close to a message. */
const piece = fc.oneof(
  fc.constantFrom('{', '}', '[', ']', ',', ':', '"', '\\', ' ', '\n', '0', '-1', '1e9', 'null', 'true', '\\u0069', 'é'),
  fc.constantFrom('"jsonrpc":"2.0"', '"id":1', '"id":"a"', '"method":"tools/call"', '"params":{', '"name":"x"'),
  fc.constantFrom('"arguments":{', '"_meta":{', '"progressToken":1', '"io.modelcontextprotocol/x":1', '"result":{'),
  fc.constantFrom('"error":{"code":1,"message":""}', '"Method":"x"', '"\\u006dethod":"x"', '"ref":{"name":"r"}'),
  fc.string({ maxLength: 4 }),
);
const soup = fc.array(piece, { maxLength: 30 }).map((parts) => parts.join(''));
const framed = soup.map((inside) => `{"jsonrpc":"2.0","id":1,"method":"m","params":{${inside}}}`);
/** Strings longer than the parser scans byte by byte, full of escapes and quotes. */
const quoted = fc
  .array(fc.constantFrom('"', '\\', '}', ',', 'xxxxxxxx'), { maxLength: 40 })
  .map((parts) => parts.join(''));
const valid = fc
  .record({ id: fc.oneof(fc.integer(), fc.string()), name: quoted, value: fc.jsonValue({ maxDepth: 4 }) })
  .map(({ id, name, value }) =>
    JSON.stringify({
      jsonrpc: '2.0',
      id,
      method: 'm',
      params: { name, arguments: value, _meta: { progressToken: id } },
    }),
  );
const damaged = fc
  .tuple(fc.oneof(valid, framed), fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 3 }))
  .map(([text, changes]) => {
    const bytes = Buffer.from(text);
    for (const [at, byte] of changes) bytes[at % bytes.length] = byte;
    return bytes;
  });
const input = fc.oneof(
  damaged,
  fc.oneof(soup, framed, valid).map((text) => Buffer.from(text)),
  fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
);

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body));
  } catch {
    return undefined;
  }
}
function at(body: Buffer, span: Span): unknown {
  return JSON.parse(body.toString('utf8', span.start, span.end));
}
/** Returns the value at a path such as `params.name`. */
function valueAt(message: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>(
      (value, key) =>
        typeof value === 'object' && value !== null ? Object.getOwnPropertyDescriptor(value, key)?.value : undefined,
      message,
    );
}
function checkSpans(body: Buffer, spans: Spans, message: unknown): void {
  for (const [path, span] of Object.entries(spans)) {
    if (span) assert.deepEqual(at(body, span), valueAt(message, path), path);
  }
}

const requests = fc.property(input, (body) => {
  const message = parsed(body);
  try {
    const { spans } = decodeRequest(body);
    assert.notEqual(message, undefined, 'what is no JSON was accepted');
    assert.equal(valueAt(message, 'jsonrpc'), '2.0');
    checkSpans(body, spans, message);
    for (const path of ['id', 'method', 'params', 'params.name', 'params.arguments', 'params._meta'] as const)
      assert.equal(spans[path] !== undefined, valueAt(message, path) !== undefined, path);
    if (spans['params.arguments']) duplicateKeysIn(body, spans['params.arguments']);
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    assert.equal(error.answer.status, 400);
  }
});

/** Verifies that valid requests are accepted and all their ranges found. */
const validRequests = fc.property(valid, (text) => {
  const body = Buffer.from(text);
  const { spans } = decodeRequest(body);
  checkSpans(body, spans, JSON.parse(text));
  assert.ok(spans.id && spans['params.name'] && spans['params.arguments'] && spans['params._meta.progressToken']);
  assert.equal(decodeBackendMessage(body)?.method, 'm');
});

const backendMessages = fc.property(input, (body) => {
  const decoded = decodeBackendMessage(body);
  const message = parsed(body);
  if (!decoded || message === undefined) return;
  checkSpans(body, decoded.spans, message);
  const clean = JSON.stringify(parsed(decoded.clean(body)));
  assert.equal(/"_meta":\{[^}]*"io\.modelcontextprotocol/.test(clean) && decoded.hasReservedMeta, false);
});

const sse = fc.constantFrom(
  '\n',
  '\r',
  '\r\n',
  '\n\n',
  ':',
  ' ',
  'data:',
  'data: ',
  'event: ',
  'id: ',
  'retry: ',
  '12',
  '\ufeff',
);
const stream = fc.array(fc.oneof(sse, fc.string({ maxLength: 6 })), { maxLength: 60 }).map((parts) => parts.join(''));
const LIMIT = 120;

/** Returns the events, and whether the parser reached its limit. The chunks decide only when the parser notices the limit. */
function parseEvents(chunks: Buffer[]): { events: SseEvent[]; isTooLarge: boolean } {
  const events: SseEvent[] = [];
  const parser = createSseParser({ maxEventBytes: LIMIT, onEvent: (event) => void events.push(event) });
  try {
    for (const chunk of chunks) parser.push(chunk);
    return { events, isTooLarge: false };
  } catch (error) {
    if (!(error instanceof SseEventTooLarge)) throw error;
    return { events, isTooLarge: true };
  }
}

const events = fc.property(
  fc.oneof(
    stream.map((text) => Buffer.from(text)),
    fc.uint8Array({ maxLength: 80 }).map((bytes) => Buffer.from(bytes)),
  ),
  fc.array(fc.nat(400), { maxLength: 20 }),
  (bytes, cuts) => {
    const ends = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b), bytes.length];
    const chunks = ends.slice(1).map((end, index) => bytes.subarray(ends[index], end));
    assert.deepEqual(parseEvents(chunks), parseEvents([bytes]));
  },
);

const ids = fc.property(fc.string({ unit: 'binary' }), fc.string({ maxLength: 20 }), (text, name) => {
  const minted = readMintedId(text);
  if (minted) assert.equal(mintRequestId(minted.backend, minted.idText), text);
  const position = decodeEventId(text);
  if (position) assert.equal(encodeEventId(position), text);
  const own = { backend: name.toWellFormed(), stream: text.toWellFormed(), original: name.toWellFormed() };
  const id = encodeEventId(own);
  if (id !== undefined) assert.deepEqual(decodeEventId(id), own);
});

interface FuzzSettings {
  readonly seed: number;
  readonly milliseconds: number;
}
interface FuzzOutcome {
  readonly inputs: number;
  /** Failure and how to repeat it; undefined: no failure. */
  readonly failure: string | undefined;
}

const fuzz =
  <Input>(property: fc.IProperty<Input>) =>
  ({ seed, milliseconds }: FuzzSettings): FuzzOutcome => {
    const outcome = fc.check(property, {
      seed,
      numRuns: Number.MAX_SAFE_INTEGER,
      interruptAfterTimeLimit: milliseconds,
      markInterruptAsFailure: false,
    });
    return { inputs: outcome.numRuns, failure: outcome.failed ? fc.defaultReportMessage(outcome) : undefined };
  };

/** Fuzz targets by name. */
export const targets = {
  requests: fuzz(requests),
  validRequests: fuzz(validRequests),
  backendMessages: fuzz(backendMessages),
  events: fuzz(events),
  ids: fuzz(ids),
};
