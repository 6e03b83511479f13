import { createHmac } from 'node:crypto';

const TIMESTAMP_HEADER = 'x-vmcp-timestamp';
const SIGNATURE_HEADER = 'x-vmcp-signature';

/** HMAC-SHA256 of `<seconds since the epoch>.<body>`. A receiver that refuses old timestamps is protected against replays. */
export function signQuestion(body: string, secret: string, at: number): Record<string, string> {
  const timestamp = String(Math.floor(at / 1000));
  const digest = createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex');
  return { [TIMESTAMP_HEADER]: timestamp, [SIGNATURE_HEADER]: `sha256=${digest}` };
}
