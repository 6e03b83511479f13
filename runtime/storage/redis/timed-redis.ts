import { type Command, Redis, type RedisOptions } from 'ioredis';

type Sent = Parameters<Redis['sendCommand']>;

/**
 * A client whose commands fail where Redis takes longer than `deadline` (milliseconds), and not where this process does: it may be
 * paused for seconds, by its garbage or by a limit of its CPU time, and an answer that has come meanwhile is read before the deadline counts.
 */
export class TimedRedis extends Redis {
  readonly #deadline: number;

  /** `options` without `commandTimeout`, which counts such a pause. */
  constructor(options: Omit<RedisOptions, 'commandTimeout'>, deadline: number) {
    super(options);
    this.#deadline = deadline;
  }

  override sendCommand(...[command, stream]: Sent): unknown {
    const sent = super.sendCommand(command, stream);
    this.#time(command);
    return sent;
  }

  #time(command: Command): void {
    // What came in is read between a timer and an immediate.
    const timer = setTimeout(() => setImmediate(() => giveUp(command)), this.#deadline);
    const end = () => clearTimeout(timer);
    command.promise.then(end, end);
  }
}

function giveUp(command: Command): void {
  if (!command.isResolved) command.reject(new Error('Command timed out'));
}
