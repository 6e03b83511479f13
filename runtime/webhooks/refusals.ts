import { RequestError } from '#runtime/errors';
import type { Verdict } from './read-verdict.ts';

const DENIED = 403;
const INTERNAL_ERROR = -32603;

/** A call that its webhooks do not let through. */
export class WebhookRefusal extends RequestError {
  /** Name of the webhook, for the audit. */
  readonly webhook: string;
  constructor(webhook: string, ...of: ConstructorParameters<typeof RequestError>) {
    super(...of);
    this.webhook = webhook;
  }
}

/** A webhook refused the call, as a policy would. */
export function deniedByWebhook(webhook: string, { message, reason }: Verdict): WebhookRefusal {
  const said = message === undefined || message === '' ? '' : `: ${message}`;
  return new WebhookRefusal(webhook, {
    status: 200,
    code: 'denied_by_webhook',
    text: `Denied by webhook ${webhook}${said}`,
    rpc: { code: DENIED, data: { webhook: { name: webhook, ...(reason === undefined ? {} : { reason }) } } },
  });
}

/** A webhook that has to be asked did not decide. */
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
