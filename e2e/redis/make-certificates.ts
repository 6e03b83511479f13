import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A self-signed certificate for 127.0.0.1, valid for one day. */
export interface Certificates {
  readonly certFile: string;
  readonly keyFile: string;
  readonly caFile: string;
  readonly ca: string;
  remove(): void;
}

export function makeCertificates(): Certificates {
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-certificates-'));
  const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', keyFile];
  const names = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1,DNS:localhost'];
  execFileSync('openssl', ['req', '-x509', ...key, '-days', '1', ...names, '-out', certFile], { stdio: 'ignore' });
  const remove = () => rmSync(folder, { recursive: true, force: true });
  return { certFile, keyFile, caFile: certFile, ca: readFileSync(certFile, 'utf8'), remove };
}
