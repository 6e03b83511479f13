import type { Keeper, BufferedBytes } from '#runtime/mcp/backends/buffered-bytes';
import { CallsInFlight } from './calls-in-flight.ts';
import type { Channel, ChannelCall, ChannelEvents, Noise, OneWayExchange } from './channel.ts';
import type { LargeLine } from './read-lines.ts';
import { LargeMessage } from './large-message.ts';
import { toOneLine } from './one-line.ts';
import { runProcess, type ProcessSettings, type RunningProcess } from './run-process.ts';

export interface ConnectionSettings
  extends Pick<ProcessSettings, 'command' | 'args' | 'env' | 'cwd' | 'maxLineBytes'>, ChannelEvents {
  readonly name: string;
  readonly onStderr: (line: string) => void;
  readonly bufferedBytes: BufferedBytes;
}

/** One process and its calls in flight. */
export class StdioConnection implements Channel, Keeper {
  readonly #settings: ConnectionSettings;
  readonly #process: RunningProcess;
  readonly #calls: CallsInFlight;
  kept = 0;
  isHeld = false;
  #isOver = false;
  #hasSpoken = false;
  #large: LargeMessage | undefined;

  constructor(settings: ConnectionSettings) {
    this.#settings = settings;
    this.#calls = new CallsInFlight(settings.onUnsolicited);
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
      onLarge: () => this.#takeLarge(),
      onExit: (reason, wasKilled) => this.#end(reason, wasKilled),
    });
  }

  /** Pauses all calls of the process, since only the end of a line names its call. */
  wait(): void {
    this.isHeld = true;
    this.#process.pause();
  }

  goOn(): void {
    this.isHeld = false;
    this.#process.resume();
  }

  get source(): string {
    return this.#settings.name;
  }

  giveUp(): void {
    this.#large?.forget();
    this.#large = undefined;
    this.#settings.bufferedBytes.tell(this, 0);
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

  send(body: Buffer, exchange?: OneWayExchange): boolean {
    if (this.#isOver || !this.#process.write(toOneLine(body))) return false;
    exchange?.accept();
    return true;
  }

  async close(): Promise<void> {
    await this.#process.stop();
    this.#end('was stopped');
  }

  #takeLarge(): LargeLine {
    const message = new LargeMessage();
    const { bufferedBytes } = this.#settings;
    let size = 0;
    this.#hasSpoken = true;
    this.#large = message;
    const isKept = () => this.#large === message;
    return {
      push: (bytes) => {
        if (this.#isOver) return;
        message.push(bytes);
        size += bytes.length;
        if (isKept()) bufferedBytes.tell(this, size);
      },
      end: () => {
        this.#calls.takeLarge(message.end());
        bufferedBytes.tell(this, 0);
      },
      drop: () => bufferedBytes.tell(this, 0),
    };
  }

  #end(reason: string, wasKilled = false): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#settings.bufferedBytes.tell(this, 0);
    this.#calls.endAll('exited');
    this.#settings.onExit(reason, wasKilled);
  }
}
