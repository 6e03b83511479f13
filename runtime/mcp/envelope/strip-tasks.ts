import type { Buffer } from 'node:buffer';
import type { Era } from '../era.ts';
import { CLIENT_CAPABILITIES, ROUTED, TASKS } from '../extensions.ts';
import { isJsonObject, type DecodedMessage, type JsonObject } from './decode-request.ts';
import { dropMember } from './drop-members.ts';
import { splice, type Edit } from './splice.ts';

/** Returns whether a message declares or requests tasks in a form that the gateway does not route for this era. */
export function mentionsTasks(message: DecodedMessage, era: Era): boolean {
  if (message.kind !== 'request' || !message.params) return false;
  const { task, capabilities, _meta: meta } = message.params;
  return (
    (task !== undefined && era === 'modern') ||
    declaresTasks(capabilities, era) ||
    (isJsonObject(meta) && declaresTasks(meta[CLIENT_CAPABILITIES], era))
  );
}

function declaresTasks(capabilities: unknown, era: Era): capabilities is JsonObject {
  if (!isJsonObject(capabilities)) return false;
  const { tasks, extensions } = capabilities;
  return tasks !== undefined || (!ROUTED[era].includes(TASKS) && isJsonObject(extensions) && TASKS in extensions);
}

/**
 * Returns the message without task declarations of the client that the gateway does not route. A client of 2026-07-28
 * cannot request a task by `params.task`. For other clients, the called backend decides, see `prepareNamed`.
 */
export function withoutTasks(
  { spans, meta, params }: DecodedMessage & { params?: JsonObject | undefined },
  body: Buffer,
  era: Era,
): Buffer {
  const edits: Edit[] = [];
  if (spans['params.task'] && era === 'modern') edits.push(dropMember(body, spans['params.task']));
  if (spans['params.capabilities'] && declaresTasks(params?.capabilities, era))
    edits.push({ ...spans['params.capabilities'], text: textWithoutTasks(params.capabilities, era) });
  const member = meta.find(({ key }) => key === CLIENT_CAPABILITIES);
  const inMeta = isJsonObject(params?._meta) ? params._meta[CLIENT_CAPABILITIES] : undefined;
  if (member && declaresTasks(inMeta, era)) {
    const text = `${JSON.stringify(CLIENT_CAPABILITIES)}:${textWithoutTasks(inMeta, era)}`;
    edits.push({ start: member.start, end: member.end, text });
  }
  return splice(body, edits);
}

function textWithoutTasks(capabilities: JsonObject, era: Era): string {
  return JSON.stringify(capabilities, function (this: unknown, key: string, value: unknown) {
    const isDeclaration =
      (this === capabilities && key === 'tasks') ||
      (this === capabilities.extensions && key === TASKS && !ROUTED[era].includes(TASKS));
    return isDeclaration ? undefined : value;
  });
}
