import { z } from 'zod';
import {
  differenceOf,
  type Examination,
  failed,
  type Finding,
  isSecure,
  listIn,
  ok,
  textIn,
  tryToAsk,
  warning,
} from './finding.ts';
import { metadataUrlIn } from './check-endpoint.ts';
import { type Answer, NoAnswer, objectIn } from './probe.ts';

interface Looked {
  url: string;
  document?: Record<string, unknown>;
  problem?: string;
}

async function look(url: string): Promise<Looked> {
  const answer: Answer | NoAnswer = await tryToAsk(url, { headers: { accept: 'application/json' } });
  if (answer instanceof NoAnswer) return { url, problem: answer.message };
  if (answer.status !== 200) return { url, problem: `${url} answers ${answer.status}` };
  const document = objectIn(answer);
  if (!document) return { url, problem: `${url} answers with something else than a JSON object` };
  return { url, document };
}

/** Follows RFC 8414 §3.1 and RFC 9728 §3.1. */
function inserted(identifier: string, wellKnown: string): string {
  const { origin, pathname } = new URL(identifier);
  return `${origin}/.well-known/${wellKnown}${pathname === '/' ? '' : pathname.replace(/\/$/, '')}`;
}

/** Returns the URLs in the order in which clients look. */
function resourceDocuments({ url, challenge }: Examination): string[] {
  const named = metadataUrlIn(challenge);
  const all = [
    ...(named !== undefined && URL.canParse(named) ? [named] : []),
    inserted(url, 'oauth-protected-resource'),
    `${new URL(url).origin}/.well-known/oauth-protected-resource`,
  ];
  return [...new Set(all)];
}

/** Follows RFC 9728, at each URL where clients look. */
export async function checkResource(examined: Examination): Promise<Finding[]> {
  const documents = await Promise.all(resourceDocuments(examined).map(look));
  const found = documents.find(({ document }) => document)?.document;
  if (found) examined.resource = found;
  const remedy = 'let a proxy pass /.well-known/ to the server';
  const findings = documents.map(({ url, problem }) => {
    const check = `resource metadata ${new URL(url).pathname}`;
    if (problem === undefined) return ok(check, 'found');
    return found
      ? warning(check, `${problem}; clients that look only there do not find the login`, remedy)
      : failed(check, problem, remedy);
  });
  return found ? [...findings, checkIdentifier(examined.url, found), checkServerNamed(examined, found)] : findings;
}

/** Clients compare the identifier byte for byte with the URL that the user entered. */
function checkIdentifier(url: string, document: Record<string, unknown>): Finding {
  const check = 'resource is the URL';
  const resource = textIn(document, 'resource');
  if (resource === url) return ok(check, resource);
  if (resource === undefined) return failed(check, 'the metadata name no resource', 'write incomingAuth.resourceUrl');
  return failed(
    check,
    `the server calls itself ${resource}, you typed ${url}: ${differenceOf(resource, url)}`,
    `give clients ${resource}, or write what they type in incomingAuth.resourceUrl`,
  );
}

function checkServerNamed(examined: Examination, document: Record<string, unknown>): Finding {
  const check = 'authorization server';
  const [issuer] = listIn(document, 'authorization_servers') ?? [];
  if (issuer === undefined || !URL.canParse(issuer)) {
    return failed(check, 'the metadata name no authorization server', 'write incomingAuth.type oidc with an issuer');
  }
  examined.issuer = issuer;
  if (isSecure(issuer)) return ok(check, issuer);
  return failed(check, `${issuer} is http over the network, which clients refuse`, 'serve the issuer over https');
}

/** Returns the URLs in the order in which clients look. */
function serverDocuments(issuer: string): string[] {
  const own = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  return [...new Set([inserted(issuer, 'oauth-authorization-server'), inserted(issuer, 'openid-configuration'), own])];
}

/** Requests RFC 8414 and OpenID Connect Discovery in every form that clients use. */
export async function checkServer(examined: Examination): Promise<Finding[]> {
  const { issuer } = examined;
  if (issuer === undefined) return [];
  const documents = await Promise.all(serverDocuments(issuer).map(look));
  const found = documents.find(({ document }) => document)?.document;
  if (found) examined.server = found;
  const remedy = 'let a proxy pass /.well-known/ to the issuer';
  const forms = documents.map(({ url, problem }) => {
    const check = `server metadata ${new URL(url).pathname}`;
    if (problem === undefined) return ok(check, 'found');
    if (found) return warning(check, `${problem}; clients that ask only there stop`, remedy);
    return failed(check, problem, 'check the issuer, and that it is reachable from here');
  });
  const issuers = documents.flatMap(({ document }) => (document ? [textIn(document, 'issuer') ?? ''] : []));
  return found ? [...forms, checkIssuer(issuer, issuers), ...checkMembers(found)] : forms;
}

/** RFC 8414 §3.3: unless the issuer is identical, the metadata must not be used. */
function checkIssuer(named: string, issuers: string[]): Finding {
  const check = 'issuer';
  const other = issuers.find((issuer) => issuer !== named);
  if (other !== undefined) {
    return failed(
      check,
      `the endpoint names ${named}, the metadata say ${other === '' ? 'nothing' : other}: ${differenceOf(named, other)}`,
      'write the same text as issuer in incomingAuth and authServerConfig',
    );
  }
  if (!named.endsWith('/')) return ok(check, 'the same text everywhere');
  return warning(
    check,
    'it ends with a slash, which stops several clients',
    'write the issuer without it, if it is yours to choose',
  );
}

const NEEDED: [member: string, value: string, why: string, remedy: string][] = [
  ['response_types_supported', 'code', 'clients log in by a code', 'allow the authorization code flow'],
  [
    'code_challenge_methods_supported',
    'S256',
    'clients refuse servers that do not say so',
    'allow PKCE with S256, and say so',
  ],
];

function checkMembers(document: Record<string, unknown>): Finding[] {
  const endpoints = ['authorization_endpoint', 'token_endpoint'].map((member) => {
    const url = textIn(document, member);
    if (url === undefined || !URL.canParse(url))
      return failed(member, 'it is missing', 'clients cannot log in without it');
    if (isSecure(url)) return ok(member, url);
    return failed(member, `${url} is http over the network, which clients refuse`, 'serve it over https');
  });
  const lists = NEEDED.map(([member, value, why, remedy]) =>
    listIn(document, member)?.includes(value) === true
      ? ok(member, `has ${value}`)
      : failed(member, `it has no ${value}: ${why}`, remedy),
  );
  const methods = listIn(document, 'token_endpoint_auth_methods_supported');
  const open = methods?.includes('none') === true;
  const member = 'token_endpoint_auth_methods_supported';
  const publicClients = open
    ? ok(member, 'has none: clients need no secret')
    : warning(member, 'it has no none, and nearly all MCP clients are public', 'allow clients without a secret');
  return [...endpoints, ...lists, publicClients];
}

const Keys = z.array(z.looseObject({ kid: z.unknown().optional() }));

/** Clients do not need the key set, but the endpoint does; a broken set blocks every login. */
export async function checkKeys({ server }: Examination): Promise<Finding[]> {
  if (!server) return [];
  const check = 'keys';
  const url = textIn(server, 'jwks_uri');
  if (url === undefined) return [warning(check, 'the metadata name no jwks_uri', 'fine only where tokens are opaque')];
  const { document, problem } = await look(url);
  if (!document) return [failed(check, problem ?? '', 'the endpoint cannot verify tokens without it')];
  const keys = Keys.safeParse(document.keys).data ?? [];
  const kids = keys.map(({ kid }) => kid);
  if (keys.length === 0) return [failed(check, `${url} holds no key`, 'publish the keys that sign')];
  if (keys.some((key) => 'd' in key || 'k' in key)) {
    return [failed(check, `${url} publishes private keys`, 'replace these keys at once: anybody can make tokens')];
  }
  if (new Set(kids).size < kids.length || kids.includes(undefined)) {
    return [warning(check, 'some keys have no kid, or the same', 'give each key a kid of its own')];
  }
  return [ok(check, `${keys.length} at ${url}`)];
}
