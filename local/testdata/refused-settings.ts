import { manifest, type ManifestCase, openServer } from './manifest-case.ts';

/** Invalid settings of a server. */
export const REFUSED_SETTINGS: ManifestCase[] = [
  {
    of: 'no group',
    text: manifest('VirtualMCPServer', 'config: {}\nincomingAuth: { type: anonymous }'),
    problems: ['6 spec.config.groupRef: required field is missing; write a string'],
  },
  {
    of: 'a group as an object',
    text: manifest('VirtualMCPServer', 'config: { groupRef: { name: a } }\nincomingAuth: { type: anonymous }'),
    problems: ['6 spec.config.groupRef: is a mapping, not a string; write a string'],
  },
  {
    of: 'rate limits under config',
    text: openServer('').replace('{ groupRef: team }', '{ groupRef: team, rateLimiting: {} }'),
    problems: ['6 spec.config.rateLimiting: unknown field `rateLimiting`; it belongs under `spec`: move it there'],
  },
  {
    of: 'a port that is none',
    text: openServer('listen: { port: 0 }'),
    problems: ['8 spec.listen.port: less than 1; write at least 1'],
  },
  {
    of: 'audit at two places',
    text: openServer('audit: { enabled: true }').replace('{ groupRef: team }', '{ groupRef: team, audit: {} }'),
    problems: ['6 spec.config.audit: not allowed beside audit; keep one of audit and config.audit'],
  },
  {
    of: 'telemetry at two places',
    text: openServer('telemetry: {}').replace('{ groupRef: team }', '{ groupRef: team, telemetry: {} }'),
    problems: ['6 spec.config.telemetry: not allowed beside telemetry; keep one of telemetry and config.telemetry'],
  },
  {
    of: 'sessions at two places',
    text: openServer('sessionStorage: {}').replace('{ groupRef: team }', '{ groupRef: team, sessionStorage: {} }'),
    problems: [
      '6 spec.config.sessionStorage: not allowed beside sessionStorage; keep one of sessionStorage and config.sessionStorage',
    ],
  },
  {
    of: 'Redis sessions without address',
    text: openServer('sessionStorage: { provider: redis }'),
    problems: [
      '8 spec.sessionStorage.provider: provider redis needs exactly one of address and redis, provider memory none; write or remove them accordingly',
    ],
  },
  {
    of: 'sessions in memory with an address',
    text: openServer("sessionStorage: { provider: memory, address: 'a:1' }"),
    problems: [
      '8 spec.sessionStorage.provider: provider redis needs exactly one of address and redis, provider memory none; write or remove them accordingly',
    ],
  },
  {
    of: 'a password without address',
    text: openServer("sessionStorage: { provider: redis, passwordRef: { name: a, key: b }, redis: { addr: 'a:1' } }"),
    problems: ['8 spec.sessionStorage.passwordRef: needs address; write it, or remove passwordRef'],
  },
  {
    of: 'replicas beside autoscaling',
    text: openServer('replicas: 2\nautoscaling: { maxReplicas: 3 }'),
    problems: ['8 spec.replicas: not allowed beside autoscaling; remove replicas: the autoscaler sets them'],
  },
  {
    of: 'fewer pods at most than at least',
    text: openServer('autoscaling: { minReplicas: 3, maxReplicas: 2 }'),
    problems: ['8 spec.autoscaling.minReplicas: greater than maxReplicas; write a smaller number'],
  },
  {
    of: 'both ways of a disruption budget',
    text: openServer('podDisruptionBudget: { minAvailable: 1, maxUnavailable: 1 }'),
    problems: [
      '8 spec.podDisruptionBudget: needs exactly one of minAvailable and maxUnavailable; write one of them and remove the others',
    ],
  },
  {
    of: 'priority without order',
    text: openServer('').replace(
      '{ groupRef: team }',
      '{ groupRef: team, aggregation: { conflictResolution: priority } }',
    ),
    problems: [
      '6 spec.config.aggregation.conflictResolution: priority needs conflictResolutionConfig.priorityOrder; write the backends there, the most important first',
    ],
  },
  {
    of: 'the tools of one backend twice',
    text: openServer('').replace(
      '{ groupRef: team }',
      '{ groupRef: team, aggregation: { tools: [{ workload: a }, { workload: a }] } }',
    ),
    problems: ['6 spec.config.aggregation.tools[1].workload: the same workload as entry [0]; give each entry its own'],
  },
  {
    of: 'the prompts of one backend twice',
    text: openServer('').replace(
      '{ groupRef: team }',
      '{ groupRef: team, aggregation: { prompts: [{ workload: a }, { workload: a }] } }',
    ),
    problems: [
      '6 spec.config.aggregation.prompts[1].workload: the same workload as entry [0]; give each entry its own',
    ],
  },
  {
    of: 'a quantity that is none',
    text: openServer('resources: { limits: { memory: lots } }'),
    problems: ['8 spec.resources.limits.memory: not a quantity; write for example 500m, 1 or 256Mi'],
  },
  {
    of: 'a fraction where an API server wants text',
    text: openServer('resources: { limits: { cpu: 0.5 } }'),
    problems: ['8 spec.resources.limits.cpu: not a quantity; write for example 500m, 1 or 256Mi'],
  },
  {
    of: 'a rate limit for no tool',
    text: openServer('rateLimiting: { rules: [{ requests: 1, per: 1s, scope: tool }] }'),
    problems: ['8 spec.rateLimiting.rules[0].tool: scope tool needs the tool; write its name, or another scope'],
  },
  {
    of: 'rate limits that let nothing through, in no time, or in words',
    text: openServer(`rateLimiting:
  rules: [{ requests: 0, per: 1m, scope: user }, { requests: 1, per: 0s, scope: user }, { requests: 1, per: soon, scope: user }]
  perUser: { maxTokens: 1, refillPeriod: 2d }
  tools: [{ name: a }, { name: a }]`),
    problems: [
      '9 spec.rateLimiting.rules[0].requests: less than 1; write at least 1',
      '9 spec.rateLimiting.rules[1].per: out of range; write a duration from 1s to 24h',
      '9 spec.rateLimiting.rules[2].per: not a duration; write digits and a unit, for example 30s, 5m, 1h30m or 7d',
      '10 spec.rateLimiting.perUser.refillPeriod: out of range; write a duration from 1s to 24h',
      '11 spec.rateLimiting.tools[1].name: the same name as entry [0]; give each entry its own',
    ],
  },
  {
    of: 'memory for answers that is too little for any',
    text: openServer('limits:\n  bufferedBytes: 100'),
    problems: ['9 spec.limits.bufferedBytes: less than 1024; write at least 1024'],
  },
  {
    of: 'a misspelt limit',
    text: openServer('limits:\n  sessionIdel: 5m'),
    problems: ['9 spec.limits.sessionIdel: unknown field `sessionIdel`; did you mean `sessionIdle`?'],
  },
  {
    of: 'an audit size that is negative',
    text: openServer('audit: { maxDataSize: -1 }'),
    problems: ['8 spec.audit.maxDataSize: less than 0; write at least 0'],
  },
  {
    of: 'a switch in quotes',
    text: openServer('audit: { enabled: "true" }'),
    problems: ['8 spec.audit.enabled: is a string, not true or false; write true or false, without quotes'],
  },
  {
    of: 'an address range without length',
    text: openServer('trustedProxies: [10.0.0.1]'),
    problems: ['8 spec.trustedProxies[0]: not an address range; write for example 10.0.0.0/8'],
  },
  {
    of: 'an unknown field that resembles none',
    text: openServer('banana: true'),
    problems: ['8 spec.banana: unknown field `banana`; remove it'],
  },
  {
    of: 'a misspelt event type',
    text: openServer('audit: { enabled: true, eventTypes: [mcp_tool_cal] }'),
    problems: [
      '8 spec.audit.eventTypes[0]: not an audit event type; write one of mcp_initialize, mcp_tool_call, mcp_task, mcp_tools_list, mcp_resource_read, mcp_resources_list, mcp_prompt_get, mcp_prompts_list, mcp_completion, mcp_notification, mcp_ping, mcp_session_evicted, http_request, auth_login_started, auth_login_completed, auth_login_failed, auth_client_registered, auth_token_issued, auth_token_refreshed, auth_token_revoked, auth_consent, upstream_token_refreshed, upstream_token_failed, policy_reloaded, config_reloaded, or management_<operation>',
    ],
  },
];
