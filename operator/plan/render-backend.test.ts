import { describe, expect, it } from '@jest/globals';
import { MCPServerSpec } from '#crds/kinds/index';
import { ValidatingWebhook } from '#crds/run-config/backend';
import { FileList } from '#operator/plan/file-list';
import { renderWebhook } from '#operator/plan/render-backend';
import type { Snapshot } from '#operator/snapshot';
import { AUTHORITY } from './testdata/authority.ts';

const snapshot: Snapshot = {
  namespace: 'default',
  apiGroup: 'vmcp.dev',
  platform: { mode: 'local', directory: '/x', ports: {}, backendPorts: {}, uids: {}, loginDirectory: '/x/logins' },
  virtualMcpServers: {},
  mcpGroups: {},
  mcpServers: {},
  mcpExternalAuthConfigs: {},
  mcpOidcConfigs: {},
  secrets: { mtls: { crt: 'c'.repeat(16), key: 'k'.repeat(16) }, sign: { hmac: 'h'.repeat(16) } },
  configMaps: { ca: { 'ca.crt': AUTHORITY } },
  generated: {},
  documents: {},
  observed: {},
};

function rendered(webhook: object) {
  const spec = MCPServerSpec.parse({
    remoteUrl: 'https://weather.example/mcp',
    webhooks: { validating: [{ name: 'dlp', url: 'https://dlp.example/check', ...webhook }] },
  });
  const [first] = spec.webhooks?.validating ?? [];
  if (!first) throw new Error('no webhook');
  const files = new FileList(snapshot, { secret: '/s', config: '/c' });
  return ValidatingWebhook.parse(renderWebhook(first, 'MCPServer "weather"', files));
}

describe('renderWebhook', () => {
  it('fills in defaults', () => {
    expect(rendered({})).toEqual({
      name: 'dlp',
      url: 'https://dlp.example/check',
      timeout: 10_000,
      failure_policy: 'fail',
    });
  });

  it('names the files of its secrets and certificates', () => {
    const webhook = rendered({
      timeout: '5s',
      failurePolicy: 'ignore',
      hmacSecretRef: { name: 'sign', key: 'hmac' },
      tls: {
        caBundleRef: { name: 'ca' },
        clientCertSecretRef: { name: 'mtls', key: 'crt' },
        clientKeySecretRef: { name: 'mtls', key: 'key' },
      },
    });
    expect(webhook).toMatchObject({
      timeout: 5000,
      failure_policy: 'ignore',
      hmac_secret_file: `/s/sign.hmac-${'h'.repeat(16)}`,
      tls: {
        ca_bundle_file: expect.stringMatching(/^\/c\/ca\.ca\.crt-[0-9a-f]{16}$/),
        client_cert_file: `/s/mtls.crt-${'c'.repeat(16)}`,
        client_key_file: `/s/mtls.key-${'k'.repeat(16)}`,
        insecure_skip_verify: false,
      },
    });
  });

  it('skips the certificate check only on request', () => {
    const skips = (insecureSkipVerify: boolean) => rendered({ tls: { insecureSkipVerify } }).tls?.insecure_skip_verify;
    expect([skips(true), skips(false), rendered({ tls: {} }).tls?.insecure_skip_verify]).toEqual([true, false, false]);
  });

  it('reports the field of a missing secret', () => {
    expect(() => rendered({ hmacSecretRef: { name: 'gone', key: 'hmac' } })).toThrow(
      /MCPServer "weather" webhooks.validating "dlp".*Secret "gone"/,
    );
  });
});
