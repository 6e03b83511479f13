import type { Buffer } from 'node:buffer';
import { isJsonObject, type DecodedMessage, type JsonObject } from './decode-request.ts';
import { dropMember } from './drop-members.ts';
import { splice, type Edit } from './splice.ts';

const EXTENSION = 'io.modelcontextprotocol/tasks';
const CLIENT_CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';

/** Returns whether a message declares tasks or requests one. */
export function mentionsTasks(message: DecodedMessage): boolean {
  if (message.kind !== 'request' || !message.params) return false;
  const { task, capabilities, _meta: meta } = message.params;
  return (
    task !== undefined ||
    declaresTasks(capabilities) ||
    (isJsonObject(meta) && declaresTasks(meta[CLIENT_CAPABILITIES]))
  );
}

function declaresTasks(capabilities: unknown): capabilities is JsonObject {
  if (!isJsonObject(capabilities)) return false;
  const { tasks, extensions } = capabilities;
  return tasks !== undefined || (isJsonObject(extensions) && EXTENSION in extensions);
}

/**
 * Returns the message without task declarations of the client and without `params.task` of revision 2025-11-25. The
 * gateway does not route tasks, so clients could not fetch their results. A receiver that declares no tasks must ignore
 * `task` and answer the call itself.
 */
export function withoutTasks(
  { spans, meta, params }: DecodedMessage & { params?: JsonObject | undefined },
  body: Buffer,
): Buffer {
  const edits: Edit[] = [];
  if (spans['params.task']) edits.push(dropMember(body, spans['params.task']));
  if (spans['params.capabilities'] && declaresTasks(params?.capabilities))
    edits.push({ ...spans['params.capabilities'], text: textWithoutTasks(params.capabilities) });
  const member = meta.find(({ key }) => key === CLIENT_CAPABILITIES);
  const inMeta = isJsonObject(params?._meta) ? params._meta[CLIENT_CAPABILITIES] : undefined;
  if (member && declaresTasks(inMeta)) {
    const text = `${JSON.stringify(CLIENT_CAPABILITIES)}:${textWithoutTasks(inMeta)}`;
    edits.push({ start: member.start, end: member.end, text });
  }
  return splice(body, edits);
}

function textWithoutTasks(capabilities: JsonObject): string {
  return JSON.stringify(capabilities, function (this: unknown, key: string, value: unknown) {
    const isDeclaration =
      (this === capabilities && key === 'tasks') || (this === capabilities.extensions && key === EXTENSION);
    return isDeclaration ? undefined : value;
  });
}
