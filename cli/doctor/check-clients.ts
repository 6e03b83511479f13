import { createHash, randomBytes } from 'node:crypto';
import { type Examination, failed, type Finding, listIn, ok, skipped, textIn, tryToAsk, warning } from './finding.ts';
import { type Answer, NoAnswer, objectIn } from './probe.ts';
import { REGISTRATIONS, TRIED, TRIED_REDIRECT } from './registration-bodies.ts';

const random = (): string => randomBytes(32).toString('base64url');

/** Without dynamic registration, every client fails that has no pre-registered client id at this server. */
export async function checkRegistration(examined: Examination): Promise<Finding[]> {
  const { server, register } = examined;
  if (!server) return [];
  const endpoint = textIn(server, 'registration_endpoint');
  if (endpoint === undefined) return [withoutRegistration(server)];
  const named = ok('registration', endpoint);
  if (!register) {
    return [
      named,
      skipped(
        'registration of real clients',
        'not tried: a registration cannot be taken back',
        `--register tries it; ${Object.keys(REGISTRATIONS).length} entries named "vmcp doctor" stay until the server forgets them`,
      ),
    ];
  }
  const findings: Finding[] = [];
  for (const [client, body] of Object.entries(REGISTRATIONS)) {
    findings.push(await registerAs(client, body, endpoint, examined));
  }
  return [named, ...findings];
}

function withoutRegistration(server: Record<string, unknown>): Finding {
  if (server.client_id_metadata_document_supported === true) {
    return warning(
      'registration',
      'only client ID metadata documents: clients that have none cannot log in',
      'allow dynamic registration too',
    );
  }
  return failed(
    'registration',
    'clients cannot register themselves (RFC 7591), so none that is new can log in',
    'allow dynamic registration, or give each client an identifier by hand',
  );
}

async function registerAs(
  client: string,
  body: Readonly<Record<string, unknown>>,
  endpoint: string,
  examined: Examination,
): Promise<Finding> {
  const check = `registration as ${client}`;
  const headers = { 'content-type': 'application/json', accept: 'application/json' };
  const answer = await tryToAsk(endpoint, { method: 'POST', headers, body: JSON.stringify(body) });
  if (answer instanceof NoAnswer) return failed(check, answer.message, 'see the log of the authorization server');
  const given = objectIn(answer);
  const id = textIn(given, 'client_id');
  if (answer.status === 429) return warning(check, 'too many registrations (429)', 'try again in a minute');
  if (answer.status !== 201 || id === undefined) return refusedRegistration(check, answer, client);
  const kept = listIn(given, 'redirect_uris') ?? [];
  const lost = (listIn({ ...body }, 'redirect_uris') ?? []).filter((uri) => !kept.includes(uri));
  if (client === TRIED) examined.clientId = id;
  if (lost.length > 0)
    return failed(
      check,
      `not all redirect URIs were kept: ${lost.join(', ')}`,
      `${client} may use any of them: allow these`,
    );
  return ok(check, 'registered');
}

function refusedRegistration(check: string, answer: Answer, client: string): Finding {
  const code = textIn(objectIn(answer), 'error');
  const said = code === undefined ? String(answer.status) : `${answer.status} ${code}`;
  return failed(
    check,
    `refused (${said})`,
    `${client} cannot log in: allow its redirect URIs and grant types, or ignore what is not supported`,
  );
}

function authorizeUrl({ server, url, clientId }: Examination, change: Record<string, string> = {}): string | undefined {
  const endpoint = textIn(server, 'authorization_endpoint');
  if (endpoint === undefined || !URL.canParse(endpoint)) return undefined;
  const target = new URL(endpoint);
  const parameters = {
    response_type: 'code',
    client_id: clientId ?? `vmcp-doctor-${random()}`,
    redirect_uri: TRIED_REDIRECT,
    code_challenge: createHash('sha256').update(random()).digest('base64url'),
    code_challenge_method: 'S256',
    resource: url,
    state: random(),
    ...change,
  };
  for (const [name, value] of Object.entries(parameters)) target.searchParams.set(name, value);
  return target.href;
}

function redirectOf(answer: Answer): URL | undefined {
  const { location } = answer.headers;
  if (answer.status < 300 || answer.status >= 400 || location === undefined) return undefined;
  return URL.canParse(location, answer.url) ? new URL(location, answer.url) : undefined;
}

/** Returns undefined if the login continues. */
function errorOf(answer: Answer): string | undefined {
  const code = redirectOf(answer)?.searchParams.get('error');
  if (code !== null && code !== undefined) return code;
  return answer.status >= 400 ? String(answer.status) : undefined;
}

/** Clients make these requests before the user logs in. */
export async function checkAuthorize(examined: Examination): Promise<Finding[]> {
  const { server, clientId } = examined;
  if (!server) return [];
  const unknown = await checkUnknownClient(examined);
  if (clientId === undefined) {
    return [...unknown, skipped('authorization request', 'needs a registered client', '--register tries it')];
  }
  return [...unknown, await checkRepeated(examined), await checkScopes(examined), await checkIss(examined)];
}

/** One client fetches the login URL before the browser does. */
async function checkRepeated(examined: Examination): Promise<Finding> {
  const check = 'authorization request, twice';
  const url = authorizeUrl(examined) ?? '';
  for (const time of ['first', 'second']) {
    const answer = await tryToAsk(url);
    const error = answer instanceof NoAnswer ? answer.message : errorOf(answer);
    if (error !== undefined) {
      return failed(
        check,
        `the ${time} time it ends with ${error}`,
        'the same request must work again: some clients fetch it before the browser',
      );
    }
  }
  return ok(check, 'it can be repeated');
}

async function checkScopes(examined: Examination): Promise<Finding> {
  const check = 'unknown scope';
  const scopes = { scope: 'offline_access vmcp-doctor-unknown', prompt: 'consent' };
  const answer = await tryToAsk(authorizeUrl(examined, scopes) ?? '');
  const error = answer instanceof NoAnswer ? answer.message : errorOf(answer);
  if (error === undefined) return ok(check, 'it is not fatal');
  return failed(check, `the request ends with ${error}`, 'drop scopes that are not known: some clients add their own');
}

/** RFC 9207: a server that advertises `iss` must always send it. */
async function checkIss(examined: Examination): Promise<Finding> {
  const check = 'iss in answers';
  if (examined.server?.authorization_response_iss_parameter_supported !== true) {
    return warning(
      check,
      'not advertised, so clients cannot notice a mix-up of servers',
      'send iss and say so (RFC 9207)',
    );
  }
  const answer = await tryToAsk(authorizeUrl(examined, { response_type: 'token' }) ?? '');
  const iss = answer instanceof NoAnswer ? undefined : redirectOf(answer)?.searchParams.get('iss');
  if (iss === examined.issuer) return ok(check, 'sent, also with errors');
  return failed(
    check,
    iss === null || iss === undefined ? 'advertised, but an error comes without it' : `it says ${iss}`,
    'clients refuse answers without the right iss: send it always',
  );
}

/** The server must not redirect for an unknown client, and its error page must tell the user how to proceed. */
async function checkUnknownClient(examined: Examination): Promise<Finding[]> {
  const check = 'unknown client at authorize';
  const url = authorizeUrl(examined, { client_id: `vmcp-doctor-${random()}` });
  if (url === undefined) return [];
  const answer = await tryToAsk(url);
  if (answer instanceof NoAnswer) return [failed(check, answer.message, 'see the log of the authorization server')];
  if (redirectOf(answer)?.href.startsWith(TRIED_REDIRECT) === true) {
    return [failed(check, 'it redirects to an address that is not registered', 'show a page instead')];
  }
  if (answer.status < 400) return [warning(check, `it goes on (${answer.status})`, 'show an error page')];
  if (answer.headers['content-type']?.startsWith('text/html') === true)
    return [ok(check, `a page says so (${answer.status})`)];
  return [
    warning(check, `it answers ${answer.status} without a page`, 'show people what to do: start again from the client'),
  ];
}

/** Clients register again only after this exact error. The test token has the format of vmcp's, with an unknown secret. */
export async function checkForgottenClient({ server }: Examination): Promise<Finding[]> {
  const check = 'forgotten client';
  const endpoint = textIn(server, 'token_endpoint');
  if (endpoint === undefined || !URL.canParse(endpoint)) return [];
  const token = [random().slice(0, 8), random(), '0', random()].join('.');
  const form = { grant_type: 'refresh_token', refresh_token: token, client_id: `vmcp-doctor-${random()}` };
  const headers = { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' };
  const answer = await tryToAsk(endpoint, { method: 'POST', headers, body: new URLSearchParams(form).toString() });
  if (answer instanceof NoAnswer) return [failed(check, answer.message, 'see the log of the authorization server')];
  return [judgeForgotten(check, answer)];
}

function judgeForgotten(check: string, answer: Answer): Finding {
  const code = textIn(objectIn(answer), 'error');
  if (answer.status === 401 && code === 'invalid_client') {
    return ok(check, 'told by 401 invalid_client, so that it registers again');
  }
  if (answer.status === 503) {
    return skipped(
      check,
      'it cannot tell now (503)',
      'try again two minutes after its start: till then a replica may know more',
    );
  }
  return failed(
    check,
    `it is answered with ${answer.status}${code === undefined ? '' : ` ${code}`}`,
    'answer 401 invalid_client: after anything else clients never recover by themselves',
  );
}
