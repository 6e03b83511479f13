import { LoginNeeded } from '#runtime/authserver/user-tokens';
import { NoAnswer } from './ask.ts';

/** Undefined: the error has another reason. */
export function neededLogin(error: unknown): string | undefined {
  const reason = error instanceof NoAnswer ? error.failure.error : error;
  return reason instanceof LoginNeeded ? reason.provider : undefined;
}
