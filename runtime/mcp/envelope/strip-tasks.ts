import type { Buffer } from 'node:buffer';
import { isJsonObject, type DecodedMessage, type JsonObject } from './decode-request.ts';
import type { Span } from './scan-envelope.ts';
import { splice, type Edit } from './splice.ts';

const EXTENSION = 'io.modelcontextprotocol/tasks';
const CLIENT_CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';
const [QUOTE, COMMA] = [0x22, 0x2c];

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
  if (spans['params.task']) edits.push(removal(body, spans['params.task']));
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

/** Returns the edit that removes an object member by its value, with its key and one comma. */
function removal(body: Buffer, value: Span): Edit {
  // Only white space and a colon separate key and value.
  const keyEnd = body.lastIndexOf(QUOTE, value.start - 1);
  let start = body.lastIndexOf(QUOTE, keyEnd - 1);
  let end = value.end;
  while (isSpace(body[end])) end++;
  if (body[end] === COMMA) return { start, end: end + 1, text: '' };
  while (isSpace(body[start - 1])) start--;
  return { start: body[start - 1] === COMMA ? start - 1 : start, end: value.end, text: '' };
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d;
}
