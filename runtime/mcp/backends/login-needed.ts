import { LoginNeeded } from '#runtime/authserver/user-tokens';
import { NoAnswer } from './ask.ts';

/**
 * Returns the provider where the caller must log in before the backend can be called. Undefined: the error has another
 * reason.
 */
export function neededLogin(error: unknown): string | undefined {
  const reason = error instanceof NoAnswer ? error.failure.error : error;
  return reason instanceof LoginNeeded ? reason.provider : undefined;
}
