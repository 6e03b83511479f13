import { isJsonObject, type JsonObject } from '../envelope/decode-request.ts';
import type { Era } from '../era.ts';
import { takesInput } from '../input-methods.ts';

export interface LoginRequest {
  readonly era: Era;
  readonly revision: string;
  /** JSON text of the client's capabilities. */
  readonly capabilities: string;
  readonly method: string;
  readonly idText: string;
  readonly params: JsonObject | undefined;
}

export interface RequiredLogin {
  readonly provider: string;
  readonly url: string;
  /** Only clients of revision 2025-11-25 receive it. */
  readonly elicitationId: string;
}

const INTERNAL_ERROR = -32603;
const URL_ELICITATION_REQUIRED = -32042;
const URL_MODE_SINCE = '2025-11-25';

export function opensUrls({ era, revision, capabilities, method }: LoginRequest): boolean {
  if (era === 'legacy' ? revision < URL_MODE_SINCE : !takesInput(method)) return false;
  const declared = JSON.parse(capabilities) as JsonObject;
  return isJsonObject(declared.elicitation) && isJsonObject(declared.elicitation.url);
}

/** Returns JSON text. `opensUrls` must be true for the client. */
export function renderElicitation({ era, idText, params }: LoginRequest, place: RequiredLogin): string {
  const { provider, url, elicitationId } = place;
  const message = `This needs your login at ${provider}.`;
  if (era === 'legacy') {
    const elicitation = { mode: 'url', elicitationId, url, message };
    const error = { code: URL_ELICITATION_REQUIRED, message, data: { elicitations: [elicitation] } };
    return respond(idText, 'error', error);
  }
  const asked = { method: 'elicitation/create', params: { mode: 'url', message, url } };
  const state = typeof params?.requestState === 'string' ? { requestState: params.requestState } : {};
  return respond(idText, 'result', {
    resultType: 'input_required',
    inputRequests: { [elicitationKey(provider)]: asked },
    // The client repeats the state of the backend in its next attempt.
    ...state,
  });
}

const PREFIX = 'vmcp_connect_';

export function elicitationKey(provider: string): string {
  return PREFIX + provider;
}

export function isElicitationKey(key: string): boolean {
  return key.startsWith(PREFIX);
}

/** Returns JSON text for a client that only shows text. Status 200: a 401 would make it refresh its own token. */
export function renderLoginText(request: LoginRequest, text: string, data: JsonObject): string {
  const { era, method, idText } = request;
  if (method !== 'tools/call') return respond(idText, 'error', { code: INTERNAL_ERROR, message: text, data });
  return respond(idText, 'result', toolResult(era, text, true));
}

export function renderToolText({ era, idText }: LoginRequest, text: string): string {
  return respond(idText, 'result', toolResult(era, text, false));
}

function toolResult(era: Era, text: string, isError: boolean): JsonObject {
  const result = { content: [{ type: 'text', text }], isError };
  return era === 'modern' ? { resultType: 'complete', ...result } : result;
}

function respond(idText: string, member: 'result' | 'error', value: JsonObject): string {
  return `{"jsonrpc":"2.0","id":${idText},"${member}":${JSON.stringify(value)}}`;
}

export const loginTexts = {
  needed: (provider: string, url: string) =>
    `This needs the user's login at ${provider}. Ask the user to open this link in a browser and to log in there, then try again: ${url} (works once, for 10 minutes)`,
  connect: (provider: string, url: string) =>
    `Ask the user to open this link in a browser and to log in at ${provider}; then ask for the list of tools again: ${url} (works once, for 10 minutes)`,
  connected: (provider: string) => `The user is logged in at ${provider}. Ask for the list of tools again.`,
  declined: (provider: string) =>
    `This needs the user's login at ${provider}, which the user declined. Try again to get a new link.`,
};
