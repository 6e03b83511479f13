import { type Command, Redis, type RedisOptions } from 'ioredis';

type Sent = Parameters<Redis['sendCommand']>;

/** `deadline`: milliseconds. A pause of this process (garbage collection, CPU limit) does not count: an arrived answer is read first. */
export class TimedRedis extends Redis {
  readonly #deadline: number;

  /** `options` without `commandTimeout`, which would count such a pause. */
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
    // node reads input between a timer and an immediate.
    const timer = setTimeout(() => setImmediate(() => giveUp(command)), this.#deadline);
    const end = () => clearTimeout(timer);
    command.promise.then(end, end);
  }
}

function giveUp(command: Command): void {
  if (!command.isResolved) command.reject(new Error('Command timed out'));
}
