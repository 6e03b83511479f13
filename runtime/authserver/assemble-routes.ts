import { isBlank } from '#crds/parts/primitives';
import { isGeneratedId } from '#crds/parts/registered-client';
import { randomUUID } from 'node:crypto';
import { createCheckedProxyDispatcher } from '#lib/connections/checked-proxy';
import { isProxied } from '#lib/connections/proxy';
import type { AuthServer as AuthServerConfig } from '#crds/run-config/auth-server';
import type { RouteHandler } from '#runtime/http/listener';
import type { Identity } from '#runtime/incoming/identity';
import { openAssertionIssuers } from './assertions/assertion-issuers.ts';
import { browserCookie } from './browser/browser-cookie.ts';
import { createBrowsers } from './browser/browsers.ts';
import { createRepeatAnswer } from './browser/repeat-answer.ts';
import { createCallback } from './login/handle-callback.ts';
import type { ChainSettings } from './login/chain-settings.ts';
import { createNextStep } from './login/next-step.ts';
import { createLoginEndpoints } from './create-login-endpoints.ts';
import { newId } from './ids.ts';
import { createJwksHandler, createMetadataHandler } from './metadata.ts';
import { createErrorPages } from './pages/error-page.ts';
import { chainOf } from './chain.ts';
import { createClientDocuments, type ClientDocuments } from './register/client-documents.ts';
import { isDocumentUrl } from './register/document-url.ts';
import { createClients, type Clients } from './register/find-client.ts';
import { openRegisteredClients, type RegisteredClients } from './register/registered-clients.ts';
import { createRoutes } from './routes.ts';
import type { AuthServerOptions, LastingParts, Stored } from './server-parts.ts';
import { authServerUrls } from './urls.ts';
import { createIntrospectToken } from './token/introspect-token.ts';
import { createRevokeToken } from './token/revoke-token.ts';
import { createIssueTokens } from './token/issue-tokens.ts';
import { createRevalidate } from './token/revalidate.ts';
import type { TokenSettings } from './token/token-settings.ts';
import type { StoredUserTokens } from './upstream-tokens/create-user-tokens.ts';
import { readLink } from './upstream-tokens/read-link.ts';
import type { UpstreamProvider } from './upstream/provider.ts';

interface AssemblyParts extends AuthServerOptions, LastingParts, Stored {
  readonly config: AuthServerConfig;
  readonly userTokens: StoredUserTokens;
  readonly providers: () => ReadonlyMap<string, UpstreamProvider>;
  readonly changed: (sub: string) => void;
  /** Called when a client registers through a proxy that is missing in `trustedProxies`. */
  readonly unknownProxy: () => void;
}

export interface Assembly {
  readonly route: (path: string) => RouteHandler | undefined;
  /** Returns whether a token stays valid: those of a removed client and those of a blocked user do not. */
  readonly serves: (token: Pick<Identity, 'subject' | 'clientId'>) => boolean;
  warnings(): readonly string[];
  close(): void;
}

/** Builds the endpoints of one configuration. @throws ConfigError */
export function assembleRoutes(parts: AssemblyParts): Assembly {
  const { config, keys, storage, now, readSource, answered, log } = parts;
  const resources = resourcesOf(parts);
  const urls = authServerUrls(config);
  const documents = config.cimd.enabled ? openDocuments(parts) : undefined;
  const keySets = { ...parts, allowHttp: config.insecure_allow_http };
  const registered = openRegisteredClients(config, keySets);
  const issuers = openAssertionIssuers(config, keySets);
  const blocked = new Set(config.blocked_users);
  const isBlocked = (sub: string) => blocked.has(sub);
  const clients = createClients({ storage, documents, registered, now });
  const frame = { server: new URL(resources[0]).host };
  const cookie = browserCookie(config.issuer, urls.authorize);
  const chain = chainOf(config);
  const browsers = createBrowsers({ storage, cookie, primary: chain.primary.name, now });
  const { limits, token_lifespans: lifespans } = config;
  const codeLifespan = lifespans.auth_code_lifespan;
  const loginSteps: ChainSettings = { ...parts, urls, chain, browsers, limits, codeLifespan, isBlocked };
  const nextStep = createNextStep(loginSteps);
  const repeatAnswer = createRepeatAnswer({ ...parts, frame, limits });
  const assertions = { issuers, reads: parts.policyReads, log };
  const tokens = { ...tokenSettings(parts, clients, registered), assertions, isBlocked };
  const handlers = {
    token: createIssueTokens(tokens),
    revoke: createRevokeToken(tokens),
    introspect: createIntrospectToken(introspectionClients(parts), tokens),
    metadata: createMetadataHandler(config),
    jwks: createJwksHandler(keys),
    callback: createCallback({ ...loginSteps, nextStep, repeatAnswer }),
    ...createLoginEndpoints({ ...parts, urls, resources, frame, browsers, clients, nextStep, repeatAnswer }),
  };
  const browserUrl = config.authorization_endpoint_base_url ?? config.issuer;
  const basePaths = [config.issuer, browserUrl].map((url) => new URL(url).pathname.replace(/\/$/, ''));
  const renderErrorPage = createErrorPages(frame);
  return {
    route: createRoutes(handlers, { basePaths, readSource, renderErrorPage, answered, log }),
    serves: ({ clientId = '', subject }) =>
      !isBlocked(subject) &&
      (isGeneratedId(clientId) || registered.get(clientId) !== undefined || isDocumentUrl(clientId)),
    warnings: () => issuers.warnings(),
    close() {
      documents?.close();
      registered.close();
      issuers.close();
    },
  };
}

function openDocuments({ config, now, proxy }: AssemblyParts): ClientDocuments {
  return createClientDocuments({
    now,
    scopesSupported: config.scopes_supported,
    allowedRedirectHosts: config.registration.allowed_redirect_hosts,
    dispatcherFor: isProxied(proxy) ? (connect) => createCheckedProxyDispatcher(connect, proxy) : undefined,
  });
}

/** Returns the accepted resources, the endpoint's own URL first. Without `allowed_audiences`, it is the only one. */
function resourcesOf({ config, resourceUrl }: AssemblyParts): readonly [string, ...string[]] {
  const [first = resourceUrl, ...more] = config.allowed_audiences;
  return [first, ...more];
}

/** Reads each secret at the start, so that an unusable file fails the start. An empty secret disables its client only. */
function introspectionClients({ config, readFile, log }: AssemblyParts) {
  return config.introspection_clients.map(({ client_id: client, client_secret_file: file }) => {
    if (isBlank(readFile(file)))
      log.warn('an introspection client is refused until its secret is written', { client, file });
    return { clientId: client, readSecret: () => readFile(file) };
  });
}

function tokenSettings(
  parts: AssemblyParts,
  clients: Clients,
  registered: RegisteredClients,
): Omit<TokenSettings, 'assertions' | 'isBlocked'> {
  const { config, storage, secrets, keys, sessions, known, providers, userTokens, record, log, changed, now } = parts;
  const { access_token_lifespan: access, refresh_token_lifespan: refresh } = config.token_lifespans;
  const ended = (key: string, sub: string): void => {
    known.delete(key);
    sessions.forget(key);
    changed(sub);
  };
  const chain = chainOf(config);
  return {
    storage,
    secrets,
    keys,
    clients,
    registered,
    known,
    ended,
    record,
    now,
    newId,
    newJti: randomUUID,
    issuer: config.issuer,
    lifespans: { access, refresh },
    resources: resourcesOf(parts),
    scopesSupported: config.scopes_supported,
    requiredProviders: chain.providers.filter(({ required }) => required).map(({ name }) => name),
    revalidate: createRevalidate({
      storage,
      known,
      providers,
      ended,
      record,
      log,
      now,
      revalidateAfter: config.revalidate_after,
      primary: chain.primary.name,
      readLink: (sub, provider) => readLink(parts, sub, provider),
      renewed: (sub, provider, since) => userTokens.renewed(sub, provider, since),
    }),
  };
}
