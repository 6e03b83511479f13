import { Worker } from 'node:worker_threads';
import type { Told } from './ask-operation.ts';

const CODE = `
  const { workerData: { file, before, after }, parentPort } = require('node:worker_threads');
  const { renameSync, writeFileSync } = require('node:fs');
  let n = 0;
  const once = () => { writeFileSync(file + '.other', before + n++ + after); renameSync(file + '.other', file); };
  once();
  parentPort.postMessage('');
  for (;;) once();`;

/** Keeps rewriting a file with a new number in its text, without any lock. Resolves when the writes have begun. */
export async function writeAnew(
  file: string,
  before: string,
  after: string,
): Promise<{ stop: () => Promise<unknown> }> {
  const worker = new Worker(CODE, { eval: true, workerData: { file, before, after } });
  await new Promise<void>((resolve) => void worker.once('message', () => resolve()));
  return { stop: () => worker.terminate() };
}

/** Repeats a request until a concurrent write disturbs it, because the writer may be slow on a busy machine. */
export async function untilDisturbed(status: number, ask: () => Promise<Told>): Promise<Told> {
  let told = await ask();
  for (let times = 0; told.status !== status && times < 100; times += 1) told = await ask();
  return told;
}
