import {
  CLIENT_CAPABILITIES_META_KEY,
  inputRequired,
  type CallToolResult,
  type ClientCapabilities,
  type InputRequests,
  type InputRequiredResult,
  type McpServer,
  type RequestStateCodec,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import { FORM_WITH_DEFAULTS, FORM_WITH_ENUMS } from './samples.ts';

const NOTHING = z.object({});
const text = (value: string): CallToolResult => ({ content: [{ type: 'text', text: value }] });

type Property = { type: 'string' } | { type: 'boolean' };

const form = (message: string, name: string, property: Property = { type: 'string' }) =>
  inputRequired.elicit({
    message,
    requestedSchema: { type: 'object', properties: { [name]: property }, required: [name] },
  });

const sample = (prompt: string, maxTokens = 100) =>
  inputRequired.createMessage({ messages: [{ role: 'user', content: { type: 'text', text: prompt } }], maxTokens });

/** Returns the client's capabilities: from the request's `_meta` since 2026-07-28, from `initialize` before. */
function declaredCapabilities(server: McpServer, context: ServerContext): ClientCapabilities {
  const envelope: Record<string, unknown> = context.mcpReq.envelope ?? {};
  const inRequest = envelope[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities | undefined;
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- the only source for revisions with sessions
  return inRequest ?? server.server.getClientCapabilities() ?? {};
}

/** Returns the answer to one input request, if it has arrived. */
function answerTo(context: ServerContext, key: string): Record<string, unknown> | undefined {
  const answer = context.mcpReq.inputResponses?.[key];
  return typeof answer === 'object' && answer !== null ? (answer as Record<string, unknown>) : undefined;
}

const QUESTIONS: [name: string, requests: InputRequests, done: string][] = [
  ['test_input_required_result_elicitation', { user_name: form('What is your name?', 'name') }, 'Hello'],
  ['test_input_required_result_sampling', { capital_question: sample('What is the capital of France?') }, 'Sampled'],
  // The SDK refuses a request for an undeclared capability: -32021.
  ['test_missing_capability', { sampled: sample('Anything') }, 'Sampled'],
  ['test_input_required_result_list_roots', { client_roots: inputRequired.listRoots() }, 'Roots'],
];

const STATEFUL_QUESTIONS: [name: string, requests: InputRequests][] = [
  ['test_input_required_result_request_state', { confirm: form('Please confirm', 'ok', { type: 'boolean' }) }],
  ['test_input_required_result_tampered_state', { confirm: form('Please confirm', 'ok', { type: 'boolean' }) }],
  [
    'test_input_required_result_multiple_inputs',
    {
      user_name: form('What is your name?', 'name'),
      greeting: sample('Generate a greeting', 50),
      client_roots: inputRequired.listRoots(),
    },
  ],
];

/**
 * Registers tools that ask the client before they answer. For older clients, the SDK sends the questions as requests.
 */
export function registerInputTools(server: McpServer, state: RequestStateCodec<{ round: number }>): void {
  for (const [name, inputRequests, done] of QUESTIONS) {
    server.registerTool(name, { description: 'Asks once', inputSchema: NOTHING }, (_arguments, context) => {
      const answers = Object.keys(inputRequests).map((key) => answerTo(context, key));
      if (answers.includes(undefined)) return inputRequired({ inputRequests });
      return text(`${done}: ${JSON.stringify(answers)}`);
    });
  }
  for (const [name, inputRequests] of STATEFUL_QUESTIONS) {
    server.registerTool(
      name,
      { description: 'Asks, with state', inputSchema: NOTHING },
      async (_arguments, context) => {
        const answers = Object.keys(inputRequests).map((key) => answerTo(context, key));
        const known = context.mcpReq.requestState<{ round: number }>();
        if (known?.round === 1 && !answers.includes(undefined)) return text(`state-ok ${JSON.stringify(answers)}`);
        return inputRequired({ inputRequests, requestState: await state.mint({ round: 1 }, context) });
      },
    );
  }
  registerRounds(server, state);
  registerByCapability(server);
  registerForms(server);
}

function registerRounds(server: McpServer, state: RequestStateCodec<{ round: number }>): void {
  const ask = async (context: ServerContext, round: number, inputRequests: InputRequests) =>
    inputRequired({ inputRequests, requestState: await state.mint({ round }, context) });
  server.registerTool(
    'test_input_required_result_multi_round',
    { description: 'Asks twice', inputSchema: NOTHING },
    (_arguments, context): CallToolResult | Promise<InputRequiredResult> => {
      const round = context.mcpReq.requestState<{ round: number }>()?.round ?? 0;
      if (round === 2 && answerTo(context, 'step2')) return text('Both steps are done.');
      if (round === 1 && answerTo(context, 'step1')) {
        return ask(context, 2, { step2: form('Step 2: What is your favorite color?', 'color') });
      }
      return ask(context, 1, { step1: form('Step 1: What is your name?', 'name') });
    },
  );
}

function registerByCapability(server: McpServer): void {
  const offers: [capability: 'elicitation' | 'sampling' | 'roots', key: string, request: InputRequests[string]][] = [
    ['elicitation', 'user_name', form('What is your name?', 'name')],
    ['sampling', 'greeting', sample('Generate a greeting', 50)],
    ['roots', 'client_roots', inputRequired.listRoots()],
  ];
  server.registerTool(
    'test_input_required_result_capabilities',
    { description: 'Asks only what the client can answer', inputSchema: NOTHING },
    (_arguments, context) => {
      const declared = declaredCapabilities(server, context);
      const possible = offers.filter(([capability]) => declared[capability] !== undefined);
      if (possible.every(([, key]) => answerTo(context, key))) return text(`asked for ${possible.length} inputs`);
      return inputRequired({ inputRequests: Object.fromEntries(possible.map(([, key, request]) => [key, request])) });
    },
  );
}

function registerForms(server: McpServer): void {
  const report = (label: string, answer: Record<string, unknown>) =>
    text(`${label}: action=${String(answer.action)}, content=${JSON.stringify(answer.content ?? {})}`);

  server.registerTool(
    'test_elicitation',
    { description: 'Asks the user', inputSchema: z.object({ message: z.string() }) },
    ({ message }, context) => {
      const answer = answerTo(context, 'answer');
      return answer
        ? report('User response', answer)
        : inputRequired({ inputRequests: { answer: form(message, 'response') } });
    },
  );
  for (const [name, requestedSchema] of [
    ['test_elicitation_sep1034_defaults', FORM_WITH_DEFAULTS],
    ['test_elicitation_sep1330_enums', FORM_WITH_ENUMS],
  ] as const) {
    const request = inputRequired.elicit({ message: 'Please review the form', requestedSchema });
    server.registerTool(name, { description: 'Shows a form', inputSchema: NOTHING }, (_arguments, context) => {
      const answer = answerTo(context, 'answer');
      return answer ? report('Elicitation completed', answer) : inputRequired({ inputRequests: { answer: request } });
    });
  }
  server.registerTool(
    'test_sampling',
    { description: 'Asks the language model of the client', inputSchema: z.object({ prompt: z.string() }) },
    ({ prompt }, context) => {
      const answer = answerTo(context, 'answer');
      if (!answer) return inputRequired({ inputRequests: { answer: sample(prompt) } });
      const content = answer.content as { text?: string } | undefined;
      return text(`LLM response: ${content?.text ?? 'none'}`);
    },
  );
}
