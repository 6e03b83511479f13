import { Problem } from './problem.ts';

/** Answers without an end that one caller may have open: each holds a connection, of which there are 256 for all. */
const MOST = 20;

/** Bounds the answers of each caller that go on until nobody reads them. */
export class StreamLimit {
  readonly #open = new Map<string, number>();

  /** Until `gone` is aborted. @throws Problem `too_many_requests`, with Retry-After */
  take(who: string, gone: AbortSignal): void {
    const open = this.#open.get(who) ?? 0;
    if (open >= MOST)
      throw new Problem('too_many_requests', `${MOST} logs are being read already: end one of them`, {
        headers: { 'Retry-After': '5' },
      });
    if (gone.aborted) return;
    this.#open.set(who, open + 1);
    gone.addEventListener('abort', () => this.#release(who), { once: true });
  }

  #release(who: string): void {
    const left = (this.#open.get(who) ?? 1) - 1;
    if (left > 0) this.#open.set(who, left);
    else this.#open.delete(who);
  }
}
