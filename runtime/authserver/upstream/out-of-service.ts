import { UpstreamUnavailable, type UpstreamProvider } from './provider.ts';

/** Returns a provider whose settings cannot be used: every login and refresh fails. */
export function createOutOfService(name: string): UpstreamProvider {
  const fail = () =>
    Promise.reject(new UpstreamUnavailable(`${name}: it is out of service, see the warnings of the status`));
  return {
    name,
    authorizationUrl: fail,
    finish: fail,
    refresh: fail,
    identify: fail,
    close: () => Promise.resolve(),
  };
}
