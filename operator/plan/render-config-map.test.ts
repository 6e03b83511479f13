import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { RUN_CONFIG_VERSION, type RunConfigDocument } from '#crds/run-config/run-config';
import type { Rendered } from '#operator/plan/outcome';
import { checkDocumentSize } from '#operator/plan/document-size';
import { renderConfigMap } from '#operator/plan/render-config-map';
import type { Manifest, Snapshot } from '#operator/snapshot';
import { writeText } from '../yaml-text.ts';

const manifest: Manifest = {
  apiVersion: 'vmcp.dev/v1alpha1',
  kind: 'VirtualMCPServer',
  metadata: { name: 'demo', namespace: 'team', uid: 'u' },
};
const snapshot = { namespace: 'team' } as Snapshot;

/** Renders a document whose policies have so many bytes. `text` makes them compressible or not. */
function rendered(bytes: number, text: (length: number) => string, plainFiles: Record<string, string> = {}): Rendered {
  const document: RunConfigDocument = {
    schema_version: RUN_CONFIG_VERSION,
    server: { namespace: 'team', name: 'demo', uid: 'u' },
    incoming: { type: 'anonymous' },
    authz: { policies: [text(bytes)] },
    backends: [
      { name: 'big', transport: 'streamable-http', url: `https://big.example/${'b'.repeat(900)}` },
      { name: 'small', transport: 'streamable-http', url: 'https://small.example/mcp' },
    ],
  };
  return {
    document,
    text: writeText(document),
    secretDirectory: '/etc/vmcp/credentials',
    configDirectory: '/etc/vmcp/config',
    secretFiles: {},
    plainFiles,
  };
}

const same = (length: number) => 'x'.repeat(length);
/** Uses a fixed generator, so that the test is deterministic. */
function various(length: number): string {
  let state = 1;
  const next = () => {
    state = (state * 48_271) % 2_147_483_647;
    return String.fromCharCode(33 + (Math.floor(state / 65_536) % 90));
  };
  return Array.from({ length }, next).join('');
}

interface Data {
  data: Record<string, string>;
  binaryData?: Record<string, string>;
}
const render = (one: Rendered) => renderConfigMap(manifest, one, snapshot) as unknown as Data;

describe('renderConfigMap', () => {
  it('stores the document as text', () => {
    const one = rendered(10, same, { 'ca-1': 'PEM' });
    expect(render(one)).toMatchObject({ data: { 'run-config.yaml': writeText(one.document), 'ca-1': 'PEM' } });
    expect(render(one).binaryData).toBeUndefined();
  });

  it('compresses it above 700 kB, under the same name and to the same bytes', () => {
    const one = rendered(750_000, same, { 'ca-1': 'PEM' });
    const { data, binaryData = {} } = render(one);
    expect(data).toEqual({ 'ca-1': 'PEM' });
    const packed = Buffer.from(binaryData['run-config.yaml'] ?? '', 'base64');
    expect(gunzipSync(packed).toString()).toBe(writeText(one.document));
    expect(packed.length).toBeLessThan(10_000);
    expect(render(one)).toEqual({ ...render(one) });
  });

  it('rejects a document that is too large and names its three largest parts', () => {
    const one = rendered(1_400_000, various, { 'corporate-ca': 'y'.repeat(200_000), 'other-ca': 'z' });
    const message =
      /^the run configuration takes \d+ kB and a ConfigMap holds 1000: shorten or divide the largest parts: authz\.policies \(1\d{3} kB\), corporate-ca \(200 kB\), backend big \(1 kB\)$/;
    expect(() => render(one)).toThrow(expect.objectContaining({ reason: 'RunConfigurationTooLarge' }));
    expect(() => render(one)).toThrow(message);
  });

  it('rejects a document of more than 8 MiB, however short it is when compressed', () => {
    const problem = expect.objectContaining({
      reason: 'RunConfigurationTooLarge',
      message: expect.stringMatching(
        /^the run configuration takes 9\d{3} kB and a document may take 8388: shorten .*: authz\.policies \(9\d{3} kB\)/,
      ),
    });
    expect(() => render(rendered(9_000_000, same))).toThrow(problem);
    expect(render(rendered(8_000_000, same)).binaryData).toBeDefined();
  });

  it('rejects many backends that share one long text, before the text of the document is written', () => {
    const { document } = rendered(100_000, same);
    const { authz } = document;
    const backends = Array.from({ length: 200 }, (_, at) => ({ ...document.backends[1]!, name: `b${at}`, authz }));
    const check = () => checkDocumentSize({ document: { ...document, backends }, plainFiles: {} });
    expect(check).toThrow(
      /^the run configuration takes 20\d{3} kB and a document may take 8388: .*backend b100 \(101 kB\)/,
    );
  });
});
