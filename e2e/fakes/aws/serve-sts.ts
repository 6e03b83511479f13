import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { IssuedCredentials } from './verify-signature.ts';

/** An AWS STS that lets every caller assume the role in its request. */
export interface FakeSts {
  readonly url: string;
  /** Forms of the received requests. */
  readonly asked: readonly URLSearchParams[];
  /** Issued credentials, by session name. */
  readonly issued: ReadonlyMap<string, IssuedCredentials>;
  close(): Promise<void>;
}

export async function serveSts(): Promise<FakeSts> {
  const asked: URLSearchParams[] = [];
  const issued = new Map<string, IssuedCredentials>();
  const http = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += String(chunk)));
    request.on('end', () => {
      const form = new URLSearchParams(body);
      asked.push(form);
      const credentials = {
        accessKeyId: `ASIAFAKE${String(asked.length).padStart(12, '0')}`,
        secretAccessKey: `secret/of+${asked.length}`,
        sessionToken: `session+token/${asked.length}==`,
      };
      issued.set(form.get('RoleSessionName') ?? '', credentials);
      response.setHeader('content-type', 'text/xml');
      response.end(answer(credentials));
    });
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/`,
    asked,
    issued,
    close: () =>
      new Promise((resolve) => {
        http.close(() => resolve());
        http.closeAllConnections();
      }),
  };
}

function answer({ accessKeyId, secretAccessKey, sessionToken }: IssuedCredentials): string {
  const expiration = new Date(Date.now() + 3_600_000).toISOString();
  return `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult>
<Credentials><AccessKeyId>${accessKeyId}</AccessKeyId><SecretAccessKey>${secretAccessKey}</SecretAccessKey>
<SessionToken>${sessionToken}</SessionToken><Expiration>${expiration}</Expiration></Credentials>
</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`;
}
