import { callFailure, NotStarted } from '#runtime/mcp/backends/failures';
import type { BackendMessage } from '#runtime/mcp/envelope/decode-backend-message';
import type { Log } from '#runtime/telemetry/log';
import type { Channel, ChannelEvents, Noise } from './channel.ts';
import type { ChannelExchange } from './channel-exchange.ts';
import { SessionTable, type ChannelSession } from './channel-sessions.ts';
import { CrashBackoff, type Backoff } from './crash-backoff.ts';
import { addNoise, isListChanged } from './observe-process.ts';

const LISTEN = 'subscriptions/listen';
const SUBSCRIPTION_ID = 'io.modelcontextprotocol/subscriptionId';
const METHOD_NOT_FOUND = -32601;
/** Consecutive unanswered probes before the process is ended. */
const MAX_SILENCES = 3;

interface ModernProcessesOptions {
  readonly name: string;
  /** One process serves all callers. Otherwise each principal has its own. */
  readonly isShared: boolean;
  /** Maximum number of processes, if they are not shared. */
  readonly max: number;
  /** Milliseconds after which a process without calls ends, if it is not shared. */
  readonly idle: number;
  readonly giveWay: number;
  readonly open: (events: ChannelEvents) => Channel;
  readonly backoff: Backoff;
  /** Monotonic clock. */
  readonly now: () => number;
  readonly log: Log;
  readonly onListChanged: (method: string) => void;
}

/** Processes of a server that speaks 2026-07-28. Its requests are independent, so no process needs initialize. */
export class ModernProcesses {
  readonly #options: ModernProcessesOptions;
  readonly #table: SessionTable;
  readonly #byCaller = new Map<string, ChannelSession>();
  readonly #closing = new Set<Promise<void>>();
  readonly #backoff: CrashBackoff;
  #starts = 0;
  #silences = 0;
  #notBefore = 0;
  #reason: NotStarted | undefined;
  #isClosed = false;
  #pastNoise: Noise = { garbage: 0, stray: 0, oversized: 0 };

  constructor(options: ModernProcessesOptions) {
    this.#options = options;
    this.#backoff = new CrashBackoff(options.backoff);
    const { isShared, now, max, idle, giveWay } = options;
    this.#table = new SessionTable({
      ...(isShared ? { max: 1, idle: Infinity } : { max, idle, giveWay }),
      now,
      onEnd: (process) => this.#stop(process),
    });
  }

  get noise(): Noise {
    let sum = this.#pastNoise;
    for (const { channel } of this.#table.values()) if (channel) sum = addNoise(sum, channel.noise);
    return sum;
  }
  get starts(): number {
    return this.#starts;
  }

  request(exchange: ChannelExchange): void {
    const { name, now, isShared } = this.#options;
    const { identity, isProbe = false } = exchange.call;
    const key = isShared ? '' : `${isProbe ? 'probe' : 'caller'} ${identity.key}`;
    const process = this.#byCaller.get(key);
    if (process) this.#begin(exchange, process);
    // A call that began before a reload may arrive after it. Its process would never be closed.
    else if (this.#isClosed || now() < this.#notBefore)
      exchange.fail(callFailure(name, 'unavailable', false, this.#reason));
    else if (!this.#table.hasCapacity()) exchange.fail(callFailure(name, 'busy', false));
    else this.#begin(exchange, this.#open(key));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#table.close();
    for (const process of [...this.#table.values()]) this.#table.end(process);
    await Promise.all(this.#closing);
  }

  #begin(exchange: ChannelExchange, process: ChannelSession | undefined): void {
    const id = process?.channel && exchange.begin(process.channel);
    if (!process || id === undefined) return;
    process.calls.set(String(id), exchange);
    exchange.onOver = (answer) => {
      process.calls.delete(String(id));
      process.lastUsed = this.#options.now();
      if (exchange.call.isProbe === true) this.#probed(process, answer !== undefined || exchange.isHeld);
    };
  }

  /** A shared process that answers no probe is ended. The next request starts another one. */
  #probed(process: ChannelSession, isAlive: boolean): void {
    this.#silences = isAlive ? 0 : this.#silences + 1;
    const isHung = this.#silences >= MAX_SILENCES;
    if (this.#options.isShared && !isHung) return;
    if (isHung) this.#options.log.warn('a process of a backend no longer answers', { backend: this.#options.name });
    this.#silences = 0;
    this.#table.end(process);
  }

  #open(key: string): ChannelSession | undefined {
    this.#starts++;
    const startedAt = this.#options.now();
    const channel = this.#options.open({
      onUnsolicited: (line, message) => process && this.#takeUnsolicited(line, message, process),
      onExit: (reason, wasKilled = false) => process && this.#exited(process, startedAt, reason, wasKilled),
    });
    const process = this.#table.open(channel);
    if (process) this.#byCaller.set(key, process);
    return process;
  }

  #exited(process: ChannelSession, startedAt: number, reason: string, wasKilled: boolean): void {
    if (![...this.#table.values()].includes(process)) return;
    const { name, log, now, isShared } = this.#options;
    const servedFor = process.channel?.hasSpoken === true ? now() - startedAt : undefined;
    // A process that one principal broke must not delay the processes of others.
    const wait = isShared || servedFor === undefined ? this.#backoff.next({ servedFor, wasKilled }) : 0;
    this.#notBefore = now() + wait;
    this.#reason = new NotStarted(reason);
    log.warn('the process of a backend is gone', { backend: name, reason, startsAgainInMs: wait });
    this.#table.end(process);
  }

  #stop(process: ChannelSession): void {
    for (const [key, one] of this.#byCaller) if (one === process) this.#byCaller.delete(key);
    const { channel } = process;
    if (!channel) return;
    this.#pastNoise = addNoise(this.#pastNoise, channel.noise);
    const closing = channel.close().finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }

  #takeUnsolicited(line: Buffer, message: BackendMessage, process: ChannelSession): void {
    const { kind, method = '', idText = 'null' } = message;
    if (kind === 'request') {
      const error = `{"code":${METHOD_NOT_FOUND},"message":"Method not found"}`;
      process.channel?.send(Buffer.from(`{"jsonrpc":"2.0","id":${idText},"error":${error}}`));
      return;
    }
    const subscription = subscriptionIn(line, message);
    if (subscription !== undefined) process.calls.get(subscription)?.relay(line);
    else if (isListChanged(method)) this.#options.onListChanged(method);
    else callerOf(process)?.relay(line);
  }
}

/** Returns the newest call, as log messages name no call. Undefined: the message may belong to another principal. */
function callerOf({ calls }: ChannelSession): ChannelExchange | undefined {
  const running = [...calls.values()].filter(({ call }) => call.method !== LISTEN);
  const newest = running.at(-1);
  return running.every(({ call }) => call.identity.key === newest?.call.identity.key) ? newest : undefined;
}

/** Returns the number of the request whose stream the notification belongs to. */
function subscriptionIn(line: Buffer, { meta }: BackendMessage): string | undefined {
  const member = meta.find(({ key }) => key === SUBSCRIPTION_ID);
  return member && /:\s*"?(\d+)"?\s*$/.exec(line.toString('latin1', member.start, member.end))?.[1];
}
