/** The tools of the conformance suite's scenarios for tasks. */
export interface Task {
  readonly taskId: string;
  readonly tool: string;
  readonly createdAt: number;
  readonly ttlMs: number | null;
  status: 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';
  result?: object;
  error?: object;
  inputRequests?: Record<string, object>;
  inputs: Record<string, unknown>;
}

export interface TaskTool {
  readonly name: string;
  /** Whether a client without the extension is refused. Otherwise it gets the result at once. */
  readonly isRequired: boolean;
  /** Milliseconds of work. */
  work(args: Record<string, unknown>): number;
  /** Keys of the inputs that the task asks for. */
  readonly asks?: readonly string[];
  end(task: Pick<Task, 'inputs'>, args: Record<string, unknown>): Pick<Task, 'status' | 'result' | 'error'>;
}

export const text = (said: string) => ({ content: [{ type: 'text', text: said }] });

export const elicitation = (message: string) => ({
  method: 'elicitation/create',
  params: { mode: 'form', message, requestedSchema: { type: 'object', properties: { name: { type: 'string' } } } },
});

const completed = (said: string) => ({ status: 'completed' as const, result: text(said) });
const answered = (inputs: Record<string, unknown>) => `with ${JSON.stringify(inputs)}`;

export const TASK_TOOLS: readonly TaskTool[] = [
  {
    name: 'slow_compute',
    isRequired: false,
    work: ({ seconds }) => Number(seconds) * 1000,
    end: (_task, { label }) => completed(`computed ${String(label)}`),
  },
  {
    name: 'failing_job',
    isRequired: true,
    work: () => 100,
    end: () => ({ status: 'completed', result: { ...text('it failed'), isError: true } }),
  },
  {
    name: 'protocol_error_job',
    isRequired: true,
    work: () => 100,
    end: () => ({ status: 'failed', error: { code: -32603, message: 'it broke' } }),
  },
  {
    name: 'confirm_delete',
    isRequired: true,
    work: () => 0,
    asks: ['confirm'],
    end: ({ inputs }, { filename }) => completed(`deleted ${String(filename)} ${answered(inputs)}`),
  },
  {
    name: 'multi_input',
    isRequired: true,
    work: () => 0,
    asks: ['first', 'second'],
    end: ({ inputs }) => completed(answered(inputs)),
  },
  {
    name: 'test_tool_with_task',
    isRequired: true,
    work: () => 100,
    end: (_task, { user }) => completed(`for ${JSON.stringify(user)}`),
  },
];
