/** Methods in metrics and traces. Any other method is text of the caller. */
export const METHODS: ReadonlySet<string> = new Set([
  ...['initialize', 'ping', 'server/discover', 'tools/list', 'tools/call', 'prompts/list', 'prompts/get'],
  ...['resources/list', 'resources/read', 'resources/templates/list', 'resources/subscribe', 'resources/unsubscribe'],
  ...['completion/complete', 'logging/setLevel', 'subscriptions/listen', 'response', 'GET', 'DELETE', 'POST'],
  ...['tasks/get', 'tasks/result', 'tasks/update', 'tasks/cancel', 'tasks/list'],
  ...['notifications/initialized', 'notifications/cancelled', 'notifications/progress'],
  ...['notifications/roots/list_changed'],
]);
