import type { IncomingHttpHeaders } from 'node:http';
import { isSpanContextValid, type SpanContext, TraceFlags } from '@opentelemetry/api';
import { parseTraceParent, TraceState } from '@opentelemetry/core';
import type { DecodedMessage } from '#runtime/mcp/envelope/decode-request';
import { scanEnvelope } from '#runtime/mcp/envelope/scan-envelope';
import { splice } from '#runtime/mcp/envelope/splice';

const MAX_STATE = 512;
const KEY = 'traceparent';

interface Carried {
  readonly traceparent: unknown;
  readonly tracestate: unknown;
}

/** Returns the caller's context (W3C Trace Context). The message's `_meta` takes precedence over the headers. */
export function readContext(headers: IncomingHttpHeaders, message: DecodedMessage): SpanContext | undefined {
  return (
    readCarried(inMeta(message)) ?? readCarried({ traceparent: headers.traceparent, tracestate: headers.tracestate })
  );
}

function inMeta(message: DecodedMessage): Carried {
  const meta = message.kind === 'response' ? undefined : message.params?._meta;
  const carried = typeof meta === 'object' && meta !== null ? meta : {};
  return {
    traceparent: 'traceparent' in carried ? carried.traceparent : undefined,
    tracestate: 'tracestate' in carried ? carried.tracestate : undefined,
  };
}

function readCarried({ traceparent, tracestate }: Carried): SpanContext | undefined {
  const context = typeof traceparent === 'string' ? parseTraceParent(traceparent) : null;
  if (!context || !isSpanContextValid(context)) return undefined;
  const hasState = typeof tracestate === 'string' && tracestate.length <= MAX_STATE;
  return { ...context, isRemote: true, ...(hasState && { traceState: new TraceState(tracestate) }) };
}

function renderTraceparent({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${(traceFlags & TraceFlags.SAMPLED) === 0 ? '00' : '01'}`;
}

export function contextHeaders(context: SpanContext): string[] {
  const state = context.traceState?.serialize() ?? '';
  return [KEY, renderTraceparent(context), ...(state === '' ? [] : ['tracestate', state])];
}

/** Returns the message with this context in its `_meta`, if `_meta` names a context; else the same bytes. */
export function replaceContext(body: Buffer, context: SpanContext): Buffer {
  const member = scanEnvelope(body.toString('latin1'), true, false).meta.find(({ key }) => key === KEY);
  if (!member) return body;
  return splice(body, [{ start: member.start, end: member.end, text: `"${KEY}":"${renderTraceparent(context)}"` }]);
}
