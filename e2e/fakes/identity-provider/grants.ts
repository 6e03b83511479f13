import { jwtVerify, type JWTPayload } from 'jose';
import type Provider from 'oidc-provider';
import {
  errors,
  type Client,
  type KoaContextWithOIDC,
  type ResourceServer,
  type ResourceServerInstance,
} from 'oidc-provider';
import { ID_JAG, issueIdJag } from './id-jag.ts';
import type { SigningKeys } from './signing-keys.ts';
import { USERS } from './users.ts';

/** RFC 8693 §2.1. */
export const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
export const PASSWORD = 'password';
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token';
const SUBJECT_TOKEN_TYPES = [ACCESS_TOKEN, 'urn:ietf:params:oauth:token-type:jwt'];

interface ExchangeParameters {
  subject_token?: string;
  subject_token_type?: string;
  requested_token_type?: string;
  audience?: string;
}

interface PasswordParameters {
  username?: string;
  password?: string;
}

/** Describes the API as the resource of a token: its tokens are JWTs. */
export function describeResource(identifier: string, accessTokenTTL: number): ResourceServer {
  return {
    audience: identifier,
    scope: 'openid profile email offline_access mcp read write mcp:tools mcp:read',
    accessTokenFormat: 'jwt',
    accessTokenTTL,
    jwt: { sign: { alg: 'RS256' } },
  };
}

function resourceNamed(identifier: string, lifetime: number): ResourceServerInstance {
  const server = describeResource(identifier, lifetime);
  return { ...server, scopes: new Set(server.scope.split(' ')), identifier: () => identifier };
}

interface Issue {
  provider: Provider;
  client: Client;
  accountId: string;
  audience: string;
  scope: string;
  gty: string;
  lifetime: number;
}

export async function issueAccessToken(context: KoaContextWithOIDC, issue: Issue): Promise<Record<string, unknown>> {
  const { provider, client, accountId, scope, gty } = issue;
  const grant = new provider.Grant({ accountId, clientId: client.clientId });
  const token = new provider.AccessToken({ accountId, client, gty, scope, grantId: await grant.save() });
  token.resourceServer = resourceNamed(issue.audience, issue.lifetime);
  context.oidc.entity('AccessToken', token);
  const value = await token.save();
  return { access_token: value, token_type: 'Bearer', expires_in: issue.lifetime, scope };
}

const first = (value: string | string[] | undefined) => (Array.isArray(value) ? value[0] : value);

/**
 * RFC 6749 §4.3, for terminals and tests on this machine only: any client with a demonstration password gets a token.
 */
export function registerPasswordGrant(provider: Provider, lifetime: number): void {
  provider.registerGrantType<PasswordParameters>(
    PASSWORD,
    async (context) => {
      const { params, client } = context.oidc;
      const user = USERS[params.username ?? ''];
      if (user?.password !== params.password || params.username === undefined) {
        throw new errors.InvalidGrant('unknown user or wrong password');
      }
      const audience = first(params.resource);
      if (audience === undefined) throw new errors.InvalidTarget('name the resource that the token is for');
      const scope = params.scope ?? 'openid mcp';
      const issue = { provider, client, accountId: params.username, audience, scope, gty: PASSWORD, lifetime };
      context.body = await issueAccessToken(context, issue);
    },
    ['username', 'password', 'resource', 'scope'],
  );
}

async function readSubject(params: ExchangeParameters, keys: SigningKeys, issuer: string): Promise<JWTPayload> {
  if (params.subject_token === undefined) throw new errors.InvalidRequest('subject_token is missing');
  if (!SUBJECT_TOKEN_TYPES.includes(params.subject_token_type ?? '')) {
    throw new errors.InvalidRequest('subject_token_type is not supported');
  }
  try {
    return (await jwtVerify(params.subject_token, keys.verifier(), { issuer })).payload;
  } catch {
    // RFC 8693 §2.2.2: an invalid subject token is an invalid request.
    throw new errors.InvalidRequest('subject_token is not valid');
  }
}

/** RFC 8693: exchanges an access token of this issuer for one with another audience, or an ID token for an ID-JAG, for the same user. */
export function registerTokenExchange(
  provider: Provider,
  { keys, lifetime, audiences }: { keys: SigningKeys; lifetime: number; audiences: string[] | undefined },
): void {
  provider.registerGrantType<ExchangeParameters>(
    TOKEN_EXCHANGE,
    async (context) => {
      const { params, client } = context.oidc;
      if (params.requested_token_type === ID_JAG)
        return issueIdJag(context, { params, client: client.clientId, keys, issuer: provider.issuer });
      const subject = await readSubject(params, keys, provider.issuer);
      const audience = params.audience ?? first(params.resource) ?? provider.issuer;
      if (audiences && !audiences.includes(audience)) throw new errors.InvalidTarget('unknown audience');
      const scope = params.scope ?? (typeof subject.scope === 'string' ? subject.scope : '');
      const accountId = subject.sub ?? '';
      const issue = { provider, client, accountId, audience, scope, gty: TOKEN_EXCHANGE, lifetime };
      context.body = { ...(await issueAccessToken(context, issue)), issued_token_type: ACCESS_TOKEN };
    },
    [
      'subject_token',
      'subject_token_type',
      'actor_token',
      'actor_token_type',
      'requested_token_type',
      'audience',
      'resource',
      'scope',
    ],
    ['audience', 'resource'],
  );
}
