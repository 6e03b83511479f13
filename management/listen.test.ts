import { expect, it } from '@jest/globals';
import { once } from 'node:events';
import { request } from 'node:https';
import { connect } from 'node:net';
import { renewCertificates } from '#operator/kubernetes/certificates/renew-certificates';
import { listen } from './listen.ts';

const NAME = 'vmcp-management.vmcp-system.svc';

it('answers other addresses while one address holds idle connections', async () => {
  const { key, certificate, authorities: ca } = await renewCertificates(undefined, [NAME], Date.now());
  const server = await listen((_request, response) => response.end('here'), {
    host: '127.0.0.1',
    port: 0,
    pair: { key, certificate },
  });
  const silent = Array.from({ length: 256 }, () => connect(server.port, '127.0.0.1').on('error', () => undefined));
  try {
    await Promise.race(silent.map((socket) => once(socket, 'close')));
    const asked = request({ host: '127.0.0.1', port: server.port, localAddress: '127.0.0.9', ca, servername: NAME });
    const [answer] = (await once(asked.end(), 'response')) as [{ statusCode: number; resume(): void }];
    answer.resume();
    expect(answer.statusCode).toBe(200);
  } finally {
    for (const socket of silent) socket.destroy();
    await server.close();
  }
});
