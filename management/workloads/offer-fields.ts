import { Problem } from '../problem.ts';
import { type Fields, portField, recorded } from './field.ts';
import { readReference, referenceText } from './secret-reference.ts';
import { orNothing, present } from './spec.ts';

const referencesOf = (headers: Record<string, string>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(headers).map(([header, text]) => [
      header,
      readReference(text, `header_forward.add_headers_from_secret["${header}"]`),
    ]),
  );

export const OFFER_FIELDS: Fields<
  | 'host'
  | 'proxy_mode'
  | 'proxy_port'
  | 'tools'
  | 'tools_override'
  | 'headers'
  | 'header_forward'
  | 'trust_proxy_headers'
> = {
  host: {
    read: (_, { host }) => host,
    write: (value, _, { host }) => {
      if (value === undefined) return {};
      throw new Problem('bad_request', `body host: endpoints listen on ${host} here, not on ${value}; leave it out`);
    },
  },
  proxy_mode: {
    read: ({ proxyMode = 'streamable-http' }) => proxyMode,
    write: (proxyMode) => ({ spec: { proxyMode } }),
  },
  proxy_port: portField('proxyPort'),
  tools: {
    read: ({ toolsFilter }) => orNothing(toolsFilter),
    write: (value) => ({ spec: { toolsFilter: orNothing(value) } }),
  },
  tools_override: {
    read: ({ toolsOverride }) => orNothing(toolsOverride),
    write: (value) => ({ spec: { toolsOverride: orNothing(value) } }),
  },
  headers: recorded('headers'),
  header_forward: {
    read: ({ headerForward: { addPlaintextHeaders: plain, addHeadersFromSecret: secret = {} } = {} }) => {
      const references = Object.entries(secret).map(
        ([header, reference]) => [header, referenceText(reference)] as const,
      );
      return present({
        add_plaintext_headers: orNothing(plain),
        add_headers_from_secret: orNothing(Object.fromEntries(references)),
      });
    },
    write: ({ add_plaintext_headers: plain, add_headers_from_secret: secret = {} } = {}) => {
      const forward = present({
        addPlaintextHeaders: orNothing(plain),
        addHeadersFromSecret: orNothing(referencesOf(secret)),
      });
      return { spec: { headerForward: forward } };
    },
  },
  trust_proxy_headers: {
    read: ({ trustProxyHeaders = false }) => trustProxyHeaders,
    write: (value) => ({ spec: { trustProxyHeaders: value === true ? true : undefined } }),
  },
};
