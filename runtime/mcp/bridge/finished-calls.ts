/** Finished calls of one caller. */
const MOST_OF_CALLER = 64;
/** Bytes of all callers' outcomes. */
const MOST_BYTES = 67_108_864;

interface FinishedCall {
  readonly caller: string;
  /** Size of its outcome. */
  readonly bytes: number;
  /** Time that its outcome stays. */
  readonly milliseconds: number;
}

/** Limits the finished calls whose outcome stays for repeated and late retries. A caller replaces its own oldest ones. */
export class FinishedCalls {
  readonly #forget: (id: string) => void;
  readonly #calls = new Map<string, FinishedCall & { readonly timer: NodeJS.Timeout }>();
  #bytes = 0;

  constructor(forget: (id: string) => void) {
    this.#forget = forget;
  }

  add(id: string, call: FinishedCall): void {
    const timer = setTimeout(() => this.#drop(id), call.milliseconds).unref();
    this.#calls.set(id, { ...call, timer });
    this.#bytes += call.bytes;
    const own = [...this.#calls].flatMap(([one, { caller }]) => (caller === call.caller ? [one] : []));
    for (const [index, one] of own.entries())
      if (this.#bytes > MOST_BYTES || own.length - index > MOST_OF_CALLER) this.#drop(one);
  }

  #drop(id: string): void {
    const call = this.#calls.get(id);
    if (!call) return;
    clearTimeout(call.timer);
    this.#calls.delete(id);
    this.#bytes -= call.bytes;
    this.#forget(id);
  }
}
