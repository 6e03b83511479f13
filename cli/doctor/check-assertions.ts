import { randomBytes } from 'node:crypto';
import { type Examination, failed, type Finding, listIn, ok, textIn, tryToAsk, warning } from './finding.ts';
import { NoAnswer, objectIn } from './probe.ts';

const PROFILE = 'urn:ietf:params:oauth:grant-profile:id-jag';
const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const CHECK = 'identity assertions';

/** Checks enterprise-managed authorization, if the server advertises it. No request can redeem anything. */
export async function checkAssertions({ server }: Examination): Promise<Finding[]> {
  if (listIn(server, 'authorization_grant_profiles_supported')?.includes(PROFILE) !== true) return [];
  if (listIn(server, 'grant_types_supported')?.includes(GRANT) !== true) {
    const remedy = `list ${GRANT} in grant_types_supported`;
    return [failed(CHECK, 'the metadata have the profile without its grant, so clients do not use it', remedy)];
  }
  return [await checkRefusal(textIn(server, 'token_endpoint') ?? ''), checkMethods(server)];
}

/** The MCP SDK drops the secret of a client silently unless a method for it is listed. */
function checkMethods(server: Examination['server']): Finding {
  const check = 'clients of identity assertions';
  const methods = listIn(server, 'token_endpoint_auth_methods_supported') ?? [];
  const own = methods.filter((method) => method !== 'none');
  if (own.length > 0) return ok(check, methods.join(', '));
  const remedy =
    'write clientSecretRef or jwksUrl for them in authServerConfig.identityAssertions, if they can keep a key';
  return warning(check, 'all clients are public: whoever gets an assertion can redeem it', remedy);
}

async function checkRefusal(endpoint: string): Promise<Finding> {
  const form = { grant_type: GRANT, assertion: 'vmcp-doctor', client_id: randomBytes(32).toString('base64url') };
  const headers = { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' };
  const answer = await tryToAsk(endpoint, { method: 'POST', headers, body: new URLSearchParams(form).toString() });
  if (answer instanceof NoAnswer) return failed(CHECK, answer.message, 'see the log of the authorization server');
  const error = textIn(objectIn(answer), 'error') ?? String(answer.status);
  if (['invalid_grant', 'invalid_client', 'unauthorized_client'].includes(error))
    return ok(CHECK, `the grant answers: an unknown client gets ${error}`);
  return failed(
    CHECK,
    `an unknown client gets ${error}`,
    'the token endpoint must know the grant that the metadata list',
  );
}
