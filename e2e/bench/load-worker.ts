import { cpuMicros } from './cpu-time.ts';
import { HttpConnection, readJson } from './http-connection.ts';
import { ID_PLACEHOLDER, type LoadClient, type LoadJob, type LoadResult } from './load-job.ts';

const MAX_SAMPLES = 4_000_000;
const CHECK_EVERY = 512;
const ANSWER_DEADLINE_MS = 10_000;

interface Lane {
  connection: HttpConnection;
  requests: { bytes: Buffer; idAt: number }[];
  turn: number;
}

/** Counts calls, errors and latencies of one measurement. */
class Tally {
  readonly latencies = new Float64Array(MAX_SAMPLES);
  calls = 0;
  errors = 0;
  error: string | undefined;

  add(micros: number): void {
    if (this.calls < MAX_SAMPLES) this.latencies[this.calls] = micros;
    this.calls += 1;
  }

  fail(message: string): void {
    this.errors += 1;
    this.error ??= message;
  }

  reset(): void {
    this.calls = 0;
    this.errors = 0;
    this.error = undefined;
  }

  summarise(): { p50: number; p99: number; max: number } {
    const sorted = this.latencies.slice(0, Math.min(this.calls, MAX_SAMPLES)).sort();
    const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
    return { p50: at(0.5), p99: at(0.99), max: at(1) };
  }
}

function prepare(job: LoadJob, client: LoadClient): Lane['requests'] {
  return client.bodies.map((body) => {
    const fields = {
      host: `127.0.0.1:${job.port}`,
      ...client.headers,
      'content-length': String(Buffer.byteLength(body)),
    };
    const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
    const bytes = Buffer.from(`POST ${job.path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
    return { bytes, idAt: bytes.lastIndexOf(String(ID_PLACEHOLDER)) };
  });
}

const tally = new Tally();
let nextId = ID_PLACEHOLDER;
let member: string | undefined;

/** Sends the lane's next call. `from`: start of its latency, in milliseconds. */
function call(lane: Lane, from: number, then: () => void): void {
  const request = lane.requests[lane.turn % lane.requests.length];
  lane.turn += 1;
  if (!request) return;
  const id = (nextId += 1);
  request.bytes.write(String(id), request.idAt, 'latin1');
  const keep = id % CHECK_EVERY === 0;
  lane.connection.send(
    request.bytes,
    keep,
    (answer) => {
      tally.add((performance.now() - from) * 1_000);
      if (answer.status !== 200) tally.fail(`HTTP ${answer.status}`);
      else if (answer.raw) check(answer.raw, id);
      then();
    },
    (error) => {
      tally.fail(error.message);
      then();
    },
  );
}

function check(raw: Buffer, id: number): void {
  const message = readJson(raw) as { id?: unknown; result?: { content?: unknown[] } };
  const isRight = member === undefined ? message.id === id && message.result?.content?.length === 1 : member in message;
  if (!isRight) tally.fail(`wrong answer: ${raw.toString().slice(-300)}`);
}

/** Each lane sends its next call as soon as it has its answer. */
async function closedLoop(lanes: Lane[], until: number): Promise<void> {
  const run = (lane: Lane) =>
    new Promise<void>((resolve) => {
      const next = () => {
        if (performance.now() < until && tally.errors < 1_000) call(lane, performance.now(), next);
        else resolve();
      };
      next();
    });
  await Promise.all(lanes.map(run));
}

/**
 * Starts calls by the clock, whether or not earlier ones are answered. The latency of a delayed call includes its
 * delay.
 */
async function openLoop(lanes: Lane[], until: number, rate: number): Promise<void> {
  const free = [...lanes];
  const waiting: number[] = [];
  const begun = performance.now();
  let sent = 0;
  const start = (lane: Lane, from: number) => {
    call(lane, from, () => {
      const due = waiting.shift();
      if (due === undefined) free.push(lane);
      else start(lane, due);
    });
  };
  while (performance.now() < until) {
    const due = Math.floor(((performance.now() - begun) / 1_000) * rate);
    for (; sent < due; sent += 1) {
      const lane = free.pop();
      const now = performance.now();
      if (lane) start(lane, now);
      else waiting.push(now);
    }
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  for (let tries = 0; free.length < lanes.length && tries < 2_000; tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

async function measure(job: LoadJob): Promise<LoadResult> {
  member = job.member;
  const lanes: Lane[] = await Promise.all(
    job.clients.map(async (client) => ({
      connection: await HttpConnection.open('127.0.0.1', job.port),
      requests: prepare(job, client),
      turn: 0,
    })),
  );
  const loop = async (milliseconds: number) => {
    const until = performance.now() + milliseconds;
    const abandon = setTimeout(() => {
      for (const lane of lanes) lane.connection.abandon();
    }, milliseconds + ANSWER_DEADLINE_MS);
    await (job.rate === undefined ? closedLoop(lanes, until) : openLoop(lanes, until, job.rate));
    clearTimeout(abandon);
  };
  tally.reset();
  await loop(job.warmUpMs);
  const warmUpError = tally.error;
  tally.reset();
  const pids: Record<string, number> = { ...job.pids, load: process.pid };
  const before = Object.entries(pids).map(([name, pid]) => [name, cpuMicros(pid)] as const);
  const start = performance.now();
  await loop(job.measureMs);
  const seconds = (performance.now() - start) / 1_000;
  const cpu: Record<string, number> = {};
  for (const [name, micros] of before) cpu[name] = (cpuMicros(pids[name] ?? 0) - micros) / Math.max(1, tally.calls);
  for (const lane of lanes) lane.connection.close();
  const { calls, errors } = tally;
  const error = warmUpError ?? tally.error;
  return { calls, errors, error, seconds, rps: calls / seconds, ...tally.summarise(), cpu };
}

process.on('message', (job) => {
  measure(job as LoadJob).then(
    (result) => process.send?.({ result }),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
process.once('disconnect', () => process.exit(0));
