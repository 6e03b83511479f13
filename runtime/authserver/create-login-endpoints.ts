import type { AuthServer as AuthServerConfig } from '#crds/run-config/auth-server';
import type { Audit } from '#runtime/audit/audit';
import { createAuthorize } from './authorize/authorize.ts';
import type { RequestRules } from './authorize/check-request.ts';
import type { Browsers } from './browser/browsers.ts';
import type { RepeatAnswer } from './browser/repeat-answer.ts';
import { createChangeConnections } from './connections/change-connections.ts';
import { createFollowLink, createShowLink } from './connections/follow-link.ts';
import type { ConnectionsSettings } from './connections/connections-settings.ts';
import { createSharedCallback } from './connections/shared-logins.ts';
import { createShowConnections } from './connections/show-connections.ts';
import { createDecideConsent } from './consent/decide-consent.ts';
import type { NextStep } from './login/next-step.ts';
import type { PageFrame } from './pages/page.ts';
import { chainOf } from './chain.ts';
import type { Clients } from './register/find-client.ts';
import { createRegisterClient } from './register/register-client.ts';
import type { Handlers } from './routes.ts';
import type { AuthServerUrls } from './urls.ts';
import type { AuthStorage } from './storage/storage.ts';

interface LoginEndpointSettings {
  readonly config: AuthServerConfig;
  readonly urls: AuthServerUrls;
  readonly resources: RequestRules['resources'];
  readonly frame: PageFrame;
  readonly storage: AuthStorage;
  readonly browsers: Browsers;
  readonly clients: Clients;
  readonly nextStep: NextStep;
  readonly repeatAnswer: RepeatAnswer;
  readonly record: Audit['record'];
  readonly sharedLogins: ConnectionsSettings['sharedLogins'];
  readonly changed: (sub: string) => void;
  readonly unknownProxy: () => void;
  readonly now: () => number;
}

export type LoginEndpoints = Pick<
  Handlers,
  'register' | 'authorize' | 'consent' | 'connections' | 'changeConnections' | 'sharedCallback' | 'link' | 'followLink'
>;

export function createLoginEndpoints({ config, ...settings }: LoginEndpointSettings): LoginEndpoints {
  const { limits, registration, scopes_supported: scopesSupported } = config;
  const shared = { ...settings, limits, scopesSupported, chain: chainOf(config) };
  return {
    register: registration.enabled
      ? createRegisterClient({ ...shared, allowedRedirectHosts: registration.allowed_redirect_hosts })
      : undefined,
    authorize: createAuthorize(shared),
    consent: createDecideConsent(shared),
    connections: createShowConnections(shared),
    changeConnections: createChangeConnections(shared),
    sharedCallback: createSharedCallback(shared),
    link: createShowLink(shared),
    followLink: createFollowLink(shared),
  };
}
