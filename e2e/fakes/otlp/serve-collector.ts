import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import protobuf from 'protobufjs';

/** A span as received by a collector. Ids in hexadecimal. */
export interface CollectedSpan {
  readonly name: string;
  /** 1 internal, 2 server, 3 client. */
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId: string;
  readonly traceState: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly resource: Readonly<Record<string, unknown>>;
  /** 2: error. */
  readonly status: number;
  readonly milliseconds: number;
}

export interface Collector {
  readonly url: string;
  readonly spans: CollectedSpan[];
  /** Each export request: its path and headers. */
  readonly requests: { path: string; headers: IncomingHttpHeaders }[];
  /** Returns all received bytes as text. */
  raw(): string;
  close(): Promise<void>;
}

/** The fields of OTLP's trace messages that the collector reads, by field numbers. */
const SCHEMA = `syntax = "proto3";
message Request { repeated ResourceSpans resource_spans = 1; }
message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
message Resource { repeated KeyValue attributes = 1; }
message ScopeSpans { repeated Span spans = 2; }
message Span {
  bytes trace_id = 1; bytes span_id = 2; string trace_state = 3; bytes parent_span_id = 4; string name = 5; int32 kind = 6;
  fixed64 start = 7; fixed64 end = 8; repeated KeyValue attributes = 9; Status status = 15;
}
message KeyValue { string key = 1; AnyValue value = 2; }
message AnyValue { oneof value { string text = 1; bool flag = 2; int64 whole = 3; double number = 4; } }
message Status { int32 code = 3; }`;

interface KeyValue {
  key: string;
  value?: Record<string, unknown>;
}
interface Decoded {
  resourceSpans?: {
    resource?: { attributes?: KeyValue[] };
    scopeSpans?: { spans?: DecodedSpan[] }[];
  }[];
}
interface DecodedSpan {
  traceId: Uint8Array;
  spanId: Uint8Array;
  parentSpanId?: Uint8Array;
  traceState?: string;
  name: string;
  kind: number;
  start: number;
  end: number;
  attributes?: KeyValue[];
  status?: { code?: number };
}

const RequestType = protobuf.parse(SCHEMA).root.lookupType('Request');
const hex = (bytes: Uint8Array | undefined) => Buffer.from(bytes ?? []).toString('hex');
const valuesOf = (attributes: KeyValue[] = []) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value ?? {})[0]]));

interface CollectorOptions {
  /** Status of its answers; absent: 200. */
  readonly status?: number;
  /** Number of requests that get this status before the next ones get 200; absent: all. */
  readonly refusals?: number;
  /** It answers nothing. */
  readonly silent?: boolean;
  /** PEM; with it, the collector uses https. */
  readonly tls?: { readonly cert: string; readonly key: string };
}

/** Serves a collector of traces by OTLP/HTTP. */
export async function serveCollector({
  status: refusal = 200,
  refusals = Infinity,
  silent = false,
  tls,
}: CollectorOptions = {}): Promise<Collector> {
  const spans: CollectedSpan[] = [];
  const requests: Collector['requests'] = [];
  let raw = '';
  const listener: RequestListener = (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      requests.push({ path: request.url ?? '', headers: request.headers });
      const body = Buffer.concat(chunks);
      const status = requests.length > refusals ? 200 : refusal;
      raw += body.toString('latin1');
      if (status === 200) spans.push(...decode(body));
      if (!silent) response.writeHead(status, { 'content-type': 'application/x-protobuf' }).end();
    });
  };
  const http = tls ? createTlsServer(tls, listener) : createServer(listener);
  await new Promise<void>((resolve) => void http.listen(0, '127.0.0.1', resolve));
  const { port } = http.address() as AddressInfo;
  return {
    url: `http${tls ? 's' : ''}://127.0.0.1:${port}`,
    spans,
    requests,
    raw: () => raw,
    close: () =>
      new Promise((resolve) => {
        http.close(() => resolve());
        http.closeAllConnections();
      }),
  };
}

function decode(body: Buffer): CollectedSpan[] {
  const options = { longs: Number, defaults: false };
  const { resourceSpans = [] } = RequestType.toObject(RequestType.decode(body), options) as Decoded;
  return resourceSpans.flatMap(({ resource, scopeSpans = [] }) =>
    scopeSpans.flatMap(({ spans = [] }) => spans.map((span) => collected(span, valuesOf(resource?.attributes)))),
  );
}

function collected(span: DecodedSpan, resource: CollectedSpan['resource']): CollectedSpan {
  const { name, kind, traceState = '', status, start, end } = span;
  return {
    ...{ name, kind, traceState, resource },
    traceId: hex(span.traceId),
    spanId: hex(span.spanId),
    parentId: hex(span.parentSpanId),
    attributes: valuesOf(span.attributes),
    status: status?.code ?? 0,
    milliseconds: (end - start) / 1e6,
  };
}
