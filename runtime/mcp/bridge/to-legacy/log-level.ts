import { LOG_LEVELS } from '../../log-levels.ts';

/** The most verbose level that any call of a session asked for. */
export class LogLevel {
  #level = LOG_LEVELS.length;

  /** Returns whether the backend must be told. */
  lower(level: string): boolean {
    const wanted = LOG_LEVELS.indexOf(level);
    if (wanted < 0 || wanted >= this.#level) return false;
    this.#level = wanted;
    return true;
  }
}
