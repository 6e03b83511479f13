import { type Examination, failed, type Finding, isSecure, ok, skipped, tryToAsk, warning } from './finding.ts';
import { type Answer, NoAnswer, objectIn, type Question } from './probe.ts';

const VERSION = '2025-11-25';

export function rpc(method: string, params: object, headers: Record<string, string> = {}): Question {
  return {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  };
}

export const initialize = (headers?: Record<string, string>): Question =>
  rpc(
    'initialize',
    { protocolVersion: VERSION, capabilities: {}, clientInfo: { name: 'vmcp-doctor', version: '1' } },
    headers,
  );

function judgeEndpoint({ url, status }: Answer): Finding {
  const check = 'endpoint answers';
  if (status === 401) return ok(check, 'it asks for a login (401)');
  if (status === 200) return ok(check, 'it answers without a login');
  if (status === 404 || status === 405) {
    return failed(check, `there is no MCP endpoint at ${url} (${status})`, 'check the path: it usually ends in /mcp');
  }
  if (status === 403) {
    return failed(
      check,
      'it refuses this host name (403)',
      'use the URL of incomingAuth.resourceUrl, or add the host to incomingAuth.allowedHosts',
    );
  }
  if (status >= 300 && status < 400) {
    return failed(check, `it redirects (${status})`, 'use the URL that it redirects to: clients do not follow');
  }
  return failed(check, `it answers initialize with ${status}`, 'see the log of the server');
}

export async function checkEndpoint(examined: Examination): Promise<Finding[]> {
  const { url } = examined;
  const answer = await tryToAsk(url, initialize());
  if (answer instanceof NoAnswer) return [failed('endpoint answers', answer.message, 'start it, or check the URL')];
  const first = judgeEndpoint(answer);
  if (answer.status === 401) examined.challenge = answer.headers['www-authenticate'] ?? '';
  return [first, ...checkChallenge(examined), ...(first.verdict === 'ok' ? checkTransport(url) : [])];
}

function checkTransport(url: string): Finding[] {
  const check = 'transport';
  if (new URL(url).protocol === 'https:') return [ok(check, 'https')];
  if (isSecure(url)) return [ok(check, 'http, on this machine')];
  return [
    failed(
      check,
      'http over the network: tokens can be read on the way, and most clients refuse it',
      'serve it over https (spec.tls, or a proxy in front)',
    ),
  ];
}

/** The challenge follows RFC 9728 §5.1. */
function checkChallenge({ challenge }: Examination): Finding[] {
  const check = 'challenge';
  if (challenge === undefined) return [];
  if (!/\bbearer\b/i.test(challenge)) {
    return [
      failed(
        check,
        'the 401 has no "WWW-Authenticate: Bearer", so clients do not look for a login',
        'a proxy may drop the header: let it pass',
      ),
    ];
  }
  const metadata = metadataUrlIn(challenge);
  if (metadata === undefined || !URL.canParse(metadata)) {
    return [
      failed(
        check,
        'the challenge names no resource_metadata URL (RFC 9728), so many clients do not find the login',
        'a proxy may change the header: let it pass',
      ),
    ];
  }
  return [ok(check, `it names ${metadata}`)];
}

export function metadataUrlIn(challenge: string | undefined): string | undefined {
  return /\bresource_metadata="([^"]+)"/i.exec(challenge ?? '')?.[1];
}

/** Probing clients send these requests before or outside a session. */
export async function checkProbes({ url, token }: Examination): Promise<Finding[]> {
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const discover = await tryToAsk(url, rpc('server/discover', {}, { ...headers, 'mcp-method': 'server/discover' }));
  const get = await tryToAsk(url, { headers: { accept: 'text/event-stream', ...headers } });
  return [
    judgeProbe(
      'server/discover',
      discover,
      'clients of the newer revision ask this first and fall back to initialize on a 4xx',
    ),
    judgeProbe('GET before initialize', get, 'some clients open a stream before they initialize'),
    ...(await checkRefusals(url, token, headers)),
  ];
}

function judgeProbe(check: string, answer: Answer | NoAnswer, reason: string): Finding {
  const remedy = `see the log of the server: ${reason}`;
  if (answer instanceof NoAnswer) return failed(check, answer.message, remedy);
  if (answer.status >= 500) return failed(check, `it answers ${answer.status}`, remedy);
  if (answer.status >= 300 && answer.status < 400) return failed(check, `it redirects (${answer.status})`, remedy);
  return ok(check, `it answers ${answer.status}, which clients understand`);
}

/** Application errors must be JSON-RPC errors at HTTP 200, because Python clients may hang on a 4xx to a POST. */
async function checkRefusals(
  url: string,
  token: string | undefined,
  headers: Record<string, string>,
): Promise<Finding[]> {
  const check = 'refusals';
  const opened = await tryToAsk(url, initialize(headers));
  if (opened instanceof NoAnswer) return [failed(check, opened.message, 'see the log of the server')];
  if (opened.status === 401) {
    return [
      token === undefined
        ? skipped(check, 'needs a login', 'give an access token with --token-file')
        : failed('token', 'the token is refused (401)', 'get a new one; it must be made for this very URL'),
    ];
  }
  const session = opened.headers['mcp-session-id'];
  const inSession = {
    ...headers,
    'mcp-protocol-version': VERSION,
    ...(session === undefined ? {} : { 'mcp-session-id': session }),
  };
  const refused = await tryToAsk(
    url,
    rpc('tools/call', { name: 'vmcp_doctor_no_such_tool', arguments: {} }, inSession),
  );
  await tryToAsk(url, { method: 'DELETE', headers: inSession });
  return [...(token === undefined ? [] : [ok('token', 'the token is accepted')]), judgeRefusal(check, refused)];
}

function judgeRefusal(check: string, answer: Answer | NoAnswer): Finding {
  const remedy = 'an unknown tool should be a JSON-RPC error at HTTP 200';
  if (answer instanceof NoAnswer) return failed(check, answer.message, remedy);
  const said = objectIn(answer);
  if (answer.status !== 200)
    return warning(
      check,
      `a call of an unknown tool is answered with ${answer.status}, on which Python clients may hang`,
      remedy,
    );
  if (said?.error === undefined && said?.result === undefined)
    return failed(check, 'a call of an unknown tool is not answered in JSON-RPC', remedy);
  return ok(check, 'a call of an unknown tool is an error at HTTP 200');
}

/** Prevents DNS rebinding: a page of another site must not reach a server on this machine or network. */
export async function checkHostAndOrigin({ url }: Examination): Promise<Finding[]> {
  const host = await tryToAsk(url, initialize({ host: 'rebinding.example' }));
  const origin = await tryToAsk(url, initialize({ origin: 'https://rebinding.example' }));
  return [
    judgeForeign(
      'foreign Host',
      host,
      'a web page whose name points to this address can call it',
      'let the server accept its own names only',
    ),
    judgeForeign(
      'foreign Origin',
      origin,
      'web pages of other sites can call it',
      'let the server refuse foreign origins (403)',
    ),
  ];
}

function judgeForeign(check: string, answer: Answer | NoAnswer, danger: string, remedy: string): Finding {
  if (answer instanceof NoAnswer) return ok(check, 'refused: the connection is closed');
  const { status } = answer;
  if (status >= 400 && status < 500 && status !== 401) return ok(check, `refused (${status})`);
  if (status >= 500) return failed(check, `it answers ${status}`, 'see the log of the server');
  return warning(check, `let in (${status}): ${danger}`, remedy);
}
