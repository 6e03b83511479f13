import { isJsonObject, type JsonObject } from '../envelope/decode-request.ts';
import type { Era } from '../era.ts';

/** The parts of a request that determine how the gateway asks for a login. */
export interface LoginRequest {
  readonly era: Era;
  /** The negotiated revision. */
  readonly revision: string;
  /** JSON text of the client's declared capabilities. */
  readonly capabilities: string;
  readonly method: string;
  readonly idText: string;
  readonly params: JsonObject | undefined;
}

/** The link and identifiers of a login. */
export interface LoginPlace {
  readonly provider: string;
  readonly url: string;
  /** Identifies the elicitation for clients of revision 2025-11-25. */
  readonly elicitationId: string;
}

const INTERNAL_ERROR = -32603;
const URL_ELICITATION_REQUIRED = -32042;
/** The revision that introduced URL mode elicitation. */
const URL_MODE_SINCE = '2025-11-25';
/** Methods that the server may answer with a request for input (revision 2026-07-28, multi round-trip requests). */
const MAY_ASK = new Set(['tools/call', 'prompts/get', 'resources/read']);

/** Returns whether the client opens URLs for its user. */
export function opensUrls({ era, revision, capabilities, method }: LoginRequest): boolean {
  if (era === 'legacy' ? revision < URL_MODE_SINCE : !MAY_ASK.has(method)) return false;
  const declared = JSON.parse(capabilities) as JsonObject;
  return isJsonObject(declared.elicitation) && isJsonObject(declared.elicitation.url);
}

/**
 * Returns the response that asks the client to open the login link, as JSON text. `opensUrls` must be true for the
 * client.
 */
export function renderElicitation({ era, idText, params }: LoginRequest, place: LoginPlace): string {
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

/** Returns the key of the login request among the input requests of one answer. */
export function elicitationKey(provider: string): string {
  return PREFIX + provider;
}

export function isElicitationKey(key: string): boolean {
  return key.startsWith(PREFIX);
}

/**
 * Returns the response for a client that only shows text, as JSON text. The status is 200, because a 401 would make the
 * client refresh its own token.
 */
export function renderLoginText(request: LoginRequest, text: string, data: JsonObject): string {
  const { era, method, idText } = request;
  if (method !== 'tools/call') return respond(idText, 'error', { code: INTERNAL_ERROR, message: text, data });
  return respond(idText, 'result', toolResult(era, text, true));
}

/** Returns the result of a tool of the gateway itself. */
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

/** Texts for users and models. */
export const loginTexts = {
  needed: (provider: string, url: string) =>
    `This needs the user's login at ${provider}. Ask the user to open this link in a browser and to log in there, then try again: ${url} (works once, for 10 minutes)`,
  connect: (provider: string, url: string) =>
    `Ask the user to open this link in a browser and to log in at ${provider}; then ask for the list of tools again: ${url} (works once, for 10 minutes)`,
  connected: (provider: string) => `The user is logged in at ${provider}. Ask for the list of tools again.`,
  declined: (provider: string) =>
    `This needs the user's login at ${provider}, which the user declined. Try again to get a new link.`,
};
