import type { Session, ClientQuestion } from './session.ts';

/** Unanswered requests of one session. The oldest is dropped for a newer one. */
const MAX_QUESTIONS = 100;

/** Remembers that the client is asked. `id`: as the client knows it. */
export function noteQuestion(session: Session, id: string, question: ClientQuestion): void {
  const questions = (session.questions ??= new Map());
  const [oldest] = questions.keys();
  if (oldest !== undefined && questions.size >= MAX_QUESTIONS) questions.delete(oldest);
  questions.set(id, question);
}

/** The client has answered, or the backend has cancelled its request. */
export function endQuestion(session: Session, id: string): void {
  session.questions?.delete(id);
  if (session.questions?.size === 0) session.questions = undefined;
}

/** Ends the questions of a call that is over. */
export function endQuestionsOf(session: Session, backend: string, call: string): void {
  for (const [id, question] of session.questions ?? [])
    if (question.backend === backend && question.call === call) endQuestion(session, id);
}

/** Ends all questions of a backend that has forgotten the session. */
export function endQuestionsAt(session: Session, backend: string): void {
  for (const [id, question] of session.questions ?? []) if (question.backend === backend) endQuestion(session, id);
}

/** Returns whether a call waits for its client: meanwhile its deadline does not run. */
export function awaitsClient({ questions }: Session, backend: string, call: string): boolean {
  if (!questions) return false;
  for (const question of questions.values())
    if (question.backend === backend && (question.call === undefined || question.call === call)) return true;
  return false;
}
