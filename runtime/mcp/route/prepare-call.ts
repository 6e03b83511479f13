import type { ClientRequest } from '../client-request.ts';
import type { Asker } from '../aggregate/asker.ts';
import type { Catalogue } from '../aggregate/catalogue.ts';
import type { Backend } from '../backends/backend.ts';
import { splice, type Edit } from '../envelope/splice.ts';
import { checkArguments } from './check-arguments.ts';
import { completionTarget } from './completion-target.ts';
import { authorizeCall, type Target } from './resolve-target.ts';

/** A client's request as it goes out to one backend. */
export interface PreparedCall {
  readonly backend: Backend;
  /** What it is called there; undefined where no name stands in the request. */
  readonly originalName: string | undefined;
  /** The client's bytes, or those with the name replaced. */
  readonly body: Buffer;
  readonly idempotent: boolean;
}

const NONE: readonly Edit[] = [];

/** Decides a call of a tool or prompt, and puts its own name in; `more`: what else is changed of it. @throws RequestError */
export function prepareNamed(
  kind: 'tools' | 'prompts',
  target: Target,
  asker: Asker,
  { message, body, rooms, trail }: ClientRequest,
  more: readonly Edit[] = NONE,
): PreparedCall {
  const edits = checkArguments(message, body, target, rooms);
  if (more.length > 0) edits.push(...more);
  authorizeCall(kind, target, message.params?.arguments, asker, rooms, trail);
  const { entry, backend } = target;
  const span = message.spans['params.name'];
  if (entry.name !== entry.originalName && span) edits.push({ ...span, text: JSON.stringify(entry.originalName) });
  return {
    backend,
    originalName: entry.originalName,
    body: splice(body, edits),
    idempotent:
      kind === 'prompts' || entry.annotations?.readOnlyHint === true || entry.annotations?.idempotentHint === true,
  };
}

/** Finds whose completion is asked for, and puts its own name in. @throws RequestError */
export async function prepareCompletion(
  catalogue: Catalogue,
  asker: Asker,
  { message, body, rooms, trail }: ClientRequest,
): Promise<PreparedCall> {
  const { entry, backend } = await completionTarget(message, catalogue, asker, rooms);
  trail.target = entry.name;
  trail.backend = backend.name;
  const span = message.spans['params.ref.name'];
  const renamed = entry.name !== entry.originalName && span;
  return {
    backend,
    originalName: undefined,
    body: renamed ? splice(body, [{ ...span, text: JSON.stringify(entry.originalName) }]) : body,
    idempotent: true,
  };
}
