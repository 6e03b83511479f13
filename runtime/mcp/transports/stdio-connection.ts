import { CallsUnderWay } from './calls-under-way.ts';
import type { Channel, ChannelCall, ChannelEvents, Noise } from './channel.ts';
import type { ChannelExchange } from './channel-exchange.ts';
import { toOneLine } from './one-line.ts';
import { runProcess, type ProcessSettings, type RunningProcess } from './run-process.ts';

export interface ConnectionSettings
  extends Pick<ProcessSettings, 'command' | 'args' | 'env' | 'cwd' | 'maxLineBytes'>, ChannelEvents {
  readonly onStderr: (line: string) => void;
}

/** One process and the calls under way in it. */
export class StdioConnection implements Channel {
  readonly #settings: ConnectionSettings;
  readonly #process: RunningProcess;
  readonly #calls: CallsUnderWay;
  #isOver = false;
  #hasSpoken = false;

  constructor(settings: ConnectionSettings) {
    this.#settings = settings;
    this.#calls = new CallsUnderWay(settings.onUnsolicited);
    this.#process = runProcess({
      ...settings,
      onLine: (line) => {
        this.#hasSpoken = true;
        this.#calls.take(line);
      },
      onOversized: (head, tail) => {
        this.#hasSpoken = true;
        this.#calls.refuseOversized(head, tail);
      },
      onExit: (reason, wasKilled) => this.#end(reason, wasKilled),
    });
  }

  get noise(): Noise {
    return this.#calls.noise;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get hasSpoken(): boolean {
    return this.#hasSpoken;
  }

  call(call: ChannelCall): number | undefined {
    const added = this.#isOver ? undefined : this.#calls.add(call);
    if (!added) return undefined;
    if (this.#process.write(toOneLine(added.message))) return added.id;
    this.#calls.delete(added.id);
    return undefined;
  }

  forget(id: number): void {
    this.#calls.delete(id);
  }

  cancel(id: number): void {
    if (!this.#calls.delete(id)) return;
    const params = { requestId: id };
    this.send(Buffer.from(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params })));
  }

  send(body: Buffer, exchange?: ChannelExchange): boolean {
    if (this.#isOver || !this.#process.write(toOneLine(body))) return false;
    exchange?.accept();
    return true;
  }

  async close(): Promise<void> {
    await this.#process.stop();
    this.#end('was stopped');
  }

  #end(reason: string, wasKilled = false): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#calls.endAll('exited');
    this.#settings.onExit(reason, wasKilled);
  }
}
