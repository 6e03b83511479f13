import { randomUUID } from 'node:crypto';
import type { ProxySettings } from '#lib/connections/proxy';
import type { Backend } from '#crds/run-config/backend';
import { faultOf } from '#runtime/http/read-answer';
import type { Log } from '#runtime/telemetry/log';
import { Webhook } from './webhook.ts';
import { NoVerdict, type Verdict } from './read-verdict.ts';
import { deniedByWebhook, webhookFailed } from './refusals.ts';
import { renderQuestion } from './render-question.ts';
import type { WebhookCall, WebhookGate } from './webhook-call.ts';

/** Outcome of a webhook call; `failed`: without a verdict. */
export type WebhookOutcome = 'allowed' | 'denied' | 'failed';

interface GateDeps {
  /** The VirtualMCPServer, or a stand-alone MCPServer. */
  readonly server: { readonly namespace: string; readonly name: string };
  readonly readSecret: (file: string) => string;
  readonly proxy: ProxySettings | undefined;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly log: Log;
  readonly count: (webhook: string, outcome: WebhookOutcome) => void;
}

/** Returns the webhooks of one MCPServer. @throws ConfigError */
export function createWebhookGate(settings: Backend['webhooks'], deps: GateDeps): WebhookGate {
  const webhooks = settings.map((one) => new Webhook(one, deps));
  const failing = new Set<Webhook>();
  return {
    async check(call) {
      for (const webhook of webhooks) await checkOne(webhook, call, failing, deps);
    },
    async close() {
      await Promise.all(webhooks.map((webhook) => webhook.close()));
    },
  };
}

async function checkOne(webhook: Webhook, call: WebhookCall, failing: Set<Webhook>, deps: GateDeps): Promise<void> {
  const { name, failurePolicy } = webhook;
  let verdict: Verdict;
  try {
    const asked = { uid: randomUUID(), at: deps.now() };
    verdict = await webhook.ask({ ...asked, body: renderQuestion(call, deps.server, asked) });
  } catch (error) {
    deps.count(name, 'failed');
    noteFailing(webhook, error, failing, deps);
    if (failurePolicy === 'ignore') return;
    throw webhookFailed(name, error);
  }
  deps.count(name, verdict.allowed ? 'allowed' : 'denied');
  if (failing.delete(webhook)) deps.log.info('webhook decides again', { webhook: name });
  if (!verdict.allowed) throw deniedByWebhook(name, verdict);
}

/** Logs once per outage: there may be thousands of calls. */
function noteFailing(webhook: Webhook, error: unknown, failing: Set<Webhook>, { log }: GateDeps): void {
  if (failing.has(webhook)) return;
  failing.add(webhook);
  const reason = error instanceof NoVerdict ? error.message : faultOf(error);
  log.warn('webhook does not decide', { webhook: webhook.name, failure_policy: webhook.failurePolicy, reason });
}
