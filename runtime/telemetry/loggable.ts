import { isSecretName, REDACTED, redactText } from './redact.ts';

const MAX_DEPTH = 8;
const MAX_ITEMS = 100;
const MAX_TEXT = 4096;

/** Limits depth and size. Errors keep their private causes. Redacts members with a secret's name and recognisable tokens. */
export function loggable(value: unknown, depth = 0): unknown {
  switch (typeof value) {
    case 'string':
      return redactText(value.length > MAX_TEXT ? `${value.slice(0, MAX_TEXT)}…` : value);
    case 'bigint':
      return value.toString();
    case 'object':
      return value === null ? null : loggableObject(value, depth);
    case 'function':
    case 'symbol':
      return undefined;
    default:
      return value;
  }
}

function loggableObject(value: object, depth: number): unknown {
  if (depth > MAX_DEPTH) return '…';
  if (isError(value)) return members(partsOf(value), depth);
  if (value instanceof Uint8Array) return `${value.byteLength} bytes`;
  if (Array.isArray(value)) return value.slice(0, MAX_ITEMS).map((item) => loggable(item, depth + 1));
  if (value instanceof Map || value instanceof Set) return loggable([...value], depth);
  return members(value, depth);
}

function members(value: object, depth: number): Record<string, unknown> {
  const shown: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(value).slice(0, MAX_ITEMS)) {
    shown[name] = isSecretName(name) && member !== undefined ? REDACTED : loggable(member, depth + 1);
  }
  return shown;
}

/** Errors of other realms (a worker, a test's sandbox) are not instances of this realm's Error. */
function isError(value: object): value is Error {
  return value instanceof Error || ('stack' in value && 'message' in value && typeof value.message === 'string');
}

/** Expected errors need no stack: their message is sufficient. */
function partsOf(error: Error): Record<string, unknown> {
  const { name, message, cause } = error;
  const code = 'code' in error ? error.code : undefined;
  const foreseen = name === 'RequestError' || name === 'ConfigError' || cause !== undefined;
  return { name, message, code, cause, ...(foreseen ? {} : { stack: error.stack }) };
}
