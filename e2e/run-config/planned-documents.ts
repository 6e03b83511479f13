import { listFiles } from '#runtime/list-files';
import { goldenOutcome } from '#operator/golden-case';
import type { Rendered } from '#operator/plan/outcome';
import { AUTHORITY } from '#operator/plan/testdata/authority';
import { snapshotsOfFields } from '#operator/testdata/snapshots-of-fields';
import { SECRET } from '../accepted/arbitrary-resources.ts';
import type { GatewayConfig } from '../gateway/start-gateway.ts';

/** A document that the planner renders, changed so that this machine can serve it. */
export interface PlannedDocument {
  readonly config: GatewayConfig;
  /** Name to content. */
  readonly files: Record<string, string>;
}

const CONTENTS: Readonly<Record<string, string | undefined>> = {
  signing_key_file: SECRET.signing,
  fallback_key_files: SECRET.signing,
  jwks_file: '{"keys":[]}',
  ca_bundle_file: AUTHORITY,
  ca_cert_file: SECRET['tls.crt'],
  client_cert_file: SECRET['tls.crt'],
  cert_file: SECRET['tls.crt'],
  client_key_file: SECRET['tls.key'],
  key_file: SECRET['tls.key'],
};

function contentAt(path: readonly (string | number)[]): string | undefined {
  const field = path.find((step) => typeof step === 'string' && /_files?$/.test(step)) ?? '';
  return CONTENTS[field];
}

/** Values for fields that name a file, a program or a store of another machine. Each store fails at once. */
const HERE: Readonly<Record<string, unknown>> = {
  logFile: '/dev/null',
  command: '/bin/true',
  working_directory: '/',
  addr: '127.0.0.1:1',
  sentinel_addrs: ['127.0.0.1:1'],
  dial_timeout: '50ms',
  read_timeout: '50ms',
  write_timeout: '50ms',
  host: '127.0.0.1',
  private_host: '127.0.0.1',
  port: 0,
  private_port: 0,
};

function onThisMachine({ document }: Rendered, folder: string, serial: number): PlannedDocument {
  const files: Record<string, string> = {};
  const names = new Map<string, string>();
  for (const { file, path } of listFiles(document)) {
    const name = names.get(file) ?? `file-${names.size}`;
    names.set(file, name);
    files[name] = contentAt(path) ?? files[name] ?? SECRET.long ?? '';
  }
  let stores = 0;
  const text = JSON.stringify(document, (key, value: unknown) => {
    if (key in HERE && typeof value !== 'object') return HERE[key];
    if (key === 'sentinel_addrs') return HERE[key];
    if (key === 'file') return `${folder}/${serial}-${stores++}.sqlite`;
    return typeof value === 'string' ? (names.get(value) ?? value) : value;
  });
  return { config: JSON.parse(text) as GatewayConfig, files };
}

/** Renders the documents of all snapshots that test the fields of resources. */
export function* plannedDocuments(folder: string): Generator<PlannedDocument> {
  for (const [serial, setup] of snapshotsOfFields().entries()) {
    const { rendered } = goldenOutcome(setup);
    if (rendered !== undefined) yield onThisMachine(rendered, folder, serial);
  }
}
