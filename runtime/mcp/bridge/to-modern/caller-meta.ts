import type { CallerSession } from '#runtime/mcp/backends/backend';
import { isJsonObject, type JsonObject } from '#runtime/mcp/envelope/decode-request';
import { MODERN_REVISION } from '../../era.ts';
import { TASKS } from '../../extensions.ts';
import { isLogged } from '../../log-levels.ts';
import { omit } from '../omit.ts';

const CLIENT_INFO = 'io.modelcontextprotocol/clientInfo';

/** Legacy servers send all messages until the client sets a level. */
const UNSET = 'debug';

const NOT_BRIDGED: ReadonlySet<string> = new Set(['tasks']);

interface Declared {
  readonly capabilities: JsonObject;
  /** JSON text of the members of `_meta`, without braces. */
  readonly members: string;
  /** The same with the extension for tasks. */
  readonly taskMembers: string;
}

const declared = new WeakMap<CallerSession['profile'], Declared>();

/** The declarations of a client that has no session: the gateway's own. */
const NONE = declarationOf({}, { name: 'vmcp', version: '' });

function declaredBy(session: CallerSession | undefined): Declared {
  if (!session) return NONE;
  const { profile } = session;
  const known = declared.get(profile);
  if (known) return known;
  const params: unknown = JSON.parse(profile.paramsText);
  const { capabilities, clientInfo } = isJsonObject(params) ? params : {};
  const rest = omit(isJsonObject(capabilities) ? capabilities : {}, NOT_BRIDGED);
  const read = declarationOf(rest, clientInfo);
  declared.set(profile, read);
  return read;
}

function declarationOf(capabilities: JsonObject, clientInfo: unknown): Declared {
  const { extensions } = capabilities;
  const withTasks = { ...capabilities, extensions: { ...(isJsonObject(extensions) ? extensions : {}), [TASKS]: {} } };
  const members = membersOf(capabilities, clientInfo);
  return { capabilities, members, taskMembers: membersOf(withTasks, clientInfo) };
}

function membersOf(capabilities: JsonObject, clientInfo: unknown): string {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': MODERN_REVISION,
    ...(isJsonObject(clientInfo) ? { [CLIENT_INFO]: clientInfo } : {}),
    'io.modelcontextprotocol/clientCapabilities': capabilities,
  };
  return JSON.stringify(meta).slice(1, -1);
}

/** Whether the client declared the capability in `initialize`. */
export function hasCapability(session: CallerSession | undefined, capability: string): boolean {
  return declaredBy(session).capabilities[capability] !== undefined;
}

/**
 * JSON text of the members that revision 2026-07-28 requires in `_meta`, without braces. `logs`: the backend sends log
 * messages. `takesTask`: the call may return a task.
 */
export function callerMembers(session: CallerSession | undefined, logs: boolean, takesTask = false): string {
  const declaration = declaredBy(session);
  const members = takesTask ? declaration.taskMembers : declaration.members;
  if (!logs || !session) return members;
  return `${members},"io.modelcontextprotocol/logLevel":"${session.logLevel ?? UNSET}"`;
}

/** Whether a log message of this level is for the client. */
export function wantsLevel(session: CallerSession | undefined, level: unknown): boolean {
  return isLogged(level, session?.logLevel ?? UNSET);
}

/** JSON text of the members for requests about tasks, as `callerMembers`. */
export function taskMembers(session: CallerSession | undefined): string {
  return declaredBy(session).taskMembers;
}
