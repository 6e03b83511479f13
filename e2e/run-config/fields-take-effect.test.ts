import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { RECORDED_ONLY } from '#crds/run-config/recorded-only';
import { RunConfig, type RunConfigDocument } from '#crds/run-config/run-config';
import { ConfigError } from '#runtime/errors';
import { serveGateway } from '../gateway/serve-gateway.ts';
import { closeAll } from '../relay/gateway-to.ts';
import { plannedDocuments } from './planned-documents.ts';
import { LEAVES, leavesIn, recordReads } from './record-reads.ts';
import { SHOWN_ELSEWHERE } from './shown-elsewhere.ts';
import { TRAFFIC } from './traffic.ts';

const ROOT = join(import.meta.dirname, '..', '..');

const AUTHZ = { type: 'cedarv1', version: '1.0', policies: [] as string[] } as const;
/** Writes each field that has a single value. */
const DOCUMENT: RunConfigDocument = {
  schema_version: 'v0.1.0',
  server: { namespace: 'default', name: 'a', uid: 'u' },
  resource_url: 'https://a.example/mcp',
  incoming: { type: 'oidc', issuer: 'https://a.example', embedded: true },
  authz: AUTHZ,
  backends: [{ name: 'b', transport: 'streamable-http', url: 'https://b.example/mcp', authz: AUTHZ }],
  embedded_auth_server_config: {
    schema_version: 'v0.1.0',
    issuer: 'https://a.example',
    upstreams: [{ type: 'oidc', name: 'c', oidc_config: { client_id: 'c', issuer_url: 'https://c.example' } }],
  },
};
const ONE_VALUE = [
  'schema_version',
  'embedded_auth_server_config.schema_version',
  ...['authz', 'backends[].authz'].flatMap((parent) => [`${parent}.type`, `${parent}.version`]),
];

/** Returns the document with another text at a path. */
function changedAt(path: string): unknown {
  const steps = path.replaceAll('[]', '.0').split('.');
  const document = JSON.parse(JSON.stringify(DOCUMENT)) as object;
  const last = steps.pop() ?? '';
  const parent = steps.reduce<object>((value, step) => Reflect.get(value, step) as object, document);
  Reflect.set(parent, last, 'another');
  return document;
}

/** Returns the text of a test file and of the files that it imports by a relative path. */
function textOf(file: string): string {
  const text = readFileSync(join(ROOT, file), 'utf8');
  const imported = [...text.matchAll(/from '(\.[^']+)'/g)].map(([, name = '']) => join(ROOT, dirname(file), name));
  return [text, ...imported.map((name) => readFileSync(name, 'utf8'))].join('\n');
}

const nameOf = (field: string) => /(\w+)[^\w]*$/.exec(field)?.[1] ?? '';

const OTHERS = [...SHOWN_ELSEWHERE.flatMap(({ fields }) => fields), ...ONE_VALUE, ...Object.keys(RECORDED_ONLY)];
/** Six gateways start one after the other, with their identity providers, and one for each planned document. */
const SETUP_DEADLINE = 300_000;

/** Returns the fields that this traffic reads. */
async function readsUnder(send: (typeof TRAFFIC)[number]): Promise<ReadonlySet<string>> {
  const reads = new Set<string>();
  try {
    await send((config) => recordReads(config, reads));
  } finally {
    await closeAll();
  }
  return reads;
}

/** Serves each planned document that writes a field without a recorded read, and adds what is read to `reads`. */
async function servePlanned(folder: string, reads: Set<string>): Promise<void> {
  const known = new Set(OTHERS);
  const observe = (config: RunConfig) => recordReads(config, reads);
  for (const { config, files } of plannedDocuments(folder)) {
    const fields = [...leavesIn(config)];
    if (fields.every((field) => reads.has(field) || known.has(field))) continue;
    try {
      await (await serveGateway(config, { files, probed: false, drain: 0, observe })).close();
    } catch (error) {
      // The document names a store that does not answer.
      if (!(error instanceof ConfigError)) throw error;
    }
  }
}

describe('the fields of a run configuration that is served', () => {
  let folder: string;
  const readsOf = new Map<string, ReadonlySet<string>>();
  const reads = new Set<string>();
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vmcp-fields-'));
    for (const send of TRAFFIC) readsOf.set(send.name, await readsUnder(send));
    for (const field of [...readsOf.values()].flatMap((each) => [...each])) reads.add(field);
    await servePlanned(folder, reads);
  }, SETUP_DEADLINE);
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it.each(TRAFFIC.map(({ name }) => name))('have effects that only the traffic of %s shows', (name) => {
    const others = new Set([...readsOf].flatMap(([other, read]) => (other === name ? [] : [...read])));
    expect([...(readsOf.get(name) ?? [])].filter((field) => !others.has(field))).not.toEqual([]);
  });

  it('have a recorded read, another test, a single value, or an entry among the recorded-only fields', () => {
    const unread = [...LEAVES].filter((field) => !reads.has(field));
    expect(unread.filter((field) => !OTHERS.includes(field))).toEqual([]);
    expect(OTHERS.filter((field) => !unread.includes(field))).toEqual([]);
    expect(OTHERS).toEqual([...new Set(OTHERS)]);
  });
});

describe('the fields of a run configuration', () => {
  it.each(SHOWN_ELSEWHERE)('have an effect that $file shows: $test', ({ file, test, fields }) => {
    expect(existsSync(join(ROOT, file))).toBe(true);
    expect(readFileSync(join(ROOT, file), 'utf8')).toContain(`it('${test}'`);
    const words = new Set(textOf(file).match(/\w+/g));
    expect(fields.filter((field) => !words.has(nameOf(field)))).toEqual([]);
  });

  it.each(ONE_VALUE)('refuse another value of %s', (field) => {
    expect(RunConfig.safeParse(DOCUMENT).success).toBe(true);
    const refused = RunConfig.safeParse(changedAt(field)).error?.issues.map(({ path }) => path.join('.'));
    expect(refused).toEqual([field.replaceAll('[]', '.0')]);
  });
});
