import type { Session, ClientQuestion } from './session.ts';

/** Per session. A newer request replaces the oldest. */
const MAX_QUESTIONS = 100;

export function noteQuestion(session: Session, id: string, question: ClientQuestion): void {
  const questions = (session.questions ??= new Map());
  const [oldest] = questions.keys();
  if (oldest !== undefined && questions.size >= MAX_QUESTIONS) questions.delete(oldest);
  questions.set(id, question);
}

export function endQuestion(session: Session, id: string): void {
  session.questions?.delete(id);
  if (session.questions?.size === 0) session.questions = undefined;
}

export function endQuestionsOf(session: Session, backend: string, call: string): void {
  for (const [id, question] of session.questions ?? [])
    if (question.backend === backend && question.call === call) endQuestion(session, id);
}

export function endQuestionsAt(session: Session, backend: string): void {
  for (const [id, question] of session.questions ?? []) if (question.backend === backend) endQuestion(session, id);
}

/** A call that began before a reload goes on at its former backend, and so do its questions. */
export function endQuestionsOutsideCalls(session: Session, backend: string): void {
  for (const [id, question] of session.questions ?? [])
    if (question.backend === backend && question.call === undefined) endQuestion(session, id);
}

/** The deadline does not run while the call waits for its client. */
export function awaitsClient({ questions }: Session, backend: string, call: string): boolean {
  if (!questions) return false;
  for (const question of questions.values())
    if (question.backend === backend && (question.call === undefined || question.call === call)) return true;
  return false;
}
