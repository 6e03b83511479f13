import { readdirSync, readFileSync } from 'node:fs';
import type { Gateway } from '../gateway/start-gateway.ts';

const DEADLINE_MS = 30_000;

/** Resources that a gateway holds. */
export interface ProcessState {
  sessions: number;
  /** Requests in flight, and calls that hold or wait for a slot, by metric. */
  places: Record<string, number>;
  descriptors: number;
  /** Bytes after a garbage collection. */
  heap: number;
  rss: number;
}

/** A connection to the inspector of a Node process. */
export interface Inspector {
  /** Bytes of the heap after a garbage collection. */
  heapUsed(): Promise<number>;
  close(): void;
}

interface Target {
  webSocketDebuggerUrl: string;
}

/** Connects to a process that was started with `--inspect`. */
export async function connectInspector(port: number): Promise<Inspector> {
  const answer = await fetch(`http://127.0.0.1:${port}/json/list`, { signal: AbortSignal.timeout(DEADLINE_MS) });
  const [target] = (await answer.json()) as Target[];
  if (!target) throw new Error('the inspector has no target');
  const socket = new WebSocket(target.webSocketDebuggerUrl);
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve, { once: true });
    socket.addEventListener('error', () => reject(new Error('the inspector refuses')), { once: true });
  });
  let last = 0;
  const send = (method: string, params: object = {}) =>
    new Promise<{ result?: { value?: unknown } }>((resolve, reject) => {
      const id = (last += 1);
      const timer = setTimeout(() => reject(new Error(`the inspector does not answer ${method}`)), DEADLINE_MS);
      const listen = ({ data }: MessageEvent) => {
        const message = JSON.parse(String(data)) as { id?: number; result?: { result?: { value?: unknown } } };
        if (message.id !== id) return;
        clearTimeout(timer);
        socket.removeEventListener('message', listen);
        resolve(message.result ?? {});
      };
      socket.addEventListener('message', listen);
      socket.send(JSON.stringify({ id, method, params }));
    });
  return {
    async heapUsed() {
      await send('HeapProfiler.collectGarbage');
      const { result } = await send('Runtime.evaluate', { expression: 'process.memoryUsage().heapUsed' });
      return Number(result?.value);
    },
    close: () => socket.close(),
  };
}

/** Metrics that count requests and calls in flight, with any labels. */
const PLACES = /^(vmcp_\w*(?:running|in_flight|inflight|queued|waiting)\w*)(?:\{[^}]*\})? (\S+)$/gm;

async function readMetrics(privateUrl: string): Promise<Pick<ProcessState, 'sessions' | 'places'>> {
  const answer = await fetch(`${privateUrl}/metrics`, { signal: AbortSignal.timeout(DEADLINE_MS) });
  const text = await answer.text();
  const places: Record<string, number> = {};
  for (const [, name = '', value] of text.matchAll(PLACES)) places[name] = (places[name] ?? 0) + Number(value);
  return { sessions: Number(/^vmcp_sessions (\S+)$/m.exec(text)?.[1]), places };
}

/** Reads the resources that a gateway holds now. */
export async function readProcessState(gateway: Gateway, inspector: Inspector): Promise<ProcessState> {
  const { pid, privateUrl } = gateway;
  const rssPages = Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]);
  return {
    ...(await readMetrics(privateUrl)),
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
    heap: await inspector.heapUsed(),
    rss: rssPages * 4096,
  };
}

const MB = 1024 * 1024;
/** Sockets of idle connections that a pool keeps for seconds. */
const DESCRIPTORS_MORE = 20;
/** Caches, and code that V8 compiles only under load. */
const HEAP_MORE = 12 * MB;

/** Describes the resources that the gateway holds in addition to those of the start. */
export function compareStates(start: ProcessState, end: ProcessState): Record<string, string | undefined> {
  const held = Object.entries(end.places).filter(([, value]) => value > 0);
  return {
    sessions: end.sessions > start.sessions ? `${end.sessions} sessions are left` : undefined,
    places:
      held.length > 0 ? `calls are left: ${held.map(([name, value]) => `${name} ${value}`).join(', ')}` : undefined,
    descriptors:
      end.descriptors > start.descriptors + DESCRIPTORS_MORE
        ? `${start.descriptors} descriptors became ${end.descriptors}`
        : undefined,
    heap:
      end.heap > start.heap + HEAP_MORE ? `a heap of ${toMb(start.heap)} MB became ${toMb(end.heap)} MB` : undefined,
  };
}

export const toMb = (bytes: number): string => (bytes / MB).toFixed(1);
