import { isJsonObject, type JsonObject } from '../envelope/decode-request.ts';
import type { Era } from '../era.ts';

/** A request that needs a login of its caller's first, as far as the answer depends on it. */
export interface LoginRequest {
  readonly era: Era;
  /** The revision that was agreed. */
  readonly revision: string;
  /** JSON text of the client's declared capabilities. */
  readonly capabilities: string;
  readonly method: string;
  readonly idText: string;
  readonly params: JsonObject | undefined;
}

/** Where and how its caller logs in. */
export interface LoginPlace {
  readonly provider: string;
  readonly url: string;
  /** Names the elicitation to clients of revision 2025-11-25. */
  readonly elicitationId: string;
}

const INTERNAL_ERROR = -32603;
const URL_ELICITATION_REQUIRED = -32042;
/** The revision in which elicitation got its URL mode. */
const URL_MODE_SINCE = '2025-11-25';
/** Revision 2026-07-28, multi round-trip requests: these may be answered by a request for input. */
const MAY_ASK = new Set(['tools/call', 'prompts/get', 'resources/read']);

/** Whether the client opens URLs for its user. */
export function opensUrls({ era, revision, capabilities, method }: LoginRequest): boolean {
  if (era === 'session' ? revision < URL_MODE_SINCE : !MAY_ASK.has(method)) return false;
  const declared = JSON.parse(capabilities) as JsonObject;
  return isJsonObject(declared.elicitation) && isJsonObject(declared.elicitation.url);
}

/** JSON text of the response that has the client open the login; for clients of which `opensUrls` holds. */
export function renderElicitation({ era, idText, params }: LoginRequest, place: LoginPlace): string {
  const { provider, url, elicitationId } = place;
  const message = `This needs your login at ${provider}.`;
  if (era === 'session') {
    const elicitation = { mode: 'url', elicitationId, url, message };
    const error = { code: URL_ELICITATION_REQUIRED, message, data: { elicitations: [elicitation] } };
    return respond(idText, 'error', error);
  }
  const asked = { method: 'elicitation/create', params: { mode: 'url', message, url } };
  const state = typeof params?.requestState === 'string' ? { requestState: params.requestState } : {};
  return respond(idText, 'result', {
    resultType: 'input_required',
    inputRequests: { [elicitationKey(provider)]: asked },
    // What the backend gave the client before comes back to it with the next try.
    ...state,
  });
}

const PREFIX = 'vmcp_connect_';

/** Names the request for a login among the requests of one answer. */
export function elicitationKey(provider: string): string {
  return PREFIX + provider;
}

export function isElicitationKey(key: string): boolean {
  return key.startsWith(PREFIX);
}

/** JSON text of the response for a client that only shows text, at HTTP 200: a 401 would make it refresh its own token. */
export function renderLoginText(request: LoginRequest, text: string, data: JsonObject): string {
  const { era, method, idText } = request;
  if (method !== 'tools/call') return respond(idText, 'error', { code: INTERNAL_ERROR, message: text, data });
  return respond(idText, 'result', toolResult(era, text, true));
}

/** The result of a tool of the gateway's own. */
export function renderToolText({ era, idText }: LoginRequest, text: string): string {
  return respond(idText, 'result', toolResult(era, text, false));
}

function toolResult(era: Era, text: string, isError: boolean): JsonObject {
  const result = { content: [{ type: 'text', text }], isError };
  return era === 'stateless' ? { resultType: 'complete', ...result } : result;
}

function respond(idText: string, member: 'result' | 'error', value: JsonObject): string {
  return `{"jsonrpc":"2.0","id":${idText},"${member}":${JSON.stringify(value)}}`;
}

/** What people and models read. */
export const loginTexts = {
  needed: (provider: string, url: string) =>
    `This needs the user's login at ${provider}. Ask the user to open this link in a browser and to log in there, then try again: ${url} (works once, for 10 minutes)`,
  connect: (provider: string, url: string) =>
    `Ask the user to open this link in a browser and to log in at ${provider}; then ask for the list of tools again: ${url} (works once, for 10 minutes)`,
  connected: (provider: string) => `The user is logged in at ${provider}. Ask for the list of tools again.`,
  declined: (provider: string) =>
    `This needs the user's login at ${provider}, which the user declined. Try again to get a new link.`,
};
