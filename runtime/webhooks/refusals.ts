import { RequestError } from '#runtime/errors';
import type { Verdict } from './read-verdict.ts';

const DENIED = 403;
const INTERNAL_ERROR = -32603;

/** A call that a webhook refused. */
export class WebhookRefusal extends RequestError {
  readonly webhook: string;
  constructor(webhook: string, ...of: ConstructorParameters<typeof RequestError>) {
    super(...of);
    this.webhook = webhook;
  }
}

export function deniedByWebhook(webhook: string, { message, reason }: Verdict): WebhookRefusal {
  const said = message === undefined || message === '' ? '' : `: ${message}`;
  return new WebhookRefusal(webhook, {
    status: 200,
    code: 'denied_by_webhook',
    text: `Denied by webhook ${webhook}${said}`,
    rpc: { code: DENIED, data: { webhook: { name: webhook, ...(reason === undefined ? {} : { reason }) } } },
  });
}

export function webhookFailed(webhook: string, cause: unknown): WebhookRefusal {
  return new WebhookRefusal(
    webhook,
    {
      status: 200,
      code: 'webhook_failed',
      text: `webhook ${webhook} did not decide about this call; try again later`,
      rpc: { code: INTERNAL_ERROR, data: { webhook: { name: webhook } } },
    },
    { cause },
  );
}
