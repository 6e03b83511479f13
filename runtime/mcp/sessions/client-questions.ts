import type { Session, ClientQuestion } from './session.ts';

/** Unanswered requests of one session. A newer request replaces the oldest. */
const MAX_QUESTIONS = 100;

/** Records a request to the client. `id`: as the client knows it. */
export function noteQuestion(session: Session, id: string, question: ClientQuestion): void {
  const questions = (session.questions ??= new Map());
  const [oldest] = questions.keys();
  if (oldest !== undefined && questions.size >= MAX_QUESTIONS) questions.delete(oldest);
  questions.set(id, question);
}

/** Removes a request that the client has answered or the backend has cancelled. */
export function endQuestion(session: Session, id: string): void {
  session.questions?.delete(id);
  if (session.questions?.size === 0) session.questions = undefined;
}

/** Removes the requests that belong to a finished call. */
export function endQuestionsOf(session: Session, backend: string, call: string): void {
  for (const [id, question] of session.questions ?? [])
    if (question.backend === backend && question.call === call) endQuestion(session, id);
}

/** Removes all requests of a backend that no longer knows the session. */
export function endQuestionsAt(session: Session, backend: string): void {
  for (const [id, question] of session.questions ?? []) if (question.backend === backend) endQuestion(session, id);
}

/** Returns whether a call waits for its client. Its deadline does not run meanwhile. */
export function awaitsClient({ questions }: Session, backend: string, call: string): boolean {
  if (!questions) return false;
  for (const question of questions.values())
    if (question.backend === backend && (question.call === undefined || question.call === call)) return true;
  return false;
}
