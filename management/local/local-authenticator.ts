import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { DnsLabel } from '#crds/parts/primitives';
import { checkOrigin } from '../check-origin.ts';
import { Problem } from '../problem.ts';
import type { Authenticator, Principal } from '../serving.ts';

const HOSTS = ['127.0.0.1', 'localhost', '[::1]'];

/** The holder of this machine's token may do everything. */
const OWNER: Principal = {
  name: 'local',
  in: () => ({ name: 'local', check: () => Promise.resolve() }),
};

/** Rejects web pages of this machine's browser before it checks the token. `port` is known once the server listens. */
export function localAuthenticator(token: string, port: () => number): Authenticator {
  const expected = Buffer.from(`Bearer ${token}`);
  return {
    admit({ headers }) {
      const hosts = HOSTS.map((host) => `${host}:${port()}`);
      if (headers.host === undefined || !hosts.includes(headers.host.toLowerCase()))
        throw new Problem('foreign_host', `Host: call this server as ${hosts.join(' or ')}`);
      checkOrigin(
        headers,
        hosts.map((host) => `http://${host}`),
      );
    },
    authenticate({ headers: { authorization = '' } }: IncomingMessage) {
      const given = Buffer.from(authorization);
      if (given.length === expected.length && timingSafeEqual(given, expected)) return Promise.resolve(OWNER);
      return Promise.reject(
        new Problem('unauthenticated', 'send the token of the file management-token as Authorization: Bearer', {
          headers: { 'WWW-Authenticate': 'Bearer realm="vmcp-management"' },
        }),
      );
    },
    namespaceOf(asked = 'default') {
      const { data } = DnsLabel.safeParse(asked);
      if (data === undefined) throw new Problem('bad_request', 'namespace: write the name of one namespace');
      return data;
    },
  };
}
